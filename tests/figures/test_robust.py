"""Oracles: the tables that are drawn, and the boxes that the renderer gives each text."""

from functools import cache

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cprsim.figures.parts.style import SYSTEM_COLOURS
from cprsim.figures.robust import points, robust
from tests.figures.answers import LEVERS, WITHIN
from tests.figures.reading import boxes_apart, rendered

SYSTEMS = {"a": "cpr-vanilla", "b": "ecrm", "c": "partial"}
CHOICE, SECOND, THIRD = (SYSTEM_COLOURS[system] for system in SYSTEMS.values())
CASES: dict[str, pd.DataFrame] = {
    "all": LEVERS,
    "one row": LEVERS.iloc[2:3],
    "no best": LEVERS.iloc[4:5].assign(least=""),
}


@cache
def drawn(case: str) -> Figure:
    return rendered(robust(CASES[case], "a", WITHIN, SYSTEMS, "A title"))


@pytest.mark.parametrize("case", CASES)
def test_no_text_is_cut_or_covers_another(case: str) -> None:
    boxes_apart(drawn(case))


def test_points_are_of_what_losses_are_shares_of() -> None:
    shown = [robust(LEVERS, "a", WITHIN, SYSTEMS, "", *base)
             for base in ((), ("the useful time's cost",))]  # fmt: skip
    texts = [" ".join(text.get_text() for text in each.texts) for each in shown]

    assert "Points of the useful time, log" in texts[0]
    assert "Points of the useful time's cost, log" in texts[1]


def test_bars_end_at_what_is_lost_and_nothing_has_none() -> None:
    bars = drawn("all").axes[0].patches
    ends = [(to_hex(bar.get_facecolor()).upper(), bar.get_x() + bar.get_width()) for bar in bars
            if bar.get_width() > 0]  # fmt: skip
    assert ends == [(CHOICE, pytest.approx(0.002))]
    assert len(bars) == len(LEVERS)


def test_what_is_lost_is_written_or_why_it_is_not_known() -> None:
    texts = [text.get_text() for text in drawn("all").axes[0].texts]
    assert texts == ["over a limit", "0.2 pt", "0 pt", "0 pt", "can't be played", "0 pt"]
    unsure = robust(LEVERS.iloc[2:3].assign(sure=False), "a", WITHIN, SYSTEMS)
    assert [text.get_text() for text in unsure.axes[0].texts] == ["0 pt?"]


def test_the_best_policy_of_each_row_is_named_beside_it() -> None:
    names = [text.get_text() for text in drawn("all").texts if text.get_text() in SYSTEMS]
    assert names == ["b", "b", "a", "a", "c", "a"]
    squares = [each.get_color() for each in drawn("all").artists if isinstance(each, Line2D)]
    assert squares == [SECOND, SECOND, CHOICE, CHOICE, THIRD, CHOICE]
    assert "none" in [text.get_text() for text in drawn("no best").texts]


def test_what_does_not_matter_is_a_dashed_line() -> None:
    (line,) = (line for line in drawn("all").axes[0].lines if line.get_linestyle() == "--")
    assert line.get_xdata()[0] == WITHIN


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
