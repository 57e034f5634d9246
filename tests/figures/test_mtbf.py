"""Oracles: the table that is drawn, and the boxes that the renderer gives each text."""

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from cprsim.figures.measured import mtbf_by_nodes
from tests.figures.reading import rendered

HOUR = 3600.0


def table(nodes: list[int], chance: float = 2e-3) -> pd.DataFrame:
    n = np.array(nodes)
    measured = 1.1 * HOUR / (1 - (1 - chance) ** n)
    return pd.DataFrame(
        {
            "nodes": n,
            "measured_s": measured,
            "low_s": measured / 1.5,
            "high_s": measured * 2,
            "linear_s": HOUR / chance / n,
            "independent_s": HOUR / (1 - (1 - chance) ** n),
        }
    )


def with_values(rows: pd.DataFrame, row: int, **values: float) -> pd.DataFrame:
    rows = rows.copy()
    for name, value in values.items():
        rows.loc[row, name] = value
    return rows


DOUBLINGS = [2**i for i in range(11)]
CASES = {
    "doublings": (table(DOUBLINGS), "A system, MTBF by number of nodes"),
    "unsorted": (table([64, 1, 8]), ""),
    "one row": (table([16]), "A title that takes more than one line, " * 5),
    "huge": (table([1, 10**3, 10**6], 1e-9), "Huge"),
    "open": (with_values(table([1, 2, 3]), 0, high_s=math.inf, low_s=0.0), "Unbounded"),
    "not measured": (
        with_values(table([1, 2, 3]), 1, measured_s=math.nan, low_s=math.nan, high_s=math.nan),
        "$x_1$ and $y$",
    ),
    "infinite": (with_values(table([1, 2]), 0, measured_s=math.inf, high_s=math.inf), "No failure"),
}


@cache
def drawn(case: str) -> Figure:
    figure = mtbf_by_nodes(*CASES[case])
    return rendered(figure)


@pytest.mark.parametrize("case", CASES)
def test_lines_and_points_have_the_tables_values(case: str) -> None:
    (axes,) = drawn(case).axes
    rows = CASES[case][0].sort_values("nodes")
    measured = rows[np.isfinite(rows["measured_s"])]
    independent, linear, *_, points = axes.lines
    for line, expected, name in (
        (independent, rows, "independent_s"),
        (linear, rows, "linear_s"),
        (points, measured, "measured_s"),
    ):
        assert line.get_xdata().tolist() == expected["nodes"].tolist()
        assert line.get_ydata().tolist() == expected[name].tolist()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    for values in (rows["linear_s"], rows["independent_s"], measured["measured_s"]):
        assert (values > axes.get_ylim()[0]).all()
        assert (values < axes.get_ylim()[1]).all()


def whiskers(axes) -> list[tuple[float, float, float]]:
    (collection,) = axes.collections
    return [(x, low, high) for (x, low), (_, high) in collection.get_segments()]


def test_whiskers_are_the_intervals() -> None:
    (axes,) = drawn("doublings").axes
    rows = CASES["doublings"][0]
    for (x, low, high), row in zip(whiskers(axes), rows.itertuples(), strict=True):
        assert (x, low, high) == pytest.approx((row.nodes, row.low_s, row.high_s), rel=1e-12)


def test_an_open_whisker_leaves_the_picture() -> None:
    (axes,) = drawn("open").axes
    _, low, high = whiskers(axes)[0]
    assert low < axes.get_ylim()[0]
    assert axes.get_ylim()[1] < high < math.inf


@pytest.mark.parametrize("case", CASES)
def test_both_axes_have_ticks_that_say_what_they_are(case: str) -> None:
    (axes,) = drawn(case).axes
    seconds = {"ms": 1e-3, "s": 1, "min": 60, "h": HOUR, "d": 24 * HOUR, "y": 8766 * HOUR}
    assert len(axes.get_xticks()) >= 2
    assert len(axes.get_yticks()) >= 2
    for tick, text in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
        assert tick == pytest.approx(float(text.get_text().replace(",", "").replace("10⁶", "1e6")))
    for tick, text in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True):
        value, unit = text.get_text().replace(",", "").split()
        assert tick == pytest.approx(float(value) * seconds[unit], rel=1e-12)
