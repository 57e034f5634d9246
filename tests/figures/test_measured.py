"""Oracles: the table that is drawn, and the boxes that the renderer gives each text."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from cprsim.figures.measured import (
    lost_rows,
    mtbf_by_nodes,
    pls_accuracy,
    policy_accuracy,
    predicted_measured,
)
from cprsim.figures.style import SYSTEM_COLOURS
from cprsim.rows.meanfield import TRACKERS
from cprsim.trainer.studies import findings
from tests.figures.reading import Drawn, key
from tests.figures.tables import grid
from tests.studies.made_up import study

HALVINGS = tuple(0.5**i for i in range(6, 0, -1))
SKEWS = ("uniform", "Zipf 0.8", "Zipf 1.0", "dlrm-production", "Zipf 0.6", "Zipf 1.2")


def lost_table(
    skews: tuple[str, ...],
    fractions: tuple[float, ...] = HALVINGS,
    trackers: tuple[str, ...] = TRACKERS,
    scale: float = 1.0,
) -> pd.DataFrame:
    """Much as it comes out: MFU as SCAR, taking turns as saving everything, chance worse."""
    losses = {"mfu": 0.8, "scar": 0.8, "ssu": 1.5, "round-robin": 1.0, "random": 2.0}
    table = grid(skew=skews, fraction=fractions, tracker=trackers)
    lost = table["tracker"].map(losses) - 0.1 * table["skew"].map(skews.index)
    return table.assign(relative=scale * (lost - 0.4 * table["fraction"]))


LONG_SKEWS = (
    "embedding table 17 of the model, as accessed in the first week",
    "W" * 40,
    "a/path/to/a/file/of/accesses/that/is/long.csv",
)
HOLES = lost_table(SKEWS[:2]).assign(relative=lambda t: t["relative"].where(t.index != 0, math.nan))
ROWS = {
    **{f"{n} skews": (lost_table(SKEWS[:n]), "Rows saved by priority") for n in (1, 2, 3, 6)},
    "shuffled": (
        lost_table(SKEWS[:1]).sample(frac=1, random_state=1),
        "A title of many lines, " * 9,
    ),
    "one point": (lost_table(("uniform",), (0.125,)), "One point"),
    "all": (lost_table(("uniform",), (0.5, 1.0), ("round-robin",)), "Everything"),
    "odd fractions": (lost_table(SKEWS[:1], (0.03, 0.1, 0.3)), ""),
    "wide": (lost_table(SKEWS[:2], tuple(0.5**i for i in range(1, 15))), "Wide"),
    "small": (lost_table(SKEWS[:1], (1 / 64, 1 / 32, 1 / 16)), "None at 1/8"),
    "incomplete": (HOLES.drop(index=[1]), "Some not computed"),
    "far more": (lost_table(SKEWS[:1], scale=30), "Far more"),
    "long names": (lost_table(LONG_SKEWS), "$x_1$ and $y$"),
    "zero": (lost_table(SKEWS[:1], scale=0), "All lose the same"),
}


drawn_rows = Drawn(lost_rows, ROWS)


def row_panels(case: str) -> list[Axes]:
    """Return the panels that show something."""
    return [axes for axes in drawn_rows(case).axes if axes.axison]


def by_name(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()).split(":")[0].lower(): line for line in axes.lines}


@pytest.mark.parametrize("case", ROWS)
def test_each_line_has_the_values_of_its_tracker(case):
    rows = ROWS[case][0].sort_values("fraction")
    for axes, skew in zip(row_panels(case), ROWS[case][0]["skew"].unique(), strict=True):
        lines = by_name(axes)
        for tracker, own in rows[rows["skew"] == skew].groupby("tracker"):
            assert lines[str(tracker)].get_xdata().tolist() == own["fraction"].tolist()
            np.testing.assert_array_equal(lines[str(tracker)].get_ydata(), own["relative"])
        assert lines["cpr-vanilla"].get_ydata() == [1, 1]
    said = key(drawn_rows(case))
    assert len(said) == len({*said})
    assert "CPR-vanilla: everything once an interval, 100 %" in said


@pytest.mark.parametrize("case", ROWS)
def test_an_eighth_is_marked_where_it_is_on_the_axis(case):
    low, high = row_panels(case)[0].get_xlim()
    expected = low <= 0.125 <= high
    for axes in row_panels(case):
        assert ("1/8 of the rows" in by_name(axes)) == expected
    shown = [text.get_text() for text in row_panels(case)[-1].get_xticklabels()]
    assert ("1/8" in shown) == expected == (case not in ("small", "all"))
    if case.endswith("skews"):
        assert shown == ["1/64", "1/32", "1/16", "1/8", "1/4", "1/2"]


@pytest.mark.parametrize("case", ROWS)
def test_all_panels_have_the_same_axes_that_hold_every_value(case):
    rows, first = ROWS[case][0], row_panels(case)[0]
    for axes in row_panels(case):
        assert (axes.get_xlim(), axes.get_ylim()) == (first.get_xlim(), first.get_ylim())
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
        assert axes.bbox.size.tolist() == pytest.approx(first.bbox.size.tolist(), rel=0.02)
    (low, high), (bottom, top) = first.get_xlim(), first.get_ylim()
    assert low < rows["fraction"].min() <= rows["fraction"].max() < high
    assert bottom == 0
    assert top > max(1, rows["relative"].max())
    last = row_panels(case)[-1]
    at = [float(Fraction(text.get_text())) for text in last.get_xticklabels()]
    assert last.get_xticks().tolist() == at
    assert len(at) >= 2


# --- MTBF by nodes --------------------------------------------------------------------------------


HOUR = 3600.0


def mtbf_table(nodes: list[int], chance: float = 2e-3) -> pd.DataFrame:
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
MTBFS = {
    "doublings": (mtbf_table(DOUBLINGS), "A system, MTBF by number of nodes"),
    "unsorted": (mtbf_table([64, 1, 8]), ""),
    "one row": (mtbf_table([16]), "A title that takes more than one line, " * 5),
    "huge": (mtbf_table([1, 10**3, 10**6], 1e-9), "Huge"),
    "open": (with_values(mtbf_table([1, 2, 3]), 0, high_s=math.inf, low_s=0.0), "Unbounded"),
    "not measured": (
        with_values(mtbf_table([1, 2, 3]), 1, measured_s=math.nan, low_s=math.nan, high_s=math.nan),
        "$x_1$ and $y$",
    ),
    "infinite": (
        with_values(mtbf_table([1, 2]), 0, measured_s=math.inf, high_s=math.inf),
        "No failure",
    ),
}


drawn_mtbf = Drawn(mtbf_by_nodes, MTBFS)


@pytest.mark.parametrize("case", MTBFS)
def test_lines_and_points_have_the_tables_values(case):
    (axes,) = drawn_mtbf(case).axes
    rows = MTBFS[case][0].sort_values("nodes")
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


def test_whiskers_are_the_intervals():
    (axes,) = drawn_mtbf("doublings").axes
    rows = MTBFS["doublings"][0]
    for (x, low, high), row in zip(whiskers(axes), rows.itertuples(), strict=True):
        assert (x, low, high) == pytest.approx((row.nodes, row.low_s, row.high_s), rel=1e-12)


def test_an_open_whisker_leaves_the_picture():
    (axes,) = drawn_mtbf("open").axes
    _, low, high = whiskers(axes)[0]
    assert low < axes.get_ylim()[0]
    assert axes.get_ylim()[1] < high < math.inf


# --- Studies --------------------------------------------------------------------------------------


RUNS = findings.with_drops(study(seeds=6, noise=1e-3), "it")
POINTS = findings.points(RUNS)
SLOPES = {"cpr-vanilla": (0.02, 1.0), "cpr-mfu": (0.005, 1.0)}


def points_drawn(axes, colour: str) -> set[tuple[float, float]]:
    """Points of a colour, markers alone."""
    return {
        (round(float(x), 9), round(float(y), 9))
        for line in axes.lines
        if to_hex(line.get_color()) == colour.lower()
        and line.get_linestyle() == "None"
        and line.get_marker() not in ("|", "_")
        for x, y in zip(*line.get_data(), strict=True)
    }


def expected(rows: pd.DataFrame) -> set[tuple[float, float]]:
    return {(round(x, 9), round(y, 9)) for x, y in zip(rows["pls"], rows["auc_drop"], strict=True)}


def test_points_and_lines_of_accuracy_against_pls():
    figure = pls_accuracy(POINTS, SLOPES, "A title")
    one, several = figure.axes
    single = POINTS[POINTS["servers_hit"] == 1]

    for system in ("cpr-vanilla", "cpr-mfu", "full"):
        there = expected(single[single["system"] == system])
        assert there <= points_drawn(one, SYSTEM_COLOURS[system])
    assert expected(POINTS[POINTS["policy"] == "cpr-vanilla"]) <= points_drawn(
        several, SYSTEM_COLOURS["cpr-vanilla"]
    )
    lines = [
        line.get_data()
        for line in one.lines
        if len(line.get_xdata()) == 2 and line.get_xdata()[0] == 0 and line.get_linestyle() == "-"
    ]
    assert sorted(float(y[1] / x[1]) for x, y in lines) == pytest.approx([0.005, 0.02])
    assert all(axes.get_ylim()[1] >= POINTS["auc_drop_high"].max() for axes in figure.axes)


def test_every_seed_is_a_line_and_every_policy_a_mean():
    there = findings.compared_at(RUNS)
    points = findings.points(there).sort_values("auc_drop")
    figure = policy_accuracy(there, points, "A title")
    (axes,) = figure.axes
    order = list(points["policy"])

    seeds = [
        line.get_ydata()
        for line in axes.lines
        if line.get_linestyle() == "-" and len(line.get_xdata()) == len(order)
    ]
    expected = there.pivot_table("auc_drop", "seed", "policy")[order].to_numpy()
    np.testing.assert_allclose(sorted(map(tuple, seeds)), sorted(map(tuple, expected)))
    assert [text.get_text().replace("\n", "") for text in axes.get_xticklabels()] == order
    means = {float(y) for system in order for _, y in points_drawn(axes, SYSTEM_COLOURS[system])}
    assert means == {round(each, 9) for each in points["auc_drop"]}


# --- Predicted beside measured --------------------------------------------------------------------


TABLE = pd.DataFrame(
    [
        ("save", 0.2, 0.25),
        ("load", 0.03, 0.02),
        ("save", 0.4, 0.5),
        ("lost", 0.0, 0.1),  # on no log axis
        ("overhead", 1.0, 1.1),
    ],
    columns=["cause", "predicted", "measured"],
)


def test_points_lie_where_the_table_has_them():
    (axes,) = predicted_measured(TABLE, "Real runs").axes

    drawn = [line.get_xydata().tolist() for line in axes.lines[:-1]]
    assert drawn == [[[0.25, 0.2], [0.5, 0.4]], [[0.02, 0.03]], [[1.1, 1.0]]]
    assert axes.get_xlim() == axes.get_ylim()
    (on_it,) = axes.lines[-1:]
    assert np.array_equal(on_it.get_xdata(), on_it.get_ydata())


def test_the_band_is_a_quarter_or_fifty_milliseconds():
    (axes,) = predicted_measured(TABLE).axes
    outline = axes.collections[0].get_paths()[0].vertices
    for x, room in ((0.05, 0.05), (1.0, 0.25)):
        at = outline[np.isclose(outline[:, 0], x, rtol=0.02)]
        assert at[:, 1].max() - x == pytest.approx(room, rel=0.1, abs=0.02 * x)
