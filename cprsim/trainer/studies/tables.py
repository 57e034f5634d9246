"""The results of a study as tables: of the terminal, and of the files of docs/accuracy.md."""

from collections.abc import Callable
from typing import Final, NamedTuple

import pandas as pd

from cprsim.trainer.studies import findings
from cprsim.trainer.studies.paired import EQUAL_WITHIN, PairedDifference

_Row = tuple[object, ...]


class Heads(NamedTuple):
    """The title of a table, its columns, and its rows of a study."""

    title: str
    names: tuple[str, ...]
    rows: Callable[[pd.DataFrame], list[_Row]]


def _points(runs: pd.DataFrame) -> list[_Row]:
    """Return each point of a study, with its drop and what the line says of it."""
    lines = findings.slopes(runs)
    rows: list[_Row] = []
    for row in findings.points(runs).to_dict("records"):
        slope = lines.get(row["system"])
        rows.append(
            (
                row["policy"],
                row["failures"],
                f"{row['servers_hit']} of {row['servers']}",
                f"{row['pls']:.3f}",
                f"{row['updates_lost']:.3f}",
                f"{row['auc_drop']:.5f} ± {row['auc_drop'] - row['auc_drop_low']:.5f}",
                "" if slope is None else f"{slope.auc_drop_per_pls * row['pls']:.5f}",
            )
        )
    return rows


def _slopes(runs: pd.DataFrame) -> list[_Row]:
    """Return the line of each system, then its slopes by range and which applies."""
    lines = findings.slopes(runs)
    rows: list[_Row] = []
    for system, bend in findings.bends(runs).items():
        line, tested = lines[system], bend.difference
        p = "" if tested is None else f"{tested.adjusted_p:.2g}"
        for of, each, *more in (
            (f"0 to {line.up_to:.2f}", line, p, bend.applies),
            *((each.name, each, "", "") for each in bend.ranges),
        ):
            interval = f"{each.low:.5f} to {each.high:.5f}"
            rows.append((system, of, f"{each.auc_drop_per_pls:.5f}", interval, *more))
    return rows


def _predictors(runs: pd.DataFrame) -> list[_Row]:
    """Return how well each measure predicts the drops."""
    return [
        (
            name,
            contest.points,
            each.measure,
            f"{each.explained:.2f}",
            f"{each.explained_low:.2f} to {each.explained_high:.2f}",
            f"{each.ranked:.2f}",
            f"{each.ranked_low:.2f} to {each.ranked_high:.2f}",
        )
        for name, contest in findings.contests(runs).items()
        for each in contest.predictors
    ]


def _differences(runs: pd.DataFrame) -> list[_Row]:
    """Return differences of policies in AUC, and of slopes by servers hit, with their verdicts."""
    policies, servers = findings.policy_differences(runs), findings.share_differences(runs)
    return [
        (
            what,
            each.first,
            each.second,
            spread(each),
            f"{each.p:.2g}",
            f"{each.adjusted_p:.2g}",
            f"{each.equal_p:.2g}",
            each.verdict,
        )
        for what, compared in (("AUC", policies), ("slope", servers))
        for each in compared
    ]


POINTS: Final = Heads(
    "Accuracy at each point: means, ± half of the 95 % interval",
    ("policy", "failures", "servers hit", "PLS", "updates lost", "AUC drop", "by the line"),
    _points,
)
SLOPES: Final = Heads(
    f"AUC drop for each unit of PLS: of points up to {findings.LINEAR_UP_TO:g}, and by range",
    ("system", "PLS", "AUC drop for each unit", "95 % interval", "p, bend", "which slope applies"),
    _slopes,
)
DIFFERENCES: Final = Heads(
    f"AUC of policies at the same failures, and slopes by servers hit; equal is within "
    f"{EQUAL_WITHIN:g}",
    ("what", "of", "less that of", "difference", "p", "p, adjusted", "p, equal", "verdict"),
    _differences,
)
PREDICTORS: Final = Heads(
    "What predicts the AUC drop, 95 % by bootstrap of seeds; the form of change_lost was chosen on "
    "the planted samples",
    ("over", "points", "measure", "variance", "95 % interval", "ranks", "95 % interval of ranks"),
    _predictors,
)
ALL: Final = (POINTS, SLOPES, DIFFERENCES, PREDICTORS)


def spread(found: PairedDifference) -> str:
    """A mean difference and half of its interval."""
    return f"{found.mean:+.5f} ± {found.mean - found.low:.5f}"
