"""`survival` and `mtbf-scaling`: what a failure log shows."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cprsim.errors import UsageError
from cprsim.fitting.fit_log import fit
from cprsim.fitting.log_fit import LogFit
from cprsim.fitting.mtbf import MtbfByNodes, mtbf_by_nodes
from cprsim.gallery.picture import Picture, PictureSource
from cprsim.scenario import load_scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Of a scenario's failures, what `fit` takes too.
_KEYS = ("reader", "system", "columns", "window", "coalesce")


def survival(source: PictureSource) -> LogFit:
    """The gaps between the failures of a log, or of a scenario's, and the laws fitted to them."""
    return fit(**_log(source.path))


def _of_gaps(fitted: LogFit) -> "Figure":
    """The gaps alone: `cprsim fit --plot` also draws what else a log tells."""
    from cprsim.figures.survival import survival as drawn  # noqa: PLC0415  (matplotlib is slow)

    return drawn(fitted.view.sample, fitted.fits, str(fitted.source))


def _of_nodes(found: MtbfByNodes, **on: Any) -> "Figure":
    from cprsim.figures.mtbf import mtbf_by_nodes as drawn  # noqa: PLC0415

    return drawn(found.rows, str(found.source), **on)


def mtbf(source: PictureSource) -> MtbfByNodes:
    """The MTBF of jobs of every size on the nodes of a log, or of a scenario's."""
    return mtbf_by_nodes(**_log(source.path))


def _log(source: Path) -> dict[str, Any]:
    """What to fit: the log itself (CSV), or that of a scenario."""
    if source.suffix.lower() != ".toml":
        return {"log": source}
    failures = load_scenario(source).failures.mapping()
    if "trace" not in failures:
        raise UsageError(f"{source}: its failures are no log (failures.trace); give a log as CSV")
    given = {key: failures[key] for key in _KEYS if key in failures}
    return {"log": failures["trace"], **given}


SURVIVAL = Picture(
    "survival",
    "gaps between failures of a log, and the laws fitted to them",
    "log",
    "failures.csv",
    survival,
    _of_gaps,
)
MTBF = Picture(
    "mtbf-scaling",
    "MTBF of a job against its number of nodes, as a log has it and by two models",
    "log",
    "failures.csv",
    mtbf,
    _of_nodes,
    one_axes=True,
)
