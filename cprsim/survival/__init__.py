"""Laws of durations: drawn from, and fitted to lives of which some were only watched a while.

`distributions` has the laws as a scenario names them, `laws` and `ageing` what each draws and how
long it lasts. `sample` holds durations that were watched, `kaplan_meier` shows them with no law
assumed, `fitted_laws` fits laws and says whether one is good enough, and `order` says whether
durations depend on each other.
"""
