"""Oracles: the table that is drawn, and the boxes that the renderer gives each text."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cprsim.figures.measured import lost_rows
from cprsim.rows.meanfield import TRACKERS
from tests.figures.reading import key, rendered

HALVINGS = tuple(0.5**i for i in range(6, 0, -1))
NAMES = ("uniform", "Zipf 0.8", "Zipf 1.0", "dlrm-production", "Zipf 0.6", "Zipf 1.2")


def table(
    skews: tuple[str, ...],
    fractions: tuple[float, ...] = HALVINGS,
    trackers: tuple[str, ...] = TRACKERS,
    scale: float = 1.0,
) -> pd.DataFrame:
    """Much as it comes out: MFU as SCAR, taking turns as saving everything, chance worse."""
    losses = {"mfu": 0.8, "scar": 0.8, "ssu": 1.5, "round-robin": 1.0, "random": 2.0}
    return pd.DataFrame(
        [
            (skew, tracker, fraction, scale * (losses[tracker] - 0.1 * i - 0.4 * fraction))
            for (i, skew), fraction in itertools.product(enumerate(skews), fractions)
            for tracker in trackers
        ],
        columns=["skew", "tracker", "fraction", "relative"],
    )


LONG = (
    "embedding table 17 of the model, as accessed in the first week",
    "W" * 40,
    "a/path/to/a/file/of/accesses/that/is/long.csv",
)
HOLES = table(NAMES[:2]).assign(relative=lambda t: t["relative"].where(t.index != 0, math.nan))
CASES = {
    **{f"{n} skews": (table(NAMES[:n]), "Rows saved by priority") for n in (1, 2, 3, 6)},
    "shuffled": (table(NAMES[:1]).sample(frac=1, random_state=1), "A title of many lines, " * 9),
    "one point": (table(("uniform",), (0.125,)), "One point"),
    "all": (table(("uniform",), (0.5, 1.0), ("round-robin",)), "Everything"),
    "odd fractions": (table(NAMES[:1], (0.03, 0.1, 0.3)), ""),
    "wide": (table(NAMES[:2], tuple(0.5**i for i in range(1, 15))), "Wide"),
    "small": (table(NAMES[:1], (1 / 64, 1 / 32, 1 / 16)), "None at 1/8"),
    "incomplete": (HOLES.drop(index=[1]), "Some not computed"),
    "far more": (table(NAMES[:1], scale=30), "Far more"),
    "long names": (table(LONG), "$x_1$ and $y$"),
    "zero": (table(NAMES[:1], scale=0), "All lose the same"),
}


@cache
def drawn(case: str) -> Figure:
    return rendered(lost_rows(*CASES[case]))


def panels(case: str) -> list[Axes]:
    """Those that show something."""
    return [axes for axes in drawn(case).axes if axes.axison]


def by_name(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()).split(":")[0].lower(): line for line in axes.lines}


@pytest.mark.parametrize("case", CASES)
def test_each_line_has_the_values_of_its_tracker(case: str) -> None:
    rows = CASES[case][0].sort_values("fraction")
    for axes, skew in zip(panels(case), CASES[case][0]["skew"].unique(), strict=True):
        lines = by_name(axes)
        for tracker, own in rows[rows["skew"] == skew].groupby("tracker"):
            assert lines[str(tracker)].get_xdata().tolist() == own["fraction"].tolist()
            np.testing.assert_array_equal(lines[str(tracker)].get_ydata(), own["relative"])
        assert lines["cpr-vanilla"].get_ydata() == [1, 1]
    said = key(drawn(case))
    assert len(said) == len({*said})
    assert "CPR-vanilla: everything once an interval, 100 %" in said


@pytest.mark.parametrize("case", CASES)
def test_an_eighth_is_marked_where_it_is_on_the_axis(case: str) -> None:
    low, high = panels(case)[0].get_xlim()
    expected = low <= 0.125 <= high
    for axes in panels(case):
        assert ("1/8 of the rows" in by_name(axes)) == expected
    shown = [text.get_text() for text in panels(case)[-1].get_xticklabels()]
    assert ("1/8" in shown) == expected == (case not in ("small", "all"))
    if case.endswith("skews"):
        assert shown == ["1/64", "1/32", "1/16", "1/8", "1/4", "1/2"]


@pytest.mark.parametrize("case", CASES)
def test_all_panels_have_the_same_axes_that_hold_every_value(case: str) -> None:
    rows, first = CASES[case][0], panels(case)[0]
    for axes in panels(case):
        assert (axes.get_xlim(), axes.get_ylim()) == (first.get_xlim(), first.get_ylim())
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
        assert axes.bbox.size.tolist() == pytest.approx(first.bbox.size.tolist(), rel=0.02)
    (low, high), (bottom, top) = first.get_xlim(), first.get_ylim()
    assert low < rows["fraction"].min() <= rows["fraction"].max() < high
    assert bottom == 0
    assert top > max(1, rows["relative"].max())
    last = panels(case)[-1]
    at = [float(Fraction(text.get_text())) for text in last.get_xticklabels()]
    assert last.get_xticks().tolist() == at
    assert len(at) >= 2
