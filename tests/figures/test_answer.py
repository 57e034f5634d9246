"""Oracles: the table that is drawn, and the boxes that the renderer gives each text."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS, OVERHEAD_CAUSES
from cprsim.figures.answer import answer, chosen, front, pareto
from cprsim.figures.style import CAUSE_COLOURS
from cprsim.figures.texts import percent
from tests.figures.reading import Drawn, labels, notes, words


def candidate(
    standing: str = "worse", lost: float = 0.0, machine: float | None = None, **causes: float
) -> dict[str, Any]:
    """A row: `lost` is PLS, and twice the updates lost; `causes` add up to its overhead."""
    causes = dict.fromkeys(OVERHEAD_CAUSES, 0.0) | causes
    overhead = sum(causes.values())
    row: dict[str, Any] = {
        "system": "full",
        "origin": "",
        "given": True,
        "settings": "interval 2 h, copies 2",
        "standing": standing,
        "sure": True,
        **causes,
    }
    for name, mean in (
        ("overhead", overhead),
        ("pls", lost),
        ("updates_lost", 2 * lost),
        ("overhead_retrained", overhead + 2 * lost),
        ("machine_overhead", overhead if machine is None else machine),
    ):
        row |= {name: mean, f"{name}_low": 0.9 * mean, f"{name}_high": 1.1 * mean}
    return row


def answers(rows: dict[str, dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")
    return table.assign(origin=[row["origin"] or name for name, row in rows.items()])


#: Of each standing one, as far apart as overheads are.
ALL = answers(
    {
        "chosen one": candidate("chosen", 0.006, save=0.0002, load=0.0003),
        "just as good": candidate("same", 0.02, save=0.0002, load=0.0003),
        "not worse": candidate("tied", 0.001, machine=0.04, save=0.0005, load=0.0001),
        "who knows": candidate("open", 0.03, save=0.0008) | {"sure": False},
        "near its bound": candidate("worse", 0.099, save=0.01, detect=0.002) | {"sure": False},
        "a name of many words, tuned": candidate(save=0.05, lost=0, slowdown=0.02),
        "slow": candidate(save=0.1, stall=0.1),
        "lossy": candidate("over", 0.2, save=0.0001, reschedule=0.0001),
        "$x_1$ lossier": candidate("over", 0.4, save=0.0004),
    }
)
NEAR = answers({"a": candidate("chosen", save=0.02, load=0.01), "b": candidate(save=0.05)})
MANY = answers(
    {
        f"policy {i}": candidate("chosen" if i == 0 else "worse", 0.001 * i, save=0.001 * (i + 1))
        | {"origin": f"origin {i % 9}", "given": i % 3 == 0}
        for i in range(40)
    }
)
PRICED = answers(
    {
        name: candidate(standing, 0.01, 0.02 + cost / 1e5, save=0.001 * cost / 5000)
        | {"cost": cost, "cost_low": cost - 60.0, "cost_high": cost + 60.0}
        for name, standing, cost in (("a", "chosen", 5000.0), ("b", "worse", 5600.0))
    }
)
#: What is drawn: the table, and bounds by measure.
CASES: dict[str, tuple[pd.DataFrame, dict[str, float]]] = {
    "all": (ALL, {"pls": 0.1}),
    "near": (NEAR, {}),
    "many": (MANY, {"updates_lost": 0.05}),
    "priced": (PRICED, {"pls": 0.02}),
    "one": (NEAR.iloc[:1], {"pls": 0.0}),
    "nobody": (ALL[ALL["standing"] == "over"], {"pls": 0.0}),
    "nothing": (answers({"a": candidate("chosen"), "b": candidate("same")}), {"pls": 0.02}),
}


drawn_answer = Drawn(lambda *case: answer(case[0], "overhead", case[1], "USD", "A title"), CASES)


def headed(figure: Figure) -> dict[str, Axes]:
    """The panels by what stands above them."""
    names = ("Time lost", "Samples lost", "Updates lost", "Machine time", "Retrained", "Cost")
    there = [name for name in names if name in words(figure)]
    return dict(zip(there, figure.axes, strict=True))


def values(axes: Axes) -> list[float]:
    """Lengths of the bars, each cause's one after the other."""
    return [bar.get_width() for bar in axes.containers[0]]


