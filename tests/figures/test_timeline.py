"""Oracles: the ledger of the run that is drawn, and the boxes that the renderer gives each text."""

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.text import Text

from cprsim.contract.ledger import CAUSES
from cprsim.figures import save_bytes
from cprsim.figures.parts.lanes import COLOURS
from cprsim.figures.parts.style import CAUSE_COLOURS, WIDTH_IN
from cprsim.figures.parts.texts import duration, percent
from cprsim.figures.parts.thinning import BarBlock, merged
from cprsim.figures.timeline import timeline, timelines
from cprsim.history.recorder import History, record
from cprsim.scenario import Scenario
from tests.figures.reading import boxes_apart, plain, rendered, texts_of
from tests.history.jobs import ASYNC, FULL, PARTIAL, REPLICATION, played

POLICIES: dict[str, Any] = {
    "full": {"system": "full", "interval": "1 h"},
    "cpr": {"system": "cpr-vanilla", "interval": "3 h"},
    "async": {"system": "async", "interval": "20 min", "snapshot": "30 s"},
    "accepted-loss": {"system": "accepted-loss", "interval": "6 h", "snapshot": "1 s"},
}


def job(failures: int) -> Scenario:
    """Two days on 1,000 servers."""
    return Scenario(
        job={"useful_time": "2 d"},
        cluster={"parameter_servers": 1000, "trainers": 100},
        costs={"save": "2 min", "load": "1 min", "reschedule": "90 s", "detect": "10 s"},
        failures={"exactly": failures},
        policies=POLICIES,
    )


def drawn(figure: Figure) -> tuple[Axes, list[Text]]:
    """The axes, and all texts that can be seen, none of which touches another."""
    (axes,) = rendered(figure).axes
    boxes_apart(figure)
    return axes, texts_of(figure)


def said_in(texts: list[Text]) -> list[str]:
    """Each line of the texts."""
    found = [plain(line) for text in texts for line in text.get_text().split("\n")]
    return [*found, *(plain(text.get_text()) for text in texts)]


def seconds_drawn(axes: Axes, lane_in: float, reach_in: float = 0.25) -> dict[str, float]:
    """What the area of each colour in the lane that ends within reach stands for, seconds."""
    doings = {to_hex(colour): doing for doing, colour in COLOURS.items()}
    seconds: Counter[str] = Counter()
    for patch in axes.artists + axes.patches:
        if not isinstance(patch, PathPatch):
            continue
        box = patch.get_path().vertices.reshape(-1, 5, 2)
        bottom_in = box[:, 0, 1].max()
        if not lane_in < bottom_in < lane_in + reach_in:
            continue
        width_s, height_in = box[:, 1, 0] - box[:, 0, 0], box[:, 0, 1] - box[:, 2, 1]
        area = float((width_s * height_in).sum())
        seconds[doings[to_hex(patch.get_facecolor())]] += area / 0.15
    return dict(seconds)


@pytest.mark.parametrize("failures", [0, 2, 200])
@pytest.mark.parametrize("policy", POLICIES)
def test_areas_of_the_job_are_the_ledger(failures: int, policy: str) -> None:
    history = record(job(failures), policy)
    axes, _ = drawn(timeline(history, "Two days on a thousand servers"))
    # Where failures are counted, the lane's name is higher.
    seconds = seconds_drawn(axes, 0.0, 0.45 if failures == 200 else 0.25)

    assert axes.get_xlim() == (0, history.ledger.wall)
    for cause in CAUSES:
        assert seconds.get(cause, 0.0) == pytest.approx(getattr(history.ledger, cause), abs=1e-3)


def test_the_legend_tells_seconds_by_cause_and_the_axis_its_unit(tmp_path: Any) -> None:
    history = played(FULL, tmp_path, (60.0, 1))
    axes, texts = drawn(timeline(history, "A job worked by hand"))
    words = said_in(texts)

    assert {
        "1 failure: 2.13 min of training take 2.98 min under it",
        "training 2.13 min",
        "saving 24 s",
        "lost computation 20 s",
        "detection 1 s",
        "rescheduling 2 s",
        "loading 4 s",
        "waiting",
        "job",
        "2 trainers",
        "3 other servers",
        "server 1",
        "wall-clock time, min",
    } <= set(words)
    assert "A job worked by hand; seed 0, replication 0" in words
    assert [tick / 60 for tick in axes.get_xticks()] == [0, 1, 2]


def test_failures_are_marked_above_the_lanes_that_they_hit(tmp_path: Any) -> None:
    history = played(PARTIAL, tmp_path, (30.0, 1), (60.0, 4))
    axes, _ = drawn(timeline(history))
    marks = [sorted(line.get_xdata()) for line in axes.lines if len(line.get_xdata())]

    # job, trainers, server 1
    pixel_s = history.ledger.wall / (WIDTH_IN * 100)
    for found, expected in zip(marks, [[30.0, 60.0], [60.0], [30.0]], strict=True):
        assert found == pytest.approx(expected, abs=pixel_s)


