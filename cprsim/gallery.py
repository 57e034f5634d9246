"""The old name of `cprsim.report.gallery`, for one version."""

from warnings import warn

from cprsim.report import gallery

warn("cprsim.gallery is now cprsim.report.gallery", DeprecationWarning, stacklevel=2)
#: Modules of this name are looked for there.
__path__ = gallery.__path__
