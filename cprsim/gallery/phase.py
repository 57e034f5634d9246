"""`phase`: which policy costs least where."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cprsim.basics.owned import owned_folder
from cprsim.errors import RunError, UsageError
from cprsim.gallery.picture import Picture, PictureSource
from cprsim.scenario import Scenario
from cprsim.sweeps.stored import Sweep
from cprsim.sweeps.sweep import sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What is varied of a scenario, as shares of what it is there.
_SHARES = (1 / 4, 1 / 2, 1, 2, 4)
_KEYS = {"failures.mean": "s", "storage.write": "B/s"}


def _varied(scenario: Scenario) -> dict[str, list[str]]:
    """Values of each key, as a scenario file writes them."""
    write = None if scenario.storage is None else scenario.storage.write
    if scenario.failures.mean_s is None or write is None:
        raise UsageError(
            "figure phase: varies failures.mean and storage.write, and the scenario lacks one of "
            "them; give the folder of a sweep"
        )
    values = (scenario.failures.mean_s, write)
    return {
        key: [f"{value * share!r} {unit}" for share in _SHARES]
        for (key, unit), value in zip(_KEYS.items(), values, strict=True)
    }


@contextmanager
def _swept(source: PictureSource, replications: int = 10000) -> Iterator[Sweep]:
    """Yield the sweep in a folder, or one of a scenario that is not kept."""
    if source.path.is_dir():
        if source.policies:
            raise UsageError("figure phase: --policy is for a scenario; sweep those policies alone")
        yield Sweep(source.path)
        return
    scenario = source.scenario()
    with owned_folder() as folder:
        yield sweep(scenario, folder, _varied(scenario), replications=replications)


def _prepare(source: PictureSource) -> "Figure":
    with _swept(source) as found:
        failed = found.failures
        if len(failed) == len(found.points):
            raise RunError(f"figure phase: every point failed, the first with: {failed[0].error}")
        return found.figure("phase")


PICTURE = Picture(
    "phase",
    "which policy costs least, by the MTBF and the bandwidth of the store",
    "sweep",
    "quickstart.toml",
    _prepare,
    lambda figure: figure,
)