@pytest.mark.parametrize("case", CASES)
def test_bars_end_at_the_overhead_and_are_parted_as_the_causes_part_it(case):
    shown = in_order(CASES[case][0])
    time = drawn_answer(case).axes[0]
    assert time.get_xscale() == "linear"
    causes = [cause for cause in CAUSE_LABELS if (shown[cause] > 0).any()]
    stacks = [each for each in time.containers if each.get_label() in CAUSE_LABELS.values()]
    for cause, bars in zip(causes, stacks, strict=True):
        widths = [bar.get_width() for bar in bars]
        assert widths == pytest.approx(shown[cause].tolist())
    if causes:
        ends = [bar.get_x() + bar.get_width() for bar in stacks[-1]]
        assert ends == pytest.approx(shown["overhead"].tolist())


def in_order(table: pd.DataFrame) -> pd.DataFrame:
    """The candidates as they are drawn: the best first, those over a limit last."""
    kept = table[chosen(table)]
    order = kept["standing"].map({"chosen": 0, "over": 2}).fillna(1)
    return kept.iloc[order.argsort(kind="stable")]


def test_what_is_lost_of_learning_has_panels_and_none_is_said():
    panels = headed(drawn_answer("all"))
    shown = in_order(ALL)
    for heading, measure in (("Samples lost", "pls"), ("Updates lost", "updates_lost")):
        assert values(panels[heading]) == shown[measure].tolist()
        texts = [text.get_text() for text in panels[heading].texts if text.get_text()]
        assert texts.count("none") == 2
        assert texts[0] == percent(shown[measure].iloc[0])
    assert "No candidate loses any learning" in notes(drawn_answer("near"))
    assert [*headed(drawn_answer("near"))] == ["Time lost"]


def test_machine_time_and_cost_have_panels_where_there_is_something_of_them():
    lost = ["Time lost", "Samples lost", "Updates lost"]
    assert [*headed(drawn_answer("all"))] == [*lost, "Machine time"]
    panels = headed(drawn_answer("priced"))
    assert [*panels] == [*lost, "Machine time", "Cost"]
    assert values(panels["Cost"]) == PRICED["cost"].tolist()
    texts = [text.get_text() for text in panels["Cost"].texts if text.get_text()]
    assert texts == ["5,000", "5,600"]
    retrained = answer(ALL, "overhead_retrained", {})
    assert "Retrained" in headed(retrained)


def test_a_bound_is_a_dashed_line_in_its_panel():
    def dashed(axes):
        lines = [line for line in axes.lines if line.get_linestyle() == "--"]
        return [float(line.get_xdata()[0]) for line in lines]

    found = {name: dashed(axes) for name, axes in headed(drawn_answer("all")).items()}
    assert found.pop("Samples lost") == [0.1]
    assert set(map(tuple, found.values())) == {()}
    assert dashed(headed(drawn_answer("nobody"))["Samples lost"]) == [0.0]


def test_marks_are_with_their_names_and_are_explained():
    names = labels(drawn_answer("all").axes[0].yaxis)
    assert {
        "chosen one (best)",
        "just as good (same)",
        "not worse (tied)",
        "who knows (undecided)",
        "near its bound (limit?)",
        "lossy (over a limit)",
        "slow",
    } <= {*names}
    said = notes(drawn_answer("all"))
    assert "best: the least time within the limits" in said
    assert "tied: not surely worse" in said
    assert "undecided" not in notes(drawn_answer("near"))


def test_those_over_a_limit_are_below_the_others_and_paler():
    names = labels(drawn_answer("all").axes[0].yaxis)
    assert [name.endswith("(over a limit)") for name in names] == [False] * 7 + [True] * 2
    colours = {to_hex(bar.get_facecolor()).upper() for bar in drawn_answer("all").axes[0].patches}
    assert CAUSE_COLOURS["save"] in colours
    pale = {to_hex(bar.get_facecolor()).upper() for bar in drawn_answer("nobody").axes[0].patches}
    assert not pale & {*CAUSE_COLOURS.values()}
    assert not any("(best)" in word for word in words(drawn_answer("nobody")))


