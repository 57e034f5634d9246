"""Oracles: the summary table that is drawn, and the boxes that the renderer gives each text."""

import itertools
import math
import re
from functools import partial
from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer

from cprsim.contract.ledger import CAUSE_LABELS, OVERHEAD_CAUSES
from cprsim.errors import UsageError
from cprsim.figures import draw
from cprsim.figures.bars import ladder, ladder_finding
from cprsim.figures.style import CAUSE_COLOURS
from tests.figures.reading import Drawn, key, words


def policy(
    half: float = 0.001,
    learning: float = 0.0,
    lost_half: float = 0.0,
    interval_s: float = 8245.0,
    recovery: str = "full",
    **causes: float,
) -> dict[str, Any]:
    causes = dict.fromkeys(OVERHEAD_CAUSES, 0.0) | causes
    overhead = sum(causes.values())
    row = {"recovery": recovery, "interval_s": interval_s, **causes}
    for name, mean, reach in (
        ("overhead", overhead, half),
        ("updates_lost", learning, lost_half),
        ("overhead_retrained", overhead + learning, half + lost_half),
    ):
        row |= {name: mean, f"{name}_low": mean - reach, f"{name}_high": mean + reach}
    return row


def table(policies: dict[str, dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame.from_dict(policies, orient="index")


# Much as the shipped scenario comes out.
PARTIAL = {"load": 0.0012, "reschedule": 0.002, "recovery": "partial", "half": 4e-7}
THREE = table(
    {
        "full": policy(0.0024, save=0.0402, load=0.0012, lost=0.0424, reschedule=0.002),
        "partial": policy(learning=0.005, lost_half=0.0003, save=0.0401, **PARTIAL),
        "cpr": policy(
            learning=0.085, lost_half=0.0057, interval_s=161280.0, save=0.0017, **PARTIAL
        ),
    }
)
SEVEN = {cause: 0.01 + 0.002 * i for i, cause in enumerate(OVERHEAD_CAUSES)}
NAMES = (
    "cpr-priority-of-the-most-frequently-used-rows-with-a-very-long-name",
    "a policy whose name is made of many words, some of them rather long",
    "W" * 40,
    "$x_1$ and $y$",
    "p",
)
BARS = {
    "three": (THREE, "CPR emulation, Criteo Kaggle (calibrated)"),
    "one": (THREE.iloc[:1], "One policy"),
    "one replication": (
        table({"full": policy(math.nan, learning=0.1, lost_half=math.nan, **SEVEN)}),
        "",
    ),
    "twelve": (
        table(
            {
                f"{NAMES[i % 5]} {i}": policy(
                    10.0 ** -(2 + i % 3),
                    (0.0, 0.01, 0.0003)[i % 3],
                    0.0002,
                    (math.inf, 3594.0, 259200.0, 123.0)[i % 4],
                    ("full", "partial", "replica")[i % 3],
                    **{cause: share * (1 + i % 4) / 3 for cause, share in SEVEN.items()},
                )
                for i in range(12)
            }
        ),
        "A title that takes more than one line, " * 5,
    ),
    "zero": (table({"full": policy(0.0, interval_s=math.inf), "cpr": policy(0.0)}), "Nothing"),
    "huge": (
        table(
            {
                "full": policy(0.12, save=1.2, lost=7.6, load=0.2),
                "cpr": policy(learning=0.6, lost_half=0.02, save=0.005),
            }
        ),
        "Huge",
    ),
    "all causes": (
        table({"full": policy(**SEVEN), "b": policy(learning=1e-4, lost_half=2e-5, lost=1e-4)}),
        "Seven",
    ),
    "tiny": (table({"a": policy(1e-7, save=2e-6)}), "Tiny"),
    "wide interval": (
        table({"a": policy(0.032, 0.13, 0.2, save=0.04, load=0.002, lost=0.05)}),
        "Two replications",
    ),
    "very wide interval": (table({"b": policy(0.2, 0.05, 0.3, save=0.05)}), "Two replications"),
}


drawn_bars = Drawn(partial(draw, "breakdown"), BARS)


def end_labels(axes: Axes) -> list[str]:
    return [
        text.get_text()
        for text in axes.texts
        if text.get_text() and text.get_horizontalalignment() == "left"
    ]


def bars(axes: Axes) -> list[BarContainer]:
    """Those that can be seen: what carries the values at their ends has no height."""
    found = [each for each in axes.containers if isinstance(each, BarContainer)]
    return [each for each in found if not len(each) or each[0].get_height() > 0]


@pytest.mark.parametrize("case", BARS)
def test_bars_have_the_summarys_values_and_the_causes_colours(case):
    """Slim ones end where lost updates are trained again."""
    summary, _ = BARS[case]
    time_lost, learning = drawn_bars(case).axes
    causes = [cause for cause in CAUSE_LABELS if (summary[cause] > 0).any()]
    stacks, slim = bars(time_lost)[: len(causes)], bars(time_lost)[len(causes) :]
    for cause, stack in zip(causes, stacks, strict=True):
        widths = [bar.get_width() for bar in stack]
        assert widths == pytest.approx(summary[cause].tolist(), rel=1e-12)
        assert {to_hex(bar.get_facecolor()).upper() for bar in stack} == {CAUSE_COLOURS[cause]}
    for i, overhead in enumerate(summary["overhead"]):
        assert sum(stack[i].get_width() for stack in stacks) == pytest.approx(overhead, rel=1e-12)
        edges = [(stack[i].get_x(), stack[i].get_x() + stack[i].get_width()) for stack in stacks]
        assert all(a[1] == pytest.approx(b[0]) for a, b in itertools.pairwise(edges))
    (lost,) = bars(learning)
    assert [bar.get_width() for bar in lost] == summary["updates_lost"].tolist()
    lossy = summary[summary["updates_lost"] > 0]
    by_itself, again = [each for each in slim if len(each)] or ([], [])
    assert [bar.get_width() for bar in by_itself] == lossy["overhead"].tolist()
    ends = [bar.get_x() + bar.get_width() for bar in again]
    assert ends == pytest.approx(lossy["overhead_retrained"].tolist(), rel=1e-12)
    assert bool(ends) == ("trained again" in " ".join(words(drawn_bars(case))))


@pytest.mark.parametrize("case", BARS)
def test_values_are_beyond_their_bars_or_within_a_part(case):
    for axes in drawn_bars(case).axes:
        patches = [bar.get_window_extent() for stack in bars(axes) for bar in stack]
        for label in axes.texts:
            if not label.get_text() or label.get_horizontalalignment() == "right":
                continue  # what a policy does is left of the axis
            box = label.get_window_extent()
            if label.get_horizontalalignment() == "left":
                assert not any(box.overlaps(patch) for patch in patches), label
            else:
                assert any(p.x0 <= box.x0 and box.x1 <= p.x1 for p in patches), label
        whiskers = [line for line in axes.lines if line.get_marker() == "|"]
        for line in whiskers:
            (x0, y), (x1, _) = axes.transData.transform(line.get_xydata())
            boxes = [text.get_window_extent() for text in axes.texts]
            assert not any(b.y0 < y < b.y1 and x0 < b.x1 and b.x0 < x1 for b in boxes)


def test_words_of_three_policies():
    figure = drawn_bars("three")
    time_lost, learning = figure.axes
    said = end_labels(time_lost)
    assert said[:3] == ["8.58 % ± 0.24", "4.33 % ± <0.01", "0.49 % ± <0.01"]
    assert said[3:] == ["4.83 % ± 0.03", "8.99 % ± 0.57"]
    assert end_labels(learning) == ["none", "0.50 % ± 0.03", "8.50 % ± 0.57"]
    inside = [
        text.get_text()
        for text in time_lost.texts
        if text.get_text() and text.get_horizontalalignment() == "center"
    ]
    assert sorted(inside) == ["4.01 %", "4.02 %", "4.24 %"]
    for expected in (
        "Time lost",
        "% of useful training time, by cause",
        "Updates lost",
        "% of updates lost for good",
        "full",
        "full recovery, saves every 2.29 h",
        "partial recovery, saves every 44.8 h",
    ):
        assert expected in words(figure)
    for expected in (
        BARS["three"][1],
        "Grey, below a bar: if every lost update were trained again",
        "±: 95 % confidence interval of the mean",
    ):
        assert expected in " ".join(words(figure))


def test_a_whisker_takes_the_place_of_the_values_it_would_cover():
    lossless = table({"a": policy(0.032, save=0.04, load=0.002, lost=0.05)})
    time_lost, _ = draw("breakdown", lossless).axes
    said = [text.get_text() for text in time_lost.texts if "%" in text.get_text()]
    assert sorted(said) == ["4.00 %", "9.20 % ± 3.20"]


def test_legend_names_only_the_causes_that_occur_in_stack_order():
    labels = key(drawn_bars("three"))
    assert labels == ["saving", "loading", "lost computation", "rescheduling"]
    assert key(drawn_bars("all causes")) == list(CAUSE_LABELS.values())
    assert key(drawn_bars("zero")) == []


def test_nothing_lost_is_said_in_words():
    figure = drawn_bars("zero")
    time_lost, learning = figure.axes
    assert end_labels(time_lost) == ["0 %", "0 %"]
    assert end_labels(learning) == ["none", "none"]
    assert "full recovery, never saves" in words(figure)
    assert not any("±" in text for text in words(figure))


def test_rounding_of_the_clock_is_no_overhead():
    noise = policy(1e-17) | {"overhead": 2e-16, "overhead_high": 2.1e-16}
    time_lost, _ = draw("breakdown", table({"full": noise})).axes
    assert end_labels(time_lost) == ["0 %"]


def test_an_unknown_figure_is_refused():
    said = "figure 'brakedown': there is none of that name; did you mean 'breakdown'?"
    with pytest.raises(UsageError, match=re.escape(said)):
        draw("brakedown", THREE)


# --- A ladder of levers ---------------------------------------------------------------------------


LONG_LEVER = "a lever whose name is made of many words, some of them rather long"


def step(lever: str, way: str, lost: float, updates: float = 0.0, sets: str = "") -> dict:
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


LADDERS = {
    "three": pd.DataFrame(
        [
            step("as it is", "together", 0.4),
            step("publishing", "together", 0.35, sets="shutdown 5 min"),
            step(
                LONG_LEVER, "together", 0.2, sets=", ".join(f"{key} 30 min" for key in "abcdefgh")
            ),
            step("partial", "together", 0.03, 0.02, sets="cpr-vanilla, target_pls 0.02"),
            step("publishing", "alone", 0.35, sets="shutdown 5 min"),
            step(LONG_LEVER, "alone", 0.25),
            step("partial", "alone", 0.41, 0.02),
        ]
    ),
    "one": pd.DataFrame(
        [
            step("as it is", "together", 0.999),
            step("it", "together", 0.0),
            step("it", "alone", 0.0),
        ]
    ),
}


drawn_ladder = Drawn(ladder, {name: (table, "A job") for name, table in LADDERS.items()})


@pytest.mark.parametrize("name", LADDERS)
def test_bars_are_what_is_lost_by_cause_on_one_scale(name):
    figure, table = drawn_ladder(name), LADDERS[name]
    together, alone = figure.axes
    for axes, way in ((together, "together"), (alone, "alone")):
        shown = table[table["way"] == way]
        stacks = [each for each in axes.containers if each.get_label()[0] != "_"]
        assert {len(stack) for stack in stacks} == {len(shown)}
        ends = [sum(stack[i].get_width() for stack in stacks) for i in range(len(shown))]
        assert ends == pytest.approx((1 - shown["ett"]).tolist())
    assert together.get_xlim() == alone.get_xlim()


def test_points_are_of_the_row_above_and_of_the_job_as_it_is():
    texts = [[text.get_text() for text in axes.texts] for axes in drawn_ladder("three").axes]
    gains = [[t.split("  ")[1] for t in some if "  " in t] for some in texts]
    assert gains == [["+5.0", "+15.0", "+17.0"], ["+5.0", "+15.0", "-1.0"]]
    assert [t for t in texts[0] if t.startswith("loses")] == ["loses 2.00 % of the updates"]


def test_what_is_found():
    assert ladder_finding(LADDERS["three"]) == (
        "Effective training goes from 60.0 % to 97.0 %; alone, "
        f"{LONG_LEVER} gives back most: 15.0 points"
    )
    worse = pd.DataFrame(
        [step("as it is", "together", 0.1), step("it", "together", 0.2), step("it", "alone", 0.2)]
    )
    assert ladder_finding(worse) == "Effective training goes from 90.0 % to 80.0 %"
