"""Published forms that the simulator is tested against, and that no command of cprsim needs.

Pure functions of floats, seconds throughout, as in `cprsim.formulas`, but their arguments are not
checked. `M` is the mean time between failures of the whole job; exact means exact under
exponential failures, unless a docstring says more.
"""