def test_of_many_the_chosen_the_next_and_the_best_of_each_origin_are_shown():
    kept = chosen(MANY)
    assert kept.sum() == 16
    names = MANY.index[kept].tolist()
    assert names[:9] == [f"policy {i}" for i in range(9)]  # of each origin the best
    given = [f"policy {i}" for i in range(9, 40) if i % 3 == 0]
    assert names[9:] == given[:7]
    assert "And 24 more: policy 10, policy 11, policy 13 and 21 more" in notes(drawn_answer("many"))
    assert len(labels(drawn_answer("many").axes[0].yaxis)) == 16
    few = chosen(ALL, 3)
    assert ALL.index[few].tolist() == ["chosen one", "just as good", "not worse"]


# --- Fronts ---------------------------------------------------------------------------------------


drawn_pareto = Drawn(lambda *case: pareto(case[0], "overhead", case[1], "USD", "A title"), CASES)


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


def test_points_stand_where_they_are_those_over_a_bound_hollow():
    axes = by_axis(drawn_pareto("all"))["portion of lost samples (PLS)"]
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
def test_nobody_on_the_front_is_beaten_and_everybody_else_is(seed):
    x, y = np.random.default_rng(seed).integers(0, 6, (2, 12)).astype(float)
    found = {(x[i], y[i]) for i in front(x, y)}
    beaten = {
        (a, b)
        for a, b in zip(x, y, strict=True)
        if any(c <= a and d <= b and (c, d) != (a, b) for c, d in zip(x, y, strict=True))
    }
    assert found == {*zip(x, y, strict=True)} - beaten
    assert len(front(x, y)) == len(found)


def test_the_front_is_joined_and_named_and_the_chosen_one_has_a_ring():
    axes = by_axis(drawn_pareto("all"))["portion of lost samples (PLS)"]
    kept = ALL[ALL["standing"] != "over"]
    best = kept.iloc[front(kept["pls"].to_numpy(), kept["overhead"].to_numpy())]
    (line,) = (line for line in axes.lines if line.get_drawstyle() == "steps-post")
    assert line.get_ydata().tolist() == pytest.approx(best["overhead"].tolist())
    assert {text.get_text() for text in axes.texts} <= {*ALL.index}
    assert "chosen one" in {text.get_text() for text in axes.texts}
    (ring,) = (line for line in axes.lines if line.get_markersize() > 8)
    assert ring.get_xdata().tolist() == [0.006]


def test_panels_by_what_there_is():
    lost, updates, machine = (
        "portion of lost samples (PLS)",
        "updates lost for good",
        "overhead of machine time",
    )
    assert [*by_axis(drawn_pareto("all"))] == [lost, machine]
    assert [*by_axis(drawn_pareto("many"))] == [updates]  # which are bounded
    assert [*by_axis(drawn_pareto("priced"))] == [lost, "cost, USD"]
    assert [*by_axis(drawn_pareto("nothing"))] == [lost]
    experts = candidate(save=0.01) | {"updates_lost": 0.02, "updates_lost_high": 0.02}
    both = answers({"a": candidate("chosen", 0.01, save=0.02), "experts": experts})
    assert [*by_axis(pareto(both, "overhead", {"pls": 0.1}))] == [lost, updates]


def test_costs_are_not_spread_over_decades():
    axes = by_axis(drawn_pareto("priced"))["cost, USD"]
    low, high = axes.get_xlim()
    assert axes.get_xscale() == "linear"
    assert low < PRICED["cost_low"].min() < PRICED["cost_high"].max() < high < 1.5 * low


def test_a_bound_is_a_dashed_line():
    axes = by_axis(drawn_pareto("all"))["portion of lost samples (PLS)"]
    (line,) = (line for line in axes.lines if line.get_linestyle() == "--")
    assert line.get_xdata()[0] == 0.1
    assert to_hex(line.get_color()).upper() == "#1A1A1A"


def test_a_bound_that_nobody_comes_near_is_within_the_axis():
    (axes,) = pareto(CASES["nothing"][0], "overhead", {"pls": 0.02}).axes
    low, high = axes.get_xlim()
    assert low < 0.02 < high < 1
