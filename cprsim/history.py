"""The old name of `cprsim.sim.history`, for one version."""

from warnings import warn

from cprsim.sim import history

warn("cprsim.history is now cprsim.sim.history", DeprecationWarning, stacklevel=2)
#: Modules of this name are looked for there.
__path__ = history.__path__
