"""Oracles: the table that is drawn, and the boxes that the renderer gives each text."""

from functools import cache

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.answer import answer, chosen
from cprsim.figures.style import CAUSE_COLOURS
from cprsim.figures.texts import percent
from tests.figures.answers import ALL, CASES, MANY, PRICED
from tests.figures.reading import labels, notes, rendered, words


@cache
def drawn(case: str) -> Figure:
    table, bounds = CASES[case]
    figure = answer(table, "overhead", bounds, "USD", "A title")
    return rendered(figure)


def headed(figure: Figure) -> dict[str, Axes]:
    """The panels by what stands above them."""
    names = ("Time lost", "Samples lost", "Updates lost", "Machine time", "Retrained", "Cost")
    there = [name for name in names if name in words(figure)]
    return dict(zip(there, figure.axes, strict=True))


def values(axes: Axes) -> list[float]:
    """Lengths of the bars, each cause's one after the other."""
    return [bar.get_width() for bar in axes.containers[0]]


@pytest.mark.parametrize("case", CASES)
def test_bars_end_at_the_overhead_and_are_parted_as_the_causes_part_it(case: str) -> None:
    shown = in_order(CASES[case][0])
    time = drawn(case).axes[0]
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


def test_what_is_lost_of_learning_has_panels_and_none_is_said() -> None:
    panels = headed(drawn("all"))
    shown = in_order(ALL)
    for heading, measure in (("Samples lost", "pls"), ("Updates lost", "updates_lost")):
        assert values(panels[heading]) == shown[measure].tolist()
        texts = [text.get_text() for text in panels[heading].texts if text.get_text()]
        assert texts.count("none") == 2
        assert texts[0] == percent(shown[measure].iloc[0])
    assert "No candidate loses any learning" in notes(drawn("near"))
    assert [*headed(drawn("near"))] == ["Time lost"]


def test_machine_time_and_cost_have_panels_where_there_is_something_of_them() -> None:
    lost = ["Time lost", "Samples lost", "Updates lost"]
    assert [*headed(drawn("all"))] == [*lost, "Machine time"]
    panels = headed(drawn("priced"))
    assert [*panels] == [*lost, "Machine time", "Cost"]
    assert values(panels["Cost"]) == PRICED["cost"].tolist()
    texts = [text.get_text() for text in panels["Cost"].texts if text.get_text()]
    assert texts == ["5,000", "5,600"]
    retrained = answer(ALL, "overhead_retrained", {})
    assert "Retrained" in headed(retrained)


def test_a_bound_is_a_dashed_line_in_its_panel() -> None:
    def dashed(axes: Axes) -> list[float]:
        lines = [line for line in axes.lines if line.get_linestyle() == "--"]
        return [float(line.get_xdata()[0]) for line in lines]

    found = {name: dashed(axes) for name, axes in headed(drawn("all")).items()}
    assert found.pop("Samples lost") == [0.1]
    assert set(map(tuple, found.values())) == {()}
    assert dashed(headed(drawn("nobody"))["Samples lost"]) == [0.0]


def test_marks_are_with_their_names_and_are_explained() -> None:
    names = labels(drawn("all").axes[0].yaxis)
    assert {
        "chosen one (best)",
        "just as good (same)",
        "not worse (tied)",
        "who knows (undecided)",
        "near its bound (limit?)",
        "lossy (over a limit)",
        "slow",
    } <= {*names}
    said = notes(drawn("all"))
    assert "best: the least time within the limits" in said
    assert "tied: not surely worse" in said
    assert "undecided" not in notes(drawn("near"))


def test_those_over_a_limit_are_below_the_others_and_paler() -> None:
    names = labels(drawn("all").axes[0].yaxis)
    assert [name.endswith("(over a limit)") for name in names] == [False] * 7 + [True] * 2
    colours = {to_hex(bar.get_facecolor()).upper() for bar in drawn("all").axes[0].patches}
    assert CAUSE_COLOURS["save"] in colours
    pale = {to_hex(bar.get_facecolor()).upper() for bar in drawn("nobody").axes[0].patches}
    assert not pale & {*CAUSE_COLOURS.values()}
    assert not any("(best)" in word for word in words(drawn("nobody")))


def test_of_many_the_chosen_the_next_and_the_best_of_each_origin_are_shown() -> None:
    kept = chosen(MANY)
    assert kept.sum() == 16
    names = MANY.index[kept].tolist()
    assert names[:9] == [f"policy {i}" for i in range(9)]  # of each origin the best
    given = [f"policy {i}" for i in range(9, 40) if i % 3 == 0]
    assert names[9:] == given[:7]
    assert "And 24 more: policy 10, policy 11, policy 13 and 21 more" in notes(drawn("many"))
    assert len(labels(drawn("many").axes[0].yaxis)) == 16
    few = chosen(ALL, 3)
    assert ALL.index[few].tolist() == ["chosen one", "just as good", "not worse"]
