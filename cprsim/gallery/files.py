"""What is drawn of files: logs, studies of the real trainer, validations and fleets that fit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import UsageError
from cprsim.fitting.fit_log import fit
from cprsim.fitting.log_fit import LogFit
from cprsim.fitting.mtbf import mtbf_by_nodes
from cprsim.gallery.picture import PictureSource, Titled
from cprsim.scenario import load_scenario
from cprsim.studies import findings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Of a scenario's failures, what `fit` takes too.
_KEYS: Final = ("reader", "system", "columns", "window", "coalesce")
_SECONDS: Final = ["cause", "predicted", "measured"]
_FITS: Final = [
    *("set", "policy", "removed", "removed_retrained", "overhead"),
    *(f"overhead_p{each}" for each in (50, 75, 90, 95, 99)),
]


def survival(source: PictureSource) -> LogFit:
    """Return the gaps between the failures of a log, or of a scenario's, and their laws."""
    return fit(**_log(source.path))


def draw_survival(fitted: LogFit) -> "Figure":
    """Draw the gaps alone: `cprsim fit --plot` also draws what else a log has."""
    from cprsim.figures.survival import survival as drawn  # noqa: PLC0415  (matplotlib is slow)

    return drawn(fitted.view.sample, fitted.fits, str(fitted.source))


def mtbf(source: PictureSource) -> Titled:
    """Return the MTBF of jobs of every size on the nodes of a log, or of a scenario's."""
    found = mtbf_by_nodes(**_log(source.path))
    return Titled(str(found.source), found.rows)


def _log(source: Path) -> dict[str, Any]:
    """Return what to fit: the log itself (CSV), or that of a scenario."""
    if source.suffix.lower() != ".toml":
        return {"log": source}
    failures = load_scenario(source).failures.mapping()
    if "trace" not in failures:
        raise UsageError(f"{source}: its failures are no log (failures.trace); give a log as CSV")
    return {"log": failures["trace"], **{key: failures[key] for key in _KEYS if key in failures}}


def study(source: PictureSource) -> Titled:
    """Return the whole seeds of a study, and what it is called."""
    table = source.path / "runs.csv" if source.path.is_dir() else source.path
    runs = findings.read_runs(table)
    return Titled(f"{table.stem}: {runs['seed'].nunique()} seeds", runs)


def draw_pls(found: Titled) -> "Figure":
    """Draw accuracy against PLS."""
    from cprsim.figures.accuracy import pls_accuracy  # noqa: PLC0415  (matplotlib is slow)

    slopes = {
        system: (slope.auc_drop_per_pls, slope.pls_up_to)
        for system, slope in findings.slopes(found.rows, findings.LINEAR_UP_TO).items()
    }
    points = findings.points(found.rows)
    title = f"What lost samples do to accuracy ({found.title})"
    return pls_accuracy(points[points["pls"] > 0], slopes, title)


def draw_policies(found: Titled, **on: Any) -> "Figure":
    """Draw accuracy under each policy, at the same failures."""
    from cprsim.figures.accuracy import policy_accuracy  # noqa: PLC0415

    there = findings.compared_at(found.rows)
    points = findings.points(there).sort_values("auc_drop", kind="stable")
    title = f"After {there['failures'].iloc[0]} failures ({found.title})"
    return policy_accuracy(there, points, title, **on)


def fleet_fits(source: PictureSource) -> Titled:
    """Return the table of fleets that fit."""
    hint = "give a table (CSV) of fleets that fit, with columns"
    table = _read(source.path, lambda path: pd.read_csv(path)[_FITS], _FITS, hint)
    return Titled("Production fleet: what all fleets that fit predict", table)


def seconds(source: PictureSource) -> Titled:
    """Return seconds by cause, predicted and measured, of what `cprsim validate --out` left."""
    path = source.path / "validate.json" if source.path.is_dir() else source.path
    hint = "give what `cprsim validate --out` left, or a table (CSV) with columns"
    read = _of_document if path.suffix == ".json" else _of_table
    found: Titled = _read(path, read, _SECONDS, hint)
    return found


def _of_table(path: Path) -> Titled:
    return Titled("Real runs, killed on purpose", pd.read_csv(path)[_SECONDS])


def _of_document(path: Path) -> Titled:
    document = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        (cause, each["predicted"][cause], each["measured"][cause])
        for each in document["policies"].values()
        for cause in OVERHEAD_CAUSES
    ]
    rows += [
        ("overhead", each["overhead_s"]["predicted"], each["overhead_s"]["measured"])
        for each in document["policies"].values()
    ]
    return Titled(document["scenario"], pd.DataFrame(rows, columns=_SECONDS))


def _read(path: Path, read: Callable[[Path], Any], columns: list[str], hint: str) -> Any:
    """Return what `read` returns; raise `UsageError` for a file of something else."""
    try:
        return read(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        said = error.strerror if isinstance(error, OSError) else "is not such a file"
        raise UsageError(f"{path}: {said}; {hint} {', '.join(columns)}") from None
