"""Oracles: the table that is drawn, fronts by comparing all with all, and the texts' boxes."""

from functools import cache

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from cprsim.figures.answer import front, pareto
from tests.figures.answers import ALL, CASES, PRICED, answers, candidate
from tests.figures.reading import rendered


@cache
def drawn(case: str) -> Figure:
    table, bounds = CASES[case]
    figure = pareto(table, "overhead", bounds, "USD", "A title")
    return rendered(figure)


def by_axis(figure: Figure) -> dict[str, Axes]:
    return {axes.get_xlabel(): axes for axes in figure.axes}


def points(axes: Axes, *, hollow: bool) -> list[tuple[float, float]]:
    found = [
        line
        for line in axes.lines
        if line.get_linestyle() == "None"
        and line.get_markersize() < 8
        and (line.get_markerfacecolor() == "white") is hollow
    ]
    return [(float(x), float(y)) for line in found for x, y in line.get_xydata()]


def test_points_stand_where_they_are_those_over_a_bound_hollow() -> None:
    axes = by_axis(drawn("all"))["portion of lost samples (PLS)"]
    kept, over = (ALL[(ALL["standing"] == "over") == flag] for flag in (False, True))
    lossy = kept[kept["pls"] > 0]
    there = sorted(points(axes, hollow=False))
    for x, y in zip(lossy["pls"], lossy["overhead"], strict=True):
        assert (x, pytest.approx(y)) in there
    # Those that lose nothing stand aside, all at one place, left of all others.
    aside = [(x, y) for x, y in there if x < 0.9 * lossy["pls"].min()]
    assert len({x for x, _ in aside}) == 1
    lossless = kept.loc[kept["pls"] == 0, "overhead"]
    assert sorted(y for _, y in aside) == pytest.approx(sorted(lossless))
    assert points(axes, hollow=True) == [
        (x, pytest.approx(y)) for x, y in zip(over["pls"], over["overhead"], strict=True)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_nobody_on_the_front_is_beaten_and_everybody_else_is(seed: int) -> None:
    x, y = np.random.default_rng(seed).integers(0, 6, (2, 12)).astype(float)
    found = {(x[i], y[i]) for i in front(x, y)}
    beaten = {
        (a, b)
        for a, b in zip(x, y, strict=True)
        if any(c <= a and d <= b and (c, d) != (a, b) for c, d in zip(x, y, strict=True))
    }
    assert found == {*zip(x, y, strict=True)} - beaten
    assert len(front(x, y)) == len(found)


def test_the_front_is_joined_and_named_and_the_chosen_one_has_a_ring() -> None:
    axes = by_axis(drawn("all"))["portion of lost samples (PLS)"]
    kept = ALL[ALL["standing"] != "over"]
    best = kept.iloc[front(kept["pls"].to_numpy(), kept["overhead"].to_numpy())]
    (line,) = (line for line in axes.lines if line.get_drawstyle() == "steps-post")
    assert line.get_ydata().tolist() == pytest.approx(best["overhead"].tolist())
    assert {text.get_text() for text in axes.texts} <= {*ALL.index}
    assert "chosen one" in {text.get_text() for text in axes.texts}
    (ring,) = (line for line in axes.lines if line.get_markersize() > 8)
    assert ring.get_xdata().tolist() == [0.006]


def test_panels_by_what_there_is() -> None:
    lost, updates, machine = (
        "portion of lost samples (PLS)",
        "updates lost for good",
        "overhead of machine time",
    )
    assert [*by_axis(drawn("all"))] == [lost, machine]
    assert [*by_axis(drawn("many"))] == [updates]  # which are bounded
    assert [*by_axis(drawn("priced"))] == [lost, "cost, USD"]
    assert [*by_axis(drawn("nothing"))] == [lost]
    experts = candidate(save=0.01) | {"updates_lost": 0.02, "updates_lost_high": 0.02}
    both = answers({"a": candidate("chosen", 0.01, save=0.02), "experts": experts})
    assert [*by_axis(pareto(both, "overhead", {"pls": 0.1}))] == [lost, updates]


def test_costs_are_not_spread_over_decades() -> None:
    axes = by_axis(drawn("priced"))["cost, USD"]
    low, high = axes.get_xlim()
    assert axes.get_xscale() == "linear"
    assert low < PRICED["cost_low"].min() < PRICED["cost_high"].max() < high < 1.5 * low


def test_a_bound_is_a_dashed_line() -> None:
    axes = by_axis(drawn("all"))["portion of lost samples (PLS)"]
    (line,) = (line for line in axes.lines if line.get_linestyle() == "--")
    assert line.get_xdata()[0] == 0.1
    assert to_hex(line.get_color()).upper() == "#1A1A1A"


def test_a_bound_that_nobody_comes_near_is_within_the_axis() -> None:
    (axes,) = pareto(CASES["nothing"][0], "overhead", {"pls": 0.02}).axes
    low, high = axes.get_xlim()
    assert low < 0.02 < high < 1
