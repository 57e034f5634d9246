"""Oracles: the table that is drawn, and the boxes that the renderer gives each text."""

from functools import cache

import pandas as pd
import pytest
from matplotlib.figure import Figure

from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.figures.bars import ladder, ladder_finding
from tests.figures.reading import rendered

LONG = "a lever whose name is made of many words, some of them rather long"


def row(lever: str, way: str, lost: float, updates: float = 0.0, sets: str = "") -> dict:
    causes = dict.fromkeys(OVERHEAD_CAUSES, lost / len(OVERHEAD_CAUSES))
    return {
        "lever": lever,
        "way": way,
        "sets": sets,
        "ett": 1 - lost,
        "ett_half": 0.001,
        **causes,
        "updates_lost": updates,
    }


CASES = {
    "three": pd.DataFrame(
        [
            row("as it is", "together", 0.4),
            row("publishing", "together", 0.35, sets="shutdown 5 min"),
            row(LONG, "together", 0.2, sets=", ".join(f"{key} 30 min" for key in "abcdefgh")),
            row("partial", "together", 0.03, 0.02, sets="cpr-vanilla, target_pls 0.02"),
            row("publishing", "alone", 0.35, sets="shutdown 5 min"),
            row(LONG, "alone", 0.25),
            row("partial", "alone", 0.41, 0.02),
        ]
    ),
    "one": pd.DataFrame(
        [
            row("as it is", "together", 0.999),
            row("it", "together", 0.0),
            row("it", "alone", 0.0),
        ]
    ),
}


@cache
def drawn(name: str) -> Figure:
    figure = ladder(CASES[name], "A job")
    return rendered(figure)


@pytest.mark.parametrize("name", CASES)
def test_bars_are_what_is_lost_by_cause_on_one_scale(name: str) -> None:
    figure, table = drawn(name), CASES[name]
    together, alone = figure.axes
    for axes, way in ((together, "together"), (alone, "alone")):
        shown = table[table["way"] == way]
        stacks = [each for each in axes.containers if each.get_label()[0] != "_"]
        assert {len(stack) for stack in stacks} == {len(shown)}
        ends = [sum(stack[i].get_width() for stack in stacks) for i in range(len(shown))]
        assert ends == pytest.approx((1 - shown["ett"]).tolist())
    assert together.get_xlim() == alone.get_xlim()


def test_points_are_of_the_row_above_and_of_the_job_as_it_is() -> None:
    texts = [[text.get_text() for text in axes.texts] for axes in drawn("three").axes]
    gains = [[t.split("  ")[1] for t in some if "  " in t] for some in texts]
    assert gains == [["+5.0", "+15.0", "+17.0"], ["+5.0", "+15.0", "-1.0"]]
    assert [t for t in texts[0] if t.startswith("loses")] == ["loses 2.00 % of the updates"]


def test_what_is_found() -> None:
    assert ladder_finding(CASES["three"]) == (
        f"Effective training goes from 60.0 % to 97.0 %; alone, {LONG} gives back most: 15.0 points"
    )
    worse = pd.DataFrame(
        [row("as it is", "together", 0.1), row("it", "together", 0.2), row("it", "alone", 0.2)]
    )
    assert ladder_finding(worse) == "Effective training goes from 90.0 % to 80.0 %"
