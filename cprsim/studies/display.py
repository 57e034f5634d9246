"""What a study found, as tables for a terminal."""

from collections.abc import Iterator, Sequence

import pandas as pd
from rich.table import Table

from cprsim.report.terminal import plain_table
from cprsim.studies.findings import points, policy_differences, share_differences, slopes
from cprsim.studies.paired import PairedDifference


def tables(runs: pd.DataFrame, linear_up_to: float) -> Iterator[Table]:
    """Points, slopes, and differences; `runs` as `with_drops` has them."""
    seeds = runs["seed"].nunique()
    yield _points(points(runs), seeds)
    yield _slopes(runs, linear_up_to)
    yield _differences("AUC of policies, at the same failures", policy_differences(runs))
    shares = share_differences(runs, linear_up_to)
    if shares:
        yield _differences(
            "AUC drop for each unit of PLS, by how many servers fail at once", shares
        )


def _points(found: pd.DataFrame, seeds: int) -> Table:
    heads = ("failures", "of servers", "PLS", "updates lost", "AUC drop")
    table = _table(f"Accuracy at each point; means of {seeds} seeds, ± 95 %", "policy", *heads)
    for row in found.to_dict("records"):
        table.add_row(
            row["policy"],
            str(row["failures"]),
            f"{row['servers_hit']} of {row['servers']}",
            f"{row['pls']:.3f}",
            f"{row['updates_lost']:.3f}",
            f"{row['auc_drop']:.5f} ±{row['auc_drop'] - row['auc_drop_low']:.5f}",
        )
    return table


def _slopes(runs: pd.DataFrame, linear_up_to: float) -> Table:
    title = f"AUC drop for each unit of PLS, of points up to {linear_up_to:g}; 95 % interval"
    table = _table(title, "system", "slope", "from", "to", "points")
    for system, slope in slopes(runs, linear_up_to).items():
        ends = (slope.auc_drop_per_pls, slope.low, slope.high)
        table.add_row(system, *(f"{each:.5f}" for each in ends), str(slope.points))
    return table


def _differences(title: str, found: Sequence[PairedDifference]) -> Table:
    table = _table(title, "of", "less that of", "difference", "p", "p (Holm)", "")
    for each in found:
        table.add_row(
            each.first,
            each.second,
            f"{each.mean:+.5f} ±{each.mean - each.low:.5f}",
            f"{each.p:.2g}",
            f"{each.adjusted_p:.2g}",
            "significant" if each.is_significant else "",
        )
    return table


def _table(title: str, first: str, *heads: str) -> Table:
    table = plain_table(title)
    table.add_column(first)
    for head in heads:
        table.add_column(head, justify="right")
    return table
