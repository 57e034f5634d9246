"""Oracles: the table that is drawn, and the boxes that the renderer gives each text."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from cprsim.figures.curves import lost_rows
from cprsim.rows.meanfield import TRACKERS, MeanField
from cprsim.rows.popularity import zipf
from tests.figures.reading import boxes_apart, key, plain, rendered

#: What the key calls each tracker.
WORDS = {
    "mfu": "MFU",
    "ssu": "SSU",
    "scar": "SCAR",
    "round-robin": "round-robin",
    "random": "random",
}
HALVINGS = tuple(0.5**i for i in range(6, 0, -1))
NAMES = ("uniform", "Zipf 0.8", "Zipf 1.0", "dlrm-production", "Zipf 0.6", "Zipf 1.2")


def table(
    skews: tuple[str, ...],
    fractions: tuple[float, ...] = HALVINGS,
    trackers: tuple[str, ...] = TRACKERS,
    scale: float = 1.0,
) -> pd.DataFrame:
    """Much as it comes out: MFU as SCAR, taking turns as saving everything, chance worse."""
    rows = []
    for (i, skew), fraction in itertools.product(enumerate(skews), fractions):
        hot = 0.1 * i + 0.4 * fraction
        losses = {"mfu": 0.8, "scar": 0.8, "ssu": 1.5, "round-robin": 1.0, "random": 2 - fraction}
        for tracker in trackers:
            cut = hot if tracker in ("mfu", "scar", "ssu") else 0.0
            rows.append((skew, tracker, fraction, scale * (losses[tracker] - cut)))
    return pd.DataFrame(rows, columns=["skew", "tracker", "fraction", "relative"])


def real() -> pd.DataFrame:
    rows = [
        ("Zipf 1.0", tracker, r, MeanField(zipf(4096, 1.0), 5 * 4096, r).long_run(tracker))
        for tracker in TRACKERS
        for r in (1 / 16, 1 / 8, 1 / 4)
    ]
    return pd.DataFrame(rows, columns=["skew", "tracker", "fraction", "relative"])


def changed(rows: pd.DataFrame, row: int, relative: float) -> pd.DataFrame:
    rows = rows.copy()
    rows.loc[row, "relative"] = relative
    return rows


TWO = table(NAMES[:2])
LAST_SCAR = int(TWO.index[TWO["tracker"] == "scar"][-1])
APART = changed(TWO, LAST_SCAR, 0.7)
LONG = (
    "embedding table 17 of the model, as accessed in the first week",
    "W" * 40,
    "a/path/to/a/file/of/accesses/that/is/long.csv",
)
CASES = {
    **{f"{n} skews": (table(NAMES[:n]), "Rows saved by priority") for n in (1, 2, 3, 6)},
    "real": (real(), "From the mean field"),
    "shuffled": (table(NAMES[:1]).sample(frac=1, random_state=1), "A title of many lines, " * 9),
    "SCAR apart": (APART, ""),
    "all apart, one row": (APART[APART["skew"] == NAMES[1]], "One skew"),
    "one point": (table(("uniform",), (0.125,)), "One point"),
    "all": (table(("uniform",), (0.5, 1.0), ("round-robin",)), "Everything"),
    "odd fractions": (table(NAMES[:1], (0.03, 0.1, 0.3)), ""),
    "wide": (table(NAMES[:2], tuple(0.5**i for i in range(1, 15))), "Wide"),
    "small": (table(NAMES[:1], (1 / 64, 1 / 32, 1 / 16)), "None at 1/8"),
    "incomplete": (changed(TWO, 0, math.nan).drop(index=[LAST_SCAR, 1]), "Some not computed"),
    "far less": (table(NAMES[:1], trackers=("mfu", "ssu"), scale=1e-4), "Far less"),
    "far more": (table(NAMES[:1], scale=30), "Far more"),
    "long names": (table(LONG), "$x_1$ and $y$"),
    "zero": (table(NAMES[:1], scale=0), "All lose the same"),
}


@cache
def drawn(case: str) -> Figure:
    figure = lost_rows(*CASES[case])
    return rendered(figure)


def numbers(labels: list[Text]) -> list[str]:
    return [text.get_text() for text in labels]


def key_of(figure: Figure) -> dict[str, str]:
    """Names in the key, by the look of the sample that they belong to."""
    found = {}
    legends = [*figure.subfigs[0].legends, *(axes.get_legend() for axes in figure.axes)]
    (legend,) = (each for each in legends if each)
    samples = [each for each in legend.findobj(Line2D) if each.get_color() is not None]
    for line, text in zip(samples, legend.get_texts(), strict=True):
        found[look(line)] = plain(text.get_text()).split(":")[0]
    assert len(found) == len(set(found.values())) == len(samples)
    return found


def look(line: Line2D) -> str:
    marker = line.get_marker() if line.get_linestyle() == "None" else ""
    return f"{to_hex(line.get_color())} {marker}"


def panels(figure: Figure) -> list[Axes]:
    """Those that show something."""
    return [axes for axes in figure.axes if axes.axison]


def curves(axes: Axes) -> list[Line2D]:
    return [line for line in axes.lines if line.get_marker() == "o"]


def marks(axes: Axes) -> list[Line2D]:
    return [line for line in axes.lines if line.get_linestyle() == "None"]


@pytest.mark.parametrize("case", CASES)
def test_each_line_has_the_values_of_the_trackers_that_the_key_names(case: str) -> None:
    rows, figure = CASES[case][0], drawn(case)
    skews = list(dict.fromkeys(rows["skew"]))
    key = key_of(figure)
    for axes, skew in zip(panels(figure), skews, strict=True):
        said = [key[look(line)].split(", ") for line in curves(axes)]
        assert sorted(itertools.chain(*said)) == sorted(WORDS[t] for t in rows["tracker"].unique())
        for line, names in zip(curves(axes), said, strict=True):
            for tracker in (tracker for tracker, word in WORDS.items() if word in names):
                own = rows[(rows["skew"] == skew) & (rows["tracker"] == tracker)]
                own = own.sort_values("fraction")
                assert line.get_xdata().tolist() == own["fraction"].tolist()
                np.testing.assert_array_equal(line.get_ydata(), own["relative"])


def test_panels_have_the_names_of_their_skews() -> None:
    titles = [axes.get_title(loc="left") for axes in panels(drawn("6 skews"))]
    assert titles == [*NAMES]


def test_scar_shows_the_line_of_mfu_where_it_covers_it() -> None:
    figure = drawn("SCAR apart")
    lines = {key_of(figure)[look(line)]: line for line in curves(figure.axes[0])}
    scar, mfu = lines["SCAR"], lines["MFU"]
    assert scar.get_ydata().tolist() == mfu.get_ydata().tolist()
    assert (scar.get_linestyle(), mfu.get_linestyle()) == ("--", "-")
    assert scar.get_linewidth() < mfu.get_linewidth()
    assert list(lines).index("SCAR") > list(lines).index("MFU")


@pytest.mark.parametrize("case", CASES)
def test_everything_once_an_interval_is_a_line_across_each_panel(case: str) -> None:
    figure = drawn(case)
    for axes in panels(figure):
        (line,) = (line for line in axes.lines if line.get_marker() == "None")
        assert line.get_ydata() == [1, 1]
        box = line.get_window_extent()
        assert (box.x0, box.x1) == pytest.approx((axes.bbox.x0, axes.bbox.x1))
        assert key_of(figure)[look(line)] == "CPR-vanilla"
    assert "CPR-vanilla: everything once an interval, 100 %" in key(figure)


@pytest.mark.parametrize("case", CASES)
def test_an_eighth_is_marked_where_it_is_on_the_axis(case: str) -> None:
    figure = drawn(case)
    low, high = figure.axes[0].get_xlim()
    expected = [0.125] if low <= 0.125 <= high else []
    for axes in panels(figure):
        assert [x for line in marks(axes) for x in line.get_xdata()] == expected
    assert ("1/8 of the rows" in key_of(figure).values()) == bool(expected)
    assert ("1/8" in numbers(panels(figure)[-1].get_xticklabels())) == bool(expected)
    if case in ("small", "all"):
        assert not expected


@pytest.mark.parametrize("case", CASES)
def test_all_panels_have_the_same_axes_that_hold_every_value(case: str) -> None:
    rows, first = CASES[case][0], drawn(case).axes[0]
    for axes in panels(drawn(case)):
        assert (axes.get_xlim(), axes.get_ylim()) == (first.get_xlim(), first.get_ylim())
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
        assert axes.bbox.size.tolist() == pytest.approx(first.bbox.size.tolist(), rel=0.02)
    (low, high), (bottom, top) = first.get_xlim(), first.get_ylim()
    assert low < rows["fraction"].min() <= rows["fraction"].max() < high
    assert bottom == 0
    assert top > max(1, rows["relative"].max())


@pytest.mark.parametrize("case", CASES)
def test_both_axes_have_ticks_that_say_what_they_are(case: str) -> None:
    figure = drawn(case)
    for axes in panels(figure):
        assert axes.get_xticks().tolist() == panels(figure)[-1].get_xticks().tolist()
        assert axes.get_yticks().tolist() == figure.axes[0].get_yticks().tolist()
        assert not len(axes.get_xticks(minor=True))
    at, said = panels(figure)[-1].get_xticks(), numbers(panels(figure)[-1].get_xticklabels())
    assert len(said) >= 2
    assert at.tolist() == [float(Fraction(text)) for text in said]
    at, said = figure.axes[0].get_yticks(), numbers(figure.axes[0].get_yticklabels())
    assert len(said) >= 2
    shares = [float(text.replace(",", "").removesuffix(" %")) / 100 for text in said]
    assert at.tolist() == pytest.approx(shares, rel=1e-12)


def test_every_halving_has_a_tick_where_there_is_room() -> None:
    for case in ("1 skews", "2 skews", "6 skews"):
        said = numbers(panels(drawn(case))[-1].get_xticklabels())
        assert said == ["1/64", "1/32", "1/16", "1/8", "1/4", "1/2"]
    assert numbers(panels(drawn("all"))[-1].get_xticklabels()) == ["1/2", "1"]


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_numbers_stand_left_of_each_row_and_under_each_column(n: int) -> None:
    for i, axes in enumerate(panels(drawn(f"{n} skews"))):
        on_y, on_x = any(numbers(axes.get_yticklabels())), any(numbers(axes.get_xticklabels()))
        assert (on_y, on_x) == (i % 2 == 0, i + 2 >= n or n == 1)


def test_the_figure_grows_with_its_rows_of_panels() -> None:
    sizes = [drawn(f"{n} skews").get_size_inches().tolist() for n in (1, 2, 3, 6)]
    assert {width for width, _ in sizes} == {7.0}
    heights = [height for _, height in sizes]
    assert heights[0] == heights[1] < heights[2] < heights[3]


@pytest.mark.parametrize("case", CASES)
def test_no_text_is_cut_or_covers_another(case: str) -> None:
    figure = drawn(case)
    boxes_apart(figure)
    for one, other in itertools.combinations(panels(figure), 2):
        assert not one.bbox.overlaps(other.bbox)
