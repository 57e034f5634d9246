"""Oracles: the tables that are drawn, and the boxes that the renderer gives each text."""

from functools import cache

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from cprsim.figures.parts.style import SYSTEM_COLOURS
from cprsim.figures.parts.world_map import points
from cprsim.figures.robust import robust
from tests.figures.answers import GRID, LEVERS, WITHIN
from tests.figures.reading import boxes_apart, rendered

SYSTEMS = {"a": "cpr-vanilla", "b": "ecrm", "c": "partial"}
CHOICE, SECOND, THIRD = (SYSTEM_COLOURS[system] for system in SYSTEMS.values())
NAMES = ("MTBF", "save bandwidth")
CASES: dict[str, tuple[pd.DataFrame, pd.DataFrame, tuple[str, str | None]]] = {
    "all": (LEVERS, GRID, ("a", "b")),
    "no map": (LEVERS, pd.DataFrame(), ("a", "b")),
    "alone": (
        LEVERS.iloc[2:3].assign(second_loses=float("nan")),
        GRID.iloc[1:2].assign(second_loses=float("nan")),
        ("a", None),
    ),
}


@cache
def drawn(case: str) -> Figure:
    levers, grid, choices = CASES[case]
    figure = robust(levers, grid, choices, WITHIN, NAMES, SYSTEMS, "A title")
    return rendered(figure)


def colour(patch: Rectangle) -> str:
    return to_hex(patch.get_facecolor()).upper()


@pytest.mark.parametrize("case", CASES)
def test_no_text_is_cut_or_covers_another(case: str) -> None:
    figure = drawn(case)
    boxes_apart(figure)


def test_points_are_of_what_losses_are_shares_of() -> None:
    levers, grid, choices = CASES["all"]
    shown = [robust(levers, grid, choices, WITHIN, NAMES, SYSTEMS, "", *base)
             for base in ((), ("the useful time's cost",))]  # fmt: skip
    texts = [" ".join(text.get_text() for text in each.texts) for each in shown]

    assert "Points of the useful time, log" in texts[0]
    assert "Points of the useful time's cost, log" in texts[1]


def test_bars_end_at_what_is_lost_and_nothing_has_none() -> None:
    axes = drawn("all").axes[0]
    ends = [
        (colour(bar), bar.get_x() + bar.get_width()) for bar in axes.patches if bar.get_width() > 0
    ]
    # Of the choice one loss of 0.2 points, of the second three that can be seen.
    assert ends == [
        (CHOICE, pytest.approx(0.002)),
        (SECOND, pytest.approx(0.01)),
        (SECOND, pytest.approx(0.3)),
    ]
    assert len(axes.patches) == 2 * len(LEVERS)


def test_what_is_lost_is_written_or_why_it_is_not_known() -> None:
    texts = [text.get_text() for text in drawn("all").axes[0].texts]
    assert texts == [
        *("over a bound", "0 pt"),
        *("0.2 pt", "0 pt"),
        *("0 pt", "1 pt"),
        *("0 pt", "30 pt"),
        *("can't be played", "can't be played"),
        *("0 pt", "<0.01 pt"),
    ]
    assert [text.get_text() for text in drawn("alone").axes[0].texts] == ["0 pt"]


def test_squares_tell_who_is_the_least() -> None:
    squares = [line for line in drawn("all").axes[0].lines if line.get_marker() == "s"]
    assert [line.get_color() for line in squares] == [
        *(SECOND, SECOND, CHOICE, CHOICE),
        *(THIRD, CHOICE),
    ]


def test_cells_have_the_colour_of_the_least_and_hatches_where_the_choice_is_not_as_good() -> None:
    panel = drawn("all").axes[1]
    cells = [p for p in panel.patches if p.get_fill()]
    assert [colour(cell) for cell in cells] == [SECOND, CHOICE, SECOND, "#EDEDED"]
    hatched = [p.get_xy() for p in panel.patches if p.get_hatch()]
    assert hatched == [cells[0].get_xy(), cells[2].get_xy()]
    assert [text.get_text() for text in panel.texts] == ["0.2 pt", "0 pt", "over", "nobody"]
    (framed,) = (p for p in panel.patches if not p.get_fill() and not p.get_hatch())
    assert framed.get_xy() == cells[1].get_xy()  # as it was asked


def test_what_does_not_matter_is_a_dashed_line() -> None:
    (line,) = (line for line in drawn("all").axes[0].lines if line.get_linestyle() == "--")
    assert line.get_xdata()[0] == WITHIN


def test_without_a_map_there_is_one_panel() -> None:
    assert len(drawn("no map").axes) == 1
    assert not any("Hatched" in text.get_text() for text in drawn("no map").texts)
    assert not any("Hatched" in text.get_text() for text in drawn("alone").texts)
    assert any("Hatched" in text.get_text() for text in drawn("all").texts)


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (0.0, "0 pt"),
        (1e-12, "0 pt"),
        (0.00005, "<0.01 pt"),
        (0.00067, "0.067 pt"),
        (0.0129, "1.3 pt"),
        (0.4, "40 pt"),
    ],
)
def test_points(loss: float, text: str) -> None:
    assert points(loss) == text
