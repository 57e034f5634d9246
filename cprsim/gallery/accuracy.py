"""`pls-accuracy` and `policy-accuracy`: what a study of the real trainer found."""

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from cprsim.gallery.picture import Picture, PictureSource
from cprsim.studies import findings
from cprsim.studies.findings import LINEAR_UP_TO

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class StudyRuns(NamedTuple):
    """Whole seeds of a study, and what it is called."""

    title: str
    runs: pd.DataFrame


def _prepare(source: PictureSource) -> StudyRuns:
    path = source.path
    table = path / "runs.csv" if path.is_dir() else path
    runs = findings.read_runs(table)
    return StudyRuns(f"{table.stem}: {runs['seed'].nunique()} seeds", runs)


def _draw_pls(found: StudyRuns) -> "Figure":
    from cprsim.figures.pls_accuracy import pls_accuracy  # noqa: PLC0415  (matplotlib is slow)

    slopes = {
        system: (slope.auc_drop_per_pls, slope.pls_up_to)
        for system, slope in findings.slopes(found.runs, LINEAR_UP_TO).items()
    }
    points = findings.points(found.runs)
    lossy = points[points["pls"] > 0]
    return pls_accuracy(lossy, slopes, f"What lost samples do to accuracy ({found.title})")


def _draw_policies(found: StudyRuns, **on: Any) -> "Figure":
    from cprsim.figures.policy_accuracy import policy_accuracy  # noqa: PLC0415

    there = findings.compared_at(found.runs)
    first = there.iloc[0]
    return policy_accuracy(
        there,
        findings.points(there).sort_values("auc_drop", kind="stable"),
        f"After {first['failures']} failures ({found.title})",
        **on,
    )


PLS = Picture(
    "pls-accuracy",
    "accuracy of real training against PLS, by policy and by how many servers fail at once",
    "study",
    "train-study.csv",
    _prepare,
    _draw_pls,
)
POLICIES = Picture(
    "policy-accuracy",
    "accuracy of real training under each policy, seed by seed, at the same failures",
    "study",
    "train-study.csv",
    _prepare,
    _draw_policies,
    one_axes=True,
)
