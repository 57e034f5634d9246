"""Oracles: the table that is drawn, and the boxes that the renderer gives each text."""

import itertools
from functools import cache

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.answer import answer, chosen
from cprsim.figures.parts.style import CAUSE_COLOURS
from cprsim.figures.parts.texts import percent
from tests.figures.answers import ALL, CASES, MANY, PRICED, answers, candidate
from tests.figures.reading import boxes_apart, rendered, words


@cache
def drawn(case: str) -> Figure:
    table, bounds = CASES[case]
    figure = answer(table, "overhead", bounds, "USD", "A title")
    return rendered(figure)


def headed(figure: Figure) -> dict[str, Axes]:
    """The panels by what stands above them."""
    names = ("Time lost", "Learning lost", "Machine time", "Retrained", "Cost")
    there = [name for name in names if name in words(figure)]
    return dict(zip(there, figure.axes, strict=True))


def points(axes: Axes, marker: str) -> list[tuple[float, float]]:
    lines = [line for line in axes.lines if line.get_marker() == marker]
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines]


@pytest.mark.parametrize("case", CASES)
def test_no_text_is_cut_or_covers_another(case: str) -> None:
    figure = drawn(case)
    boxes_apart(figure)


@pytest.mark.parametrize("case", CASES)
def test_bars_end_at_the_overhead_and_are_parted_as_the_causes_part_it(case: str) -> None:
    table = CASES[case][0]
    time = drawn(case).axes[0]
    kept = table[chosen(table)]
    low = time.get_xlim()[0]
    log = time.get_xscale() == "log"
    bars = sorted(time.patches, key=lambda bar: (bar.get_y(), bar.get_x()))
    by_row = [[*row] for _, row in itertools.groupby(bars, lambda bar: bar.get_y())]
    there = kept[kept["overhead"] > 0]
    assert len(by_row) == len(there)
    for (_, row), some in zip(there.iterrows(), by_row, strict=True):
        assert some[-1].get_x() + some[-1].get_width() == pytest.approx(row["overhead"])
        ends = np.array([low, *(bar.get_x() + bar.get_width() for bar in some)])
        lengths = np.diff(np.log(ends) if log else ends)
        causes = [cause for cause in CAUSE_LABELS if row[cause] > 0]
        shares = [row[cause] / row["overhead"] for cause in causes]
        seen = [length for length in lengths / lengths.sum() if length > 1e-9]
        assert seen == pytest.approx(shares)


def test_far_apart_is_logarithmic_and_near_is_not() -> None:
    assert drawn("all").axes[0].get_xscale() == "log"
    assert "The axis of time is logarithmic" in " ".join(words(drawn("all")))
    assert drawn("near").axes[0].get_xscale() == "linear"
    assert "logarithmic" not in " ".join(words(drawn("near")))


def test_learning_lost_stands_where_it_is_and_none_is_said() -> None:
    axes = headed(drawn("all"))["Learning lost"]
    lossy = ALL[ALL["pls"] > 0]
    assert [x for x, _ in points(axes, "o")] == lossy["pls"].tolist()
    assert [x for x, _ in points(axes, "D")] == lossy["updates_lost"].tolist()
    texts = [text.get_text() for text in axes.texts]
    assert texts[0] == "0.60, 1.20 %"
    assert texts.count("none") == 2
    assert "None of them loses any learning." in words(drawn("near"))
    assert [*headed(drawn("near"))] == ["Time lost"]


def test_machine_time_and_cost_have_panels_where_there_is_something_of_them() -> None:
    assert [*headed(drawn("all"))] == ["Time lost", "Learning lost", "Machine time"]
    panels = headed(drawn("priced"))
    assert [*panels] == ["Time lost", "Learning lost", "Machine time", "Cost"]
    assert [x for x, _ in points(panels["Cost"], "o")] == PRICED["cost"].tolist()
    assert [text.get_text() for text in panels["Cost"].texts] == ["5,000", "5,600"]
    low, high = panels["Cost"].get_xlim()
    assert low < PRICED["cost_low"].min() < PRICED["cost_high"].max() < high < 1.5 * low
    retrained = answer(ALL, "overhead_retrained", {})
    assert "Retrained" in headed(retrained)


def test_a_bound_is_a_dashed_line_in_its_panel() -> None:
    def dashed(axes: Axes) -> list[float]:
        lines = [line for line in axes.lines if line.get_linestyle() == "--"]
        return [float(line.get_xdata()[0]) for line in lines]

    panels = headed(drawn("all"))
    assert {name: dashed(axes) for name, axes in panels.items()} == {
        "Time lost": [],
        "Learning lost": [0.1],
        "Machine time": [],
    }
    # On a log axis a bound of 0 is its end.
    learning = headed(drawn("nobody"))["Learning lost"]
    assert dashed(learning) == [learning.get_xlim()[0]]


def test_marks_stand_beside_their_names_and_are_explained() -> None:
    figure = drawn("all")
    heights = {text.get_text(): text.get_window_extent().y0 for text in figure.texts}
    for mark, name in (
        ("chosen", "chosen one"),
        ("same", "just as good"),
        ("tied", "not worse"),
        ("open", "who knows"),
        ("bound?", "near its bound"),
    ):
        assert abs(heights[mark] - heights[name]) < 8, mark
    said = " ".join(text.get_text() for text in figure.texts)
    assert "chosen: the least time of those that keep to the bounds" in said
    assert "tied: not surely worse" in said
    assert "open" not in words(drawn("near"))


def test_those_over_a_bound_stand_below_the_others_and_are_paler() -> None:
    figure = drawn("all")
    heights = {text.get_text(): text.get_window_extent().y0 for text in figure.texts}
    below = heights["Over a bound"]
    assert heights["slow"] > below > heights["lossy"] > heights["$x_1$ lossier"]
    colours = {to_hex(bar.get_facecolor()).upper() for bar in figure.axes[0].patches}
    assert CAUSE_COLOURS["save"] in colours
    pale = {to_hex(bar.get_facecolor()).upper() for bar in drawn("nobody").axes[0].patches}
    assert not pale & {*CAUSE_COLOURS.values()}
    assert "chosen" not in words(drawn("nobody"))


def test_of_many_the_chosen_the_next_and_the_best_of_each_origin_are_shown() -> None:
    kept = chosen(MANY)
    assert kept.sum() == 16
    names = MANY.index[kept].tolist()
    assert names[:9] == [f"policy {i}" for i in range(9)]  # of each origin the best
    given = [f"policy {i}" for i in range(9, 40) if i % 3 == 0]
    assert names[9:] == given[:7]
    said = " ".join(text.get_text() for text in drawn("many").texts)
    assert "And 24 more: policy 10; policy 11;" in said
    assert len(drawn("many").axes[0].texts) == 16
    few = chosen(ALL, 3)
    assert ALL.index[few].tolist() == ["chosen one", "just as good", "not worse"]


def test_the_chosen_one_is_first_even_if_another_is_as_little() -> None:
    table = answers({"b": candidate("same", save=0.1), "a": candidate("chosen", save=0.1)})
    figure = answer(table, "overhead", {})
    heights = {text.get_text(): text.get_position()[1] for text in figure.texts}
    assert heights["a"] > heights["b"]


def test_values_are_written_below_their_bars() -> None:
    texts = [text.get_text() for text in drawn("near").axes[0].texts]
    assert texts == [percent(0.03, 0.003), percent(0.05, 0.005)]
    assert [text.get_text() for text in drawn("nothing").axes[0].texts] == ["0 %", "0 %"]
