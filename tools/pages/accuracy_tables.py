"""The tables beside docs/accuracy.md."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import pandas as pd

from cprsim.studies import findings
from cprsim.studies.findings import Thresholds
from cprsim.studies.paired import PairedDifference

_Row = tuple[object, ...]


class Heads(NamedTuple):
    """The columns of a table, and its rows of a study."""

    names: tuple[str, ...]
    rows: Callable[[pd.DataFrame, Thresholds], list[_Row]]


def _points(runs: pd.DataFrame, reading: Thresholds) -> list[_Row]:
    """Return each point of a study, with its drop and what the line says of it."""
    lines = findings.slopes(runs, reading.linear_up_to)
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


def _slopes(runs: pd.DataFrame, reading: Thresholds) -> list[_Row]:
    """Return the line of each system, then its slopes by range and which applies."""
    lines = findings.slopes(runs, reading.linear_up_to)
    rows: list[_Row] = []
    for system, bend in findings.bends(runs, reading).items():
        line, tested = lines[system], bend.difference
        interval = f"{line.low:.5f} to {line.high:.5f}"
        whole = system, f"0 to {line.pls_up_to:.2f}", f"{line.auc_drop_per_pls:.5f}", interval
        rows.append((*whole, "" if tested is None else f"{tested.adjusted_p:.2g}", bend.applies))
        rows += [
            (
                *(system, each.name, f"{each.auc_drop_per_pls:.5f}"),
                *(f"{each.low:.5f} to {each.high:.5f}", "", ""),
            )
            for each in bend.ranges
        ]
    return rows


def _predictors(runs: pd.DataFrame, _: Thresholds) -> list[_Row]:
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


def _differences(runs: pd.DataFrame, reading: Thresholds) -> list[_Row]:
    """Return differences of policies in AUC, and of slopes by servers hit, with their verdicts."""
    within = reading.equal_within
    policies = findings.policy_differences(runs, within)
    servers = findings.share_differences(runs, reading.linear_up_to, within)
    compared = *(("AUC", each) for each in policies), *(("slope", each) for each in servers)
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
        for what, each in compared
    ]


POINTS: Final = Heads(
    ("policy", "failures", "servers hit", "PLS", "updates lost", "AUC drop", "by the line"),
    _points,
)
SLOPES: Final = Heads(
    ("system", "PLS", "AUC drop for each unit", "95 % interval", "p, bend", "which slope applies"),
    _slopes,
)
PREDICTORS: Final = Heads(
    ("over", "points", "measure", "variance", "95 % interval", "ranks", "95 % interval of ranks"),
    _predictors,
)
DIFFERENCES: Final = Heads(
    ("what", "of", "less that of", "difference", "p", "p, adjusted", "p, equal", "verdict"),
    _differences,
)


def spread(found: PairedDifference) -> str:
    """A mean difference and half of its interval."""
    return f"{found.mean:+.5f} ± {found.mean - found.low:.5f}"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Any table."""
    cells = [heads, ["---"] * len(heads), *([str(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(each)} |\n" for each in cells)
