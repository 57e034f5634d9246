"""Laws of durations, fitted to lives of which some were only watched a while.

`sample` holds the durations, `kaplan_meier` and `hazard` draw them with no law assumed, `fit` fits
the laws, and `judge` says whether a fit is good enough.
"""
