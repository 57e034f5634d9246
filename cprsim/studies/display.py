"""What a study found, as tables for a terminal."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from rich.table import Table

from cprsim.basics.terminal import plain_table
from cprsim.studies.findings import (
    Bend,
    Thresholds,
    bends,
    comparisons,
    contests,
    points,
    policy_differences,
    share_differences,
    slopes,
)
from cprsim.studies.paired import PairedDifference, enough
from cprsim.studies.predictors import Contest, told


def tables(runs: pd.DataFrame, reading: Thresholds) -> Iterator[Table]:
    """Points, slopes, differences and predictors; `runs` as `with_drops` has them."""
    seeds = runs["seed"].nunique()
    yield _points(points(runs), seeds)
    yield _slopes(runs, reading.linear_up_to)
    yield _ranges(bends(runs, reading))
    equal_within = reading.equal_within
    found = policy_differences(runs, equal_within)
    yield _differences("AUC of policies, at the same failures", found, equal_within)
    shares = share_differences(runs, reading.linear_up_to, equal_within)
    if shares:
        yield _differences(
            "AUC drop for each unit of PLS, by how many servers fail at once", shares, equal_within
        )
    for name, each in contests(runs).items():
        yield _contest(name, each)


def lines(runs: pd.DataFrame) -> list[str]:
    """What stands below the tables: what foretells the drops, and what seeds are too few for."""
    seeds = runs["seed"].nunique()
    found = [f"AUC drop over {name}: {told(each)}." for name, each in contests(runs).items()]
    return found + [f"Seeds for {enough(*each, seeds)}." for each in comparisons(runs)]


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


def _ranges(found: Mapping[str, Bend]) -> Table:
    title = "AUC drop for each further unit of PLS, by range of PLS; 95 % interval"
    table = _table(title, "system", "range", "slope", "from", "to", "which applies")
    for system, bend in found.items():
        for each in bend.ranges:
            ends = (f"{value:.5f}" for value in (each.auc_drop_per_pls, each.low, each.high))
            table.add_row(system, each.name, *ends, bend.applies if each.above == 0 else "")
    return table


def _differences(title: str, found: Sequence[PairedDifference], equal_within: float) -> Table:
    heads = ("less that of", "difference", "p", "p (Holm)", "p (equal)", "")
    table = _table(f"{title}; equal is within {equal_within:g}", "of", *heads)
    for each in found:
        table.add_row(
            each.first,
            each.second,
            f"{each.mean:+.5f} ±{each.mean - each.low:.5f}",
            f"{each.p:.2g}",
            f"{each.adjusted_p:.2g}",
            f"{each.equal_p:.2g}",
            each.verdict,
        )
    return table


def _contest(name: str, found: Contest) -> Table:
    title = (
        f"What foretells the AUC drop, over {name} ({found.points}), 95 % by bootstrap of seeds;\n"
        "the form of change_lost was chosen on the planted samples: there it is no prediction"
    )
    table = _table(title, "measure", "variance explained", "from", "to", "ranks", "from", "to")
    for each in found.predictors:
        explained = (each.explained, each.explained_low, each.explained_high)
        ranked = (each.ranked, each.ranked_low, each.ranked_high)
        table.add_row(each.measure, *(f"{value:.2f}" for value in (*explained, *ranked)))
    return table


def _table(title: str, first: str, *heads: str) -> Table:
    table = plain_table(title)
    table.add_column(first)
    for head in heads:
        table.add_column(head, justify="right")
    return table
