"""Oracles: the table that is drawn, and the boxes that the renderer gives each text."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba
from matplotlib.patches import Rectangle

from cprsim.errors import UsageError
from cprsim.figures import look
from cprsim.figures.cells import phase, robust
from cprsim.figures.style import SYSTEM_COLOURS, paler, policy_colours
from tests.figures.reading import Drawn, heading, key, labels, notes
from tests.figures.tables import grid

HOUR = 3600.0
SYSTEMS = {"full": "full", "partial": "partial", "cpr": "cpr-vanilla"}
COLOURS = policy_colours(SYSTEMS)
MTBF, SAVE = {"failures.mean": "failures.mean_s"}, {"costs.save": "costs.save_s"}


def row(policy: str, *rivals: str, **changed: Any) -> dict[str, Any]:
    """A cell of the table."""
    verdict = "tied" if rivals else "best"
    found = {"policy": policy, "interval_s": 2 * HOUR, "margin": 0.0123, "verdict": verdict,
             "why": None, "rivals": rivals, "same_as": (), "updates_lost": 0.0}  # fmt: skip
    return found | changed


NOTHING = {
    "policy": None, "interval_s": math.nan, "margin": math.nan, "updates_lost": math.nan,
}  # fmt: skip
NONE, FAILED = (row("") | NOTHING | {"verdict": verdict} for verdict in ("none", "failed"))


def a_map(x: list[Any], y: list[Any], cells: list[dict[str, Any]]) -> pd.DataFrame:
    """Cells in the order of x, then y."""
    return grid(**{"failures.mean_s": x, "costs.save_s": y}).join(pd.DataFrame(cells))


DECADES = [HOUR, 10 * HOUR, 100 * HOUR]
SQUARE = a_map(
    DECADES,
    [60.0, 120.0, 180.0],
    [row("full"), row("partial", "cpr", "full"), row("cpr"), NONE, FAILED, row("full", "partial"),
     row("cpr", interval_s=math.inf), row("cpr", same_as=("partial",)),
     row("cpr", margin=math.nan, verdict="best")],
)  # fmt: skip
PHASES: dict[str, tuple[pd.DataFrame, dict[str, str], str, str]] = {
    "square": (SQUARE, MTBF | SAVE, "A job", "PLS <= 10 %"),
    "strip": (SQUARE[::3], MTBF, "", ""),
    "one cell": (SQUARE[:1], MTBF, "A title that takes more than one line, " * 5, ""),
    "one row of two keys": (SQUARE[::3], MTBF | SAVE, "$x$", ""),
    "many": (
        a_map([float(i) for i in range(1, 26)], [2.0**i for i in range(12)], [row("full")] * 300),
        MTBF | SAVE, "Many", "",
    ),
    "scattered": (
        pd.concat([SQUARE.iloc[[0]], SQUARE.iloc[[1]], SQUARE.iloc[[5]], SQUARE.iloc[[6]]])
        .assign(**{"costs.save_s": [1.0, 2.0, 3.0, 4.0], "failures.mean_s": [4.0, 9.0, 1.0, 7.0]}),
        MTBF | SAVE, "Latin", "",
    ),
    "texts": (
        SQUARE[::3].assign(law=["gamma", "a law with a name that goes on and on", "weibull"]),
        {"failures.distribution": "law"} | SAVE, "", "",
    ),
}  # fmt: skip


drawn_phase = Drawn(lambda table, axes, *more: phase(table, axes, SYSTEMS, *more), PHASES)


def cells(axes: Axes) -> np.ndarray:
    """Colours of the cells, RGBA, from below."""
    return np.asarray(axes.collections[0].get_array())


def text(axes: Axes) -> list[str]:
    return [each.get_text() for each in axes.texts]


def test_each_cell_has_the_colour_of_its_policy_paler_where_it_is_not_clear():
    (axes,) = drawn_phase("square").axes
    colours = cells(axes)

    def at(x, y):
        return tuple(colours[y, x])

    assert at(0, 0) == to_rgba(COLOURS["full"])
    assert at(0, 2) == at(2, 0) == at(2, 1) == at(2, 2) == to_rgba(COLOURS["cpr"])
    full = np.array(to_rgba(COLOURS["full"]))
    assert at(1, 2) == pytest.approx(tuple(0.4 * full + 0.6))  # 60 % white
    assert at(1, 0) != at(1, 1)
    assert all(part > 0.7 for part in (*at(1, 0), *at(1, 1)))  # greys


def test_hatching_has_the_colour_of_the_nearest_rival():
    (axes,) = drawn_phase("square").axes
    hatched = {
        patch.get_xy(): patch
        for patch in axes.patches
        if isinstance(patch, Rectangle) and patch.get_hatch()
    }
    # The cells of 1 h, 120 s and of 10 h, 180 s.
    assert list(hatched) == [(-0.5, 0.5), (0.5, 1.5)]
    first, second = hatched.values()
    assert first.get_edgecolor() == to_rgba(COLOURS["cpr"])
    assert second.get_edgecolor() == to_rgba(COLOURS["partial"])
    assert second.get_width() == second.get_height() == 1


def test_values_are_in_order_at_even_distances_and_written_as_people_do():
    (axes,) = drawn_phase("square").axes
    (many,) = drawn_phase("many").axes

    assert axes.get_xlim() == axes.get_ylim() == (-0.5, 2.5)
    assert axes.get_xticks().tolist() == [0, 1, 2]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1 h", "10 h", "4.17 d"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1 min", "2 min", "3 min"]
    assert axes.get_xlabel() == "mean time between failures"
    assert set(many.get_xticks()) < set(range(25))


@pytest.mark.parametrize(
    ("cells", "to_do", "told"),
    [
        ([row("full")] * 2, 0, "full has the least overhead everywhere, surely\n"),
        (
            [row("cpr", updates_lost=0.0123), row("cpr", "full")],
            0,
            "cpr has the least overhead everywhere, surely in 1, but loses up to 1.23 % of the "
            "updates\n",
        ),
        (
            [row("full", "cpr"), row("cpr", "full"), row("full", "cpr")],
            0,
            "full has the least overhead in 2 of 3 cells, surely in none\n",
        ),
        (
            [row("full")],
            71,
            "full has the least overhead in 1 of 1 cell, surely\n71 points still to be done",
        ),
    ],
)
def test_the_finding_tells_no_more_than_is_known(cells, to_do, told):
    table = a_map([HOUR * (1 + i) for i in range(len(cells))], [60.0], cells)
    figure = phase(table, MTBF, SYSTEMS, to_do=to_do)
    finding, *more = told.strip().split("\n")
    assert heading(figure) == finding
    assert all(each in notes(figure) for each in more)


def test_cells_say_how_often_to_save_and_the_margin_in_points():
    (axes,) = drawn_phase("square").axes
    said = notes(drawn_phase("square"))

    assert text(axes) == [
        "2 h\n+1.2 pt", "2 h\n+1.2 pt", "2 h\n+1.2 pt", "none", "failed", "2 h\n+1.2 pt",
        "never\n+1.2 pt", "2 h\n+1.2 pt", "2 h",
    ]  # fmt: skip
    assert "time between saves of the best policy, and by how many points" in said
    with look(width="3.3in"):
        narrow = phase(PHASES["many"][0], MTBF | SAVE, SYSTEMS)
    assert text(narrow.axes[0]) == []  # there is no room


def test_the_key_tells_where_each_policy_is_best():
    words = " ".join([*key(drawn_phase("square")), notes(drawn_phase("square"))])

    assert "best in 2 of 9 (1 surely)" in words
    assert "best in 1 of 9 (0 surely)" in words
    assert "best in 4 of 9" in words
    assert "no policy meets the limits: 1 of 9" in words
    assert "points that failed: 1 of 9" in words
    assert "least mean overhead, PLS <= 10 %" in words
    assert "Pale: not surely the best; hatched in the colour of a rival" in words


def test_what_is_undecided_is_pale_though_no_other_policy_is_near():
    table = SQUARE.iloc[[0]].assign(verdict="undecided", why="bound")
    figure = phase(table, MTBF, SYSTEMS)
    words = " ".join([*key(figure), notes(figure)])

    assert "best in 1 of 1 (0 surely)" in words
    assert "Pale: not surely the best" in words
    # Which of its own choices is better is no question of the policy.
    own = phase(table.assign(why="margin"), MTBF, SYSTEMS)
    assert "best in 1 of 1 " in " ".join(f"{each} " for each in key(own))


def test_a_policy_that_is_never_best_is_in_the_key_as_a_rival():
    table = SQUARE.iloc[[1]].assign(same_as=[("twin",)])
    figure = phase(table, MTBF, SYSTEMS)
    words = " ".join([*key(figure), notes(figure)])

    assert "nearest rival in 1" in words
    assert "best in 1 of 1 (0 surely); no different: twin" in words
    assert "full" not in words.split()  # farther away


@pytest.mark.parametrize(
    ("table", "axes", "fault"),
    [
        (SQUARE[:0], MTBF, "no point is finished; give the sweep's command again"),
    ],
)
def test_what_is_no_map_is_refused(table, axes, fault):
    with pytest.raises(UsageError) as refused:
        phase(table, axes, SYSTEMS)

    assert str(refused.value) == f"figure phase: {fault}"


# --- How the choice holds in perturbed scenarios --------------------------------------------------


WITHIN = 0.001


def world(factor: float, loses: float = 0.0, **changed: Any) -> dict[str, Any]:
    """A row of `Robustness.table` in which `a` is the best, unless that is changed."""
    row = {"factor": factor, "value": f"{20 * factor:g} h", "least": "a", "loses": loses}
    row |= {"keeps": True, "sure": True} | changed
    row |= {"loses_low": 0.9 * row["loses"], "loses_high": 1.1 * row["loses"]}
    return row | {"holds": row["keeps"] and row["loses"] <= WITHIN}


LEVERS = pd.DataFrame(
    [
        {"lever": "MTBF"} | world(0.25, -0.01, least="b", keeps=False),
        {"lever": "MTBF"} | world(0.5, 0.002, least="b"),
        {"lever": "MTBF"} | world(1.0),
        {"lever": "MTBF"} | world(4.0),
        {"lever": "parameter servers"} | world(0.25, math.nan, least="c", keeps=False),
        {"lever": "parameter servers"} | world(1.0),
    ]
)
CHOSEN = {"a": "cpr-vanilla", "b": "ecrm", "c": "partial"}
CHOICE, SECOND, THIRD = (SYSTEM_COLOURS[system] for system in CHOSEN.values())
ROBUST = {
    "all": (LEVERS,),
    "one row": (LEVERS.iloc[2:3],),
    "no best": (LEVERS.iloc[4:5].assign(least=""),),
}
drawn_robust = Drawn(lambda table: robust(table, "a", WITHIN, CHOSEN, "A title"), ROBUST)


def test_points_are_of_what_losses_are_shares_of():
    shown = [robust(LEVERS, "a", WITHIN, CHOSEN, "", *base)
             for base in ((), ("the useful time's cost",))]  # fmt: skip

    assert "in points of the useful time;" in notes(shown[0])
    assert "in points of the useful time's cost;" in notes(shown[1])


def robust_cells(case: str) -> dict[tuple[str, str], tuple[str, list[str]]]:
    """Colour and texts of each cell, by input and factor."""
    (axes,) = drawn_robust(case).axes
    levers, factors = labels(axes.yaxis), labels(axes.xaxis)
    texts = [(*text.get_position(), text.get_text()) for text in axes.texts if text.get_text()]
    found = {}
    for cell in axes.patches:
        x, y = (round(end + 0.5) for end in cell.get_xy())
        own = [word for tx, ty, word in texts if round(tx) == x and round(ty) == y]
        found[levers[y], factors[x]] = (to_hex(cell.get_facecolor()).upper(), own)
    return found


def test_a_cell_has_the_colour_of_the_best_policy_there():
    colours = {place: colour for place, (colour, _) in robust_cells("all").items()}
    pale = [to_hex(paler(each, 0.45)).upper() for each in (CHOICE, SECOND, THIRD)]
    assert colours["MTBF", "× 1/4"] == colours["MTBF", "× 1/2"] == pale[1]
    assert colours["MTBF", "as it is"] == colours["MTBF", "× 4"] == pale[0]
    assert colours["parameter servers", "× 1/4"] == pale[2]
    assert len(colours) == len(LEVERS)
    assert "no policy: best in 1 of 1" in key(drawn_robust("no best"))
    assert "a, the choice: best in 3 of 6" in key(drawn_robust("all"))


def test_what_is_lost_is_written_or_why_it_is_not_known():
    said = {place: own[1:] for place, (_, own) in robust_cells("all").items() if len(own) > 1}
    assert said == {
        ("MTBF", "× 1/4"): ["over a limit"],
        ("MTBF", "× 1/2"): ["0.2 pt"],
        ("parameter servers", "× 1/4"): ["not playable"],
    }
    unsure = robust(LEVERS.iloc[2:3].assign(sure=False), "a", WITHIN, CHOSEN)
    assert [text.get_text() for text in unsure.axes[0].texts][1] == "0 pt?"
