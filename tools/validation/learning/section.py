"""The section of docs/accuracy.md on what lost learning is worth, from the runs that are kept."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.trainer.studies.predictors import Contest, contest, explained_share
from tools.paths import DOCS
from tools.tables import markdown
from tools.validation.learning.measured import TABLE

#: Measures of a run, in words.
MEASURES: Final = {
    "pls": "PLS",
    "updates_lost": "updates lost",
    "change_lost": "change lost",
    "learning_lost": "learning lost",
    "learning_lost_by_row": "learning lost, by row",
}
_RULES: Final = {"adagrad": "Adagrad", "sgd": "SGD"}
_PRIORITY: Final = "MFU"

#: CSV file of the cost of a unit of learning lost by condition; the page links it.
COSTS: Final = DOCS / "learning-costs.csv"

_TEXT: Final = """\
`learning_lost` is the mean over servers of -ln(1 - u), where u is the share of its own updates that
a server has lost permanently. It was compared with other measures in {runs} runs of one process,
{seeds} seeds each, under row-wise Adagrad and plain SGD at a constant rate: {conditions}
conditions, from saves every T/40 to none, losses early, late and at any time, and saves of the most
used rows. *Change lost* is counted here: the share of the way that rows go. *By row*: the mean over
rows of -ln(1 - u), weighted by their updates. Shares of the variance of the mean drop, over
conditions, that one line through the origin explains, with 95 % intervals over the seeds; in
brackets over single runs:

{shares}
{points}

[learning-costs.csv](learning-costs.csv) has the cost of a unit of learning lost by condition."""


def section() -> str:
    """The text and its tables."""
    runs = pd.read_csv(TABLE)
    conditions = list(dict.fromkeys(runs["condition"]))
    found = dict(_contests(runs, conditions))
    return _TEXT.format(
        runs=len(runs) * (len(conditions) + 1) // len(conditions),
        seeds=runs["seed"].nunique(),
        conditions=len(conditions),
        shares=_shares(runs, found, conditions),
        points=_points(runs, found),
    )


def _points(runs: pd.DataFrame, found: dict[tuple[str, str], Contest]) -> str:
    said = (
        _of_priority(runs),
        f"Counting rows gains nothing that holds: {_by_row(found)}.",
    )
    return "\n".join(textwrap.fill(f"- {each}", 100, subsequent_indent="  ") for each in said)


def values(runs: pd.DataFrame, measure: str, conditions: Sequence[str]) -> NDArray[np.float64]:
    """One measure, shape (seeds, conditions)."""
    wide = runs.pivot_table(index="seed", columns="condition", values=measure)
    return wide[list(conditions)].to_numpy(dtype=np.float64)


def of(runs: pd.DataFrame, data: str, rule: str) -> pd.DataFrame:
    """The runs on some samples, under an optimizer."""
    return runs[(runs["data"] == data) & (runs["rule"] == rule)]


def _contests(
    runs: pd.DataFrame, conditions: Sequence[str]
) -> Iterator[tuple[tuple[str, str], Contest]]:
    for data in dict.fromkeys(runs["data"]):
        for rule in _RULES:
            own = of(runs, data, rule)
            measures = {name: values(own, name, conditions) for name in MEASURES}
            yield (data, rule), contest(measures, values(own, "auc_drop", conditions))


def _shares(
    runs: pd.DataFrame, found: dict[tuple[str, str], Contest], conditions: Sequence[str]
) -> str:
    rows = []
    for place, (measure, name) in enumerate(MEASURES.items()):
        cells = [name]
        for (data, rule), each in found.items():
            predictor = each.predictors[place]
            own = of(runs, data, rule)
            single = _explained(
                values(own, measure, conditions), values(own, "auc_drop", conditions)
            )
            cells.append(
                f"{predictor.explained.mean:.2f} ({predictor.explained.low:.2f} to "
                f"{predictor.explained.high:.2f}) [{single:.2f}]"
            )
        rows.append(tuple(cells))
    return markdown(("measure", *(f"{data}, {_RULES[rule]}" for data, rule in found)), rows)


def _explained(measure: NDArray[np.float64], drops: NDArray[np.float64]) -> float:
    return float(explained_share(measure.ravel(), drops.ravel()))


def _per_unit(runs: pd.DataFrame, priority: bool) -> float:
    """The slope of the drop by learning lost, over conditions with or without priority saving."""
    own = runs[runs["condition"].str.contains(_PRIORITY) == priority]
    lost, drop = own["learning_lost"], own["auc_drop"]
    return float((lost * drop).sum() / (lost**2).sum())


def _of_priority(runs: pd.DataFrame) -> str:
    said = [
        f"{_per_unit(own, True) / _per_unit(own, False):.1f} times on {data}"
        for data in dict.fromkeys(runs["data"])
        for own in [of(runs, data, "adagrad")]
    ]
    return (
        "A unit of learning lost under MFU costs, of one without priorities (Adagrad): "
        f"{' and '.join(said)}. So the price of a loss belongs to the system that it was measured "
        "with, as the slopes in `[accuracy.systems]` do."
    )


def _by_row(found: dict[tuple[str, str], Contest]) -> str:
    by_shard, by_row = (
        [
            next(e.explained.mean for e in each.predictors if e.measure == name)
            for each in found.values()
        ]
        for name in ("learning_lost", "learning_lost_by_row")
    )
    return (
        f"the mean over servers explains {min(by_shard):.2f} to {max(by_shard):.2f}, that over "
        f"rows {min(by_row):.2f} to {max(by_row):.2f}"
    )


def costs() -> list[tuple[str, ...]]:
    """Return the heads and rows of `COSTS`."""
    runs = pd.read_csv(TABLE)
    kinds = [(data, rule) for data in dict.fromkeys(runs["data"]) for rule in _RULES]
    rows = [("condition", *(f"{data}, {_RULES[rule]}" for data, rule in kinds))]
    for condition in dict.fromkeys(runs["condition"]):
        cells = [condition]
        for data, rule in kinds:
            own = of(runs, data, rule)
            one = own[own["condition"] == condition]
            cells.append(f"{one['auc_drop'].mean() / one['learning_lost'].mean():.4f}")
        rows.append(tuple(cells))
    return rows
