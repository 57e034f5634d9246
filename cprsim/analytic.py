"""The old name of `cprsim.formulas`, for one version."""

from warnings import warn

from cprsim import formulas

warn("cprsim.analytic is now cprsim.formulas", DeprecationWarning, stacklevel=2)
#: Modules of this name are looked for there.
__path__ = formulas.__path__
