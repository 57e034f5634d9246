"""Oracles: the ledger of the run that is drawn, and the boxes that the renderer gives each text."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from cprsim.contract.ledger import CAUSES
from cprsim.figures.style import WIDTH_IN
from cprsim.figures.texts import percent
from cprsim.figures.timeline import COLOURS, timeline, timelines
from cprsim.scenario import Scenario
from cprsim.sim.history.recorder import History, record
from tests.by_hand import ASYNC, FULL, PARTIAL
from tests.figures.reading import boxes_apart, plain, rendered, texts_of
from tests.history.jobs import REPLICATION, played

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
    """What the bars of each colour in the lane that ends within reach take, seconds."""
    doings = {to_hex(colour): doing for doing, colour in COLOURS.items()}
    seconds: Counter[str] = Counter()
    for bars in axes.collections:
        boxes = [path.get_extents() for path in bars.get_paths()]
        if boxes and lane_in < boxes[0].y1 < lane_in + reach_in:
            seconds[doings[to_hex(bars.get_facecolor()[0])]] += sum(box.width for box in boxes)
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


def test_many_spans_are_drawn_by_the_pixel_and_keep_their_seconds() -> None:
    often = {"system": "full", "interval": "2 min"}
    history = record(job(20).with_values({"policies": {"full": often}}), "full")
    (axes,) = rendered(timeline(history)).axes
    seconds = seconds_drawn(axes, 0.0)

    assert len(history.phases) > 1040
    assert max(len(bars.get_paths()) for bars in axes.collections) <= 1040
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
    assert {0, 1, 2} <= {tick / 60 for tick in axes.get_xticks()}


def test_failures_are_marked_above_the_lanes_that_they_hit(tmp_path: Any) -> None:
    history = played(PARTIAL, tmp_path, (30.0, 1), (60.0, 4))
    axes, _ = drawn(timeline(history))
    marks = [sorted(line.get_xdata()) for line in axes.lines if len(line.get_xdata())]

    # job, trainers, server 1
    pixel_s = history.ledger.wall / (WIDTH_IN * 100)
    for found, expected in zip(marks, [[30.0, 60.0], [60.0], [30.0]], strict=True):
        assert found == pytest.approx(expected, abs=pixel_s)


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
    axes, texts = drawn(timelines(histories))
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
