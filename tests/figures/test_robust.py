"""Oracles: the tables that are drawn, and the boxes that the renderer gives each text."""

from functools import cache

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from cprsim.figures.cells import points, robust
from cprsim.figures.style import SYSTEM_COLOURS, paler
from tests.figures.answers import LEVERS, WITHIN
from tests.figures.reading import key, labels, notes, rendered

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


def test_points_are_of_what_losses_are_shares_of() -> None:
    shown = [robust(LEVERS, "a", WITHIN, SYSTEMS, "", *base)
             for base in ((), ("the useful time's cost",))]  # fmt: skip

    assert "in points of the useful time;" in notes(shown[0])
    assert "in points of the useful time's cost;" in notes(shown[1])


def cells(case: str) -> dict[tuple[str, str], tuple[str, list[str]]]:
    """Colour and texts of each cell, by input and factor."""
    (axes,) = drawn(case).axes
    levers, factors = labels(axes.yaxis), labels(axes.xaxis)
    texts = [(*text.get_position(), text.get_text()) for text in axes.texts if text.get_text()]
    found = {}
    for cell in axes.patches:
        x, y = (round(end + 0.5) for end in cell.get_xy())
        own = [word for tx, ty, word in texts if round(tx) == x and round(ty) == y]
        found[levers[y], factors[x]] = (to_hex(cell.get_facecolor()).upper(), own)
    return found


def test_a_cell_has_the_colour_of_the_best_policy_there() -> None:
    colours = {place: colour for place, (colour, _) in cells("all").items()}
    pale = [to_hex(paler(each, 0.45)).upper() for each in (CHOICE, SECOND, THIRD)]
    assert colours["MTBF", "× 1/4"] == colours["MTBF", "× 1/2"] == pale[1]
    assert colours["MTBF", "as it is"] == colours["MTBF", "× 4"] == pale[0]
    assert colours["parameter servers", "× 1/4"] == pale[2]
    assert len(colours) == len(LEVERS)
    assert "no policy: best in 1 of 1" in key(drawn("no best"))
    assert "a, the choice: best in 3 of 6" in key(drawn("all"))


def test_what_is_lost_is_written_or_why_it_is_not_known() -> None:
    said = {place: own[1:] for place, (_, own) in cells("all").items() if len(own) > 1}
    assert said == {
        ("MTBF", "× 1/4"): ["over a limit"],
        ("MTBF", "× 1/2"): ["0.2 pt"],
        ("parameter servers", "× 1/4"): ["not playable"],
    }
    unsure = robust(LEVERS.iloc[2:3].assign(sure=False), "a", WITHIN, SYSTEMS)
    assert [text.get_text() for text in unsure.axes[0].texts][1] == "0 pt?"


def test_it_is_drawn_on_axes_of_the_users() -> None:
    axes = Figure().subplots()
    assert robust(LEVERS, "a", WITHIN, SYSTEMS, ax=axes) is axes.figure
    assert len(axes.patches) == len(LEVERS)


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
