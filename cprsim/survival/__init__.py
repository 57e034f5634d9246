"""Laws of durations, fitted to lives of which some were only watched a while.

`sample` holds durations that were watched, `kaplan_meier` shows them with no law
assumed, `fitted_laws` fits laws and says whether one is good enough, and `order` says whether
durations depend on each other.
"""