def test_failures_that_would_run_into_each_other_are_counted() -> None:
    history = record(job(200), "full")
    axes, texts = drawn(timeline(history))
    at_s = np.array([each.at_s for each in history.failures])
    heights = [bar.get_height() for bar in axes.patches if isinstance(bar, Rectangle)]
    heights = [-each for each in heights if each < 0]
    bins = 130
    counts, edges_s = np.histogram(at_s, bins=bins, range=(0, history.ledger.wall))

    job_lane = np.array(heights[: np.count_nonzero(counts)])
    assert job_lane / job_lane.max() == pytest.approx(counts[counts > 0] / counts.max())
    words = said_in(texts)
    assert f"{len(at_s)} failures" in words
    assert f"most: {counts.max()} in {duration(edges_s[1])}" in words


def test_what_is_said_of_counts_is_what_is_drawn_where_runs_end_at_different_times() -> None:
    histories = [record(job(200), policy) for policy in ("full", "accepted-loss")]
    walls = [each.ledger.wall for each in histories]
    _, texts = drawn(timelines(histories))
    assert walls[0] > 1.1 * walls[1]
    bins = 130
    words = said_in(texts)
    for each in histories:
        at_s = [failure.at_s for failure in each.failures]
        counts, edges_s = np.histogram(at_s, bins=bins, range=(0, max(walls)))
        assert f"most: {counts.max()} in {duration(edges_s[1])}" in words


def test_a_thousand_servers_need_no_thousand_lanes() -> None:
    few = timeline(record(job(2), "full"))
    many = timeline(record(job(200), "full"))

    assert many.get_figheight() < 6.3
    assert few.get_figwidth() == many.get_figwidth() == WIDTH_IN
    _, texts = drawn(many)
    assert sum(text.get_text().startswith("server ") for text in texts) == 12
    assert "988 other servers" in said_in(texts)


def test_background_tasks_have_lanes_of_their_own(tmp_path: Any) -> None:
    # What the legend tells without seconds, the job itself did not wait for.
    for policy, *names in (
        (ASYNC, "saves to remote", "saving"),
        (REPLICATION, "rebuilds", "rescheduling", "loading"),
    ):
        _, texts = drawn(timeline(played(policy, tmp_path, (60.0, 1))))
        assert set(names) <= {*said_in(texts)}


@pytest.mark.parametrize("failures", [2, 200])
def test_runs_under_several_policies_share_one_axis(failures: int) -> None:
    scenario = job(failures)
    histories: list[History] = [record(scenario, name) for name in POLICIES]
    axes, texts = drawn(timelines(histories, "Two days"))
    words = said_in(texts)

    assert axes.get_xlim()[1] == max(each.ledger.wall for each in histories)
    assert [word for word in words if word in POLICIES] == list(POLICIES)
    for each in histories:
        assert f"{percent(each.ledger.wall / each.ledger.train - 1)} overhead" in words


def test_long_names_touch_nothing(tmp_path: Any) -> None:
    history = played(ASYNC, tmp_path, (60.0, 1))
    tiers = [f"a tier with a name that takes several lines, number {i}" for i in range(2)]
    background = [
        each._replace(task=each.task._replace(tier=tiers[i % 2]))
        for i, each in enumerate(history.background)
    ]
    history = replace(history, policy="a-policy-with-a-name-" * 4, background=background)

    drawn(timeline(history, "A title that goes on and on " * 8))
    drawn(timelines([history] * 3))


def test_causes_have_the_colours_of_the_breakdown() -> None:
    assert {cause: COLOURS[cause] for cause in CAUSE_COLOURS} == CAUSE_COLOURS


def test_the_same_run_gives_the_same_bytes(tmp_path: Any) -> None:
    history = played(FULL, tmp_path, (60.0, 1))
    for format in ("png", "svg", "pdf"):
        first, second = (save_bytes(timeline(history, "$x_1$ \u00e9"), format) for _ in range(2))
        assert first == second


# --- Thinning ---


def test_short_blocks_are_merged_and_long_ones_are_not() -> None:
    def block(start: float, end: float, kind: str) -> BarBlock:
        return BarBlock(start, end, {kind: end - start})

    blocks = [block(0, 5, "a"), block(5, 5.5, "b"), block(5.5, 6, "a"), block(6, 6.5, "b")]
    after = [block(6.5, 9, "a"), block(9, 9.2, "b"), block(12, 12.2, "b")]

    assert merged([*blocks, *after], 1.0) == [
        blocks[0],
        BarBlock(5, 6, {"b": 0.5, "a": 0.5}),  # as long as the least: it takes in no more
        blocks[3],
        *after,  # a gap is no part of a block
    ]


@given(
    st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0.0, 0.5), st.sampled_from("abc"))),
    st.floats(0.1, 2.0),
)
def test_merging_keeps_amounts_and_order(
    parts: list[tuple[float, float, str]], least: float
) -> None:
    at, blocks = 0.0, []
    for length, gap, kind in parts:
        blocks.append(BarBlock(at, at + length, {kind: length}))
        at += length + gap
    found = merged(blocks, least)

    for kind in "abc":
        total = sum(b.amounts.get(kind, 0.0) for b in blocks)
        assert sum(b.amounts.get(kind, 0.0) for b in found) == pytest.approx(total)
    for one, other in itertools.pairwise(found):
        assert one.end <= other.start
    for each in found:
        assert sum(each.amounts.values()) <= (each.end - each.start) * (1 + 1e-9)
        # Less than the least before the last, which is shorter than that, and the gap between.
        assert len(each.amounts) == 1 or each.end - each.start < 2 * least + 0.5
