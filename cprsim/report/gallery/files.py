"""Pictures of files: logs, studies of the real trainer, and validations."""

import json
from pathlib import Path
from typing import Any, Final

import pandas as pd

from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import UsageError
from cprsim.fitting.fit_log import fit
from cprsim.fitting.log_fit import LogFit
from cprsim.fitting.mtbf import mtbf_by_nodes
from cprsim.report.gallery.picture import Drawing, PictureSource, register
from cprsim.scenario import load_scenario
from cprsim.trainer.studies import findings

#: Of a scenario's failures, what `fit` takes too.
_KEYS: Final = ("reader", "system", "columns", "window", "coalesce")
_SECONDS: Final = ["cause", "predicted", "measured"]


@register("survival", "log", "failures.csv")
def survival(source: PictureSource) -> LogFit:
    """Gaps between failures of a log, the laws fitted to them, and what else the log has."""
    return fit(**_log(source.path))


@register("mtbf-scaling", "log", "failures.csv", one_axes=True)
def mtbf(source: PictureSource) -> Drawing:
    """MTBF of a job against its number of nodes, as a log has it and by two models."""
    found = mtbf_by_nodes(**_log(source.path))
    return Drawing("measured:mtbf_by_nodes", found.rows, str(found.source))


def _log(source: Path) -> dict[str, Any]:
    """Return what to fit: the log itself (CSV), or that of a scenario."""
    if source.suffix.lower() != ".toml":
        return {"log": source}
    failures = load_scenario(source).failures.mapping()
    if "trace" not in failures:
        raise UsageError(f"{source}: its failures are no log (failures.trace); give a log as CSV")
    return {"log": failures["trace"], **{key: failures[key] for key in _KEYS if key in failures}}


def _study(source: PictureSource) -> tuple[str, pd.DataFrame]:
    """Return what a study is called, and its whole seeds."""
    table = source.path / "runs.csv" if source.path.is_dir() else source.path
    runs = findings.read_runs(table)
    return f"{table.stem}: {runs['seed'].nunique()} seeds", runs


@register("pls-accuracy", "study", "train-study.csv")
def pls_accuracy(source: PictureSource) -> Drawing:
    """Accuracy of real training against PLS, by policy and by servers that fail at once."""
    title, runs = _study(source)
    points = findings.points(runs)
    slopes = {
        name: (each.auc_drop_per_pls, each.up_to) for name, each in findings.slopes(runs).items()
    }
    about = f"What lost samples do to accuracy ({title})"
    return Drawing("measured:pls_accuracy", points[points["pls"] > 0], slopes, about)


@register("policy-accuracy", "study", "train-study.csv", one_axes=True)
def policy_accuracy(source: PictureSource) -> Drawing:
    """Accuracy of real training under each policy, seed by seed, at the same failures."""
    title, runs = _study(source)
    there = findings.compared_at(runs)
    points = findings.points(there).sort_values("auc_drop", kind="stable")
    about = f"After {there['failures'].iloc[0]} failures ({title})"
    return Drawing("measured:policy_accuracy", there, points, about)


@register("predicted-measured", "validation", "train-quick-predicted.csv", one_axes=True)
def seconds(source: PictureSource) -> Drawing:
    """Seconds predicted of real runs against those that they took, by cause."""
    path = source.path / "validate.json" if source.path.is_dir() else source.path
    try:
        if path.suffix == ".json":
            document = json.loads(path.read_text(encoding="utf-8"))
            title, rows = document["scenario"], []
            for each in document["policies"].values():
                whole = each["overhead_s"]
                rows += [(c, each["predicted"][c], each["measured"][c]) for c in OVERHEAD_CAUSES]
                rows.append(("overhead", whole["predicted"], whole["measured"]))
            table = pd.DataFrame(rows, columns=_SECONDS)
        else:
            title, table = "Real runs, killed on purpose", pd.read_csv(path)[_SECONDS]
    except (OSError, ValueError, KeyError, TypeError) as error:
        said = error.strerror if isinstance(error, OSError) else "is not such a file"
        raise UsageError(
            f"{path}: {said}; give what `cprsim validate --out` left, or a table (CSV) with "
            f"columns {', '.join(_SECONDS)}"
        ) from None
    return Drawing("measured:predicted_measured", table, title)
