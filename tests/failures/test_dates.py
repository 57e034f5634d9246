"""Logs that tell the date of their times: windows by dates, whatever the format."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.errors import LogError, ScenarioError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import Dates, parse_window
from cprsim.failures.model import FailureModel
from cprsim.failures.spec import Failures
from cprsim.job.platform import Cluster
from cprsim.job.workload import Job

HOUR_S, DAY_S = 3600.0, 86_400.0
START = datetime(2025, 3, 1, 6, tzinfo=UTC).timestamp()

pytestmark = pytest.mark.usefixtures("folder")


def daily(days: int = 10, **more: object) -> FailureLog:
    """A failure at 6:00 each day from 2025-03-01 on, each repaired after an hour."""
    times = DAY_S * np.arange(days)
    told = {"repaired_s": times + HOUR_S, "unix_s": START} | more
    return FailureLog(times, np.arange(days), 0.0, float(times[-1]), **told)


def cut(log: FailureLog, window: str) -> FailureLog:
    return log.part(parse_window(window))


@pytest.mark.parametrize(
    ("window", "nodes", "began_h", "span_h"),
    [
        ("2025-03-03:2025-03-05", [2, 3], 42, 48),
        ("2025-03-08:", [7, 8, 9], 162, 54),
        (":2025-03-03", [0, 1], 0, 42),
        ("2025-03-01:2025-03-11", list(range(10)), 0, 216),
        ("2025-03-10:2025-03-11", [9], 210, 6),
    ],
)
def test_dates_take_whole_days_on_a_clock_of_their_own(window, nodes, began_h, span_h):
    log = daily()

    part = cut(log, window)

    assert part.nodes.tolist() == nodes
    assert (part.start_s, part.span_s) == (0, span_h * HOUR_S)
    assert part.unix_s == START + began_h * HOUR_S
    assert (part.unix_s + part.times_s).tolist() == (START + log.times_s[nodes]).tolist()
    assert (part.repaired_s - part.times_s).tolist() == [HOUR_S] * len(nodes)
    outside = {"failures outside the window": 10 - len(nodes)} if len(nodes) < 10 else {}
    assert part.unused == outside


def test_windows_that_meet_share_no_failure_and_lose_none():
    log = daily(until_s=DAY_S * 12)
    parts = [cut(log, text) for text in (":2025-03-04", "2025-03-04:2025-03-09", "2025-03-09:")]
    assert np.concatenate([part.nodes for part in parts]).tolist() == list(range(10))
    # Nodes are watched until the window ends, or the log's own watch does.
    assert [part.until_s / HOUR_S for part in parts] == [66, 120, 288 - 186]


def test_shares_keep_the_date_too():
    assert daily(11).part((0.5, 1)).unix_s == START + 5 * DAY_S


@pytest.mark.parametrize(
    "window",
    [
        "2025-02-28:",
        ":2025-03-01",
        ":2025-03-12",
        "2025-03-11:",
        "2025-02-01:2025-03-05",
        "2024-03-02:2024-03-05",
    ],
)
def test_a_date_outside_the_log_is_refused(window):
    with pytest.raises(LogError) as caught:
        cut(daily(), window)
    assert str(caught.value) == (
        f"window {window} is not within the log, which goes from 2025-03-01 to 2025-03-10; take "
        "dates of these, or leave one out, e.g. 2025-03-01:"
    )


@pytest.mark.parametrize("window", ["2025-03-03:2025-03-05", "2025-03-08:", ":2025-03-03"])
def test_dates_as_shares_take_the_same_failures(window):
    log = daily()
    first, last = log.shares_of(parse_window(window))
    assert log.part((first, last)).nodes.tolist() == cut(log, window).nodes.tolist()


def hosts(count: int = 60) -> str:
    """A CSV log of a failure each six hours."""
    rows = (
        f"{datetime.fromtimestamp(START + 6 * HOUR_S * i, UTC).isoformat()},{i % 4},ps\n"
        for i in range(count)
    )
    Path("log.csv").write_text("time,node,kind\n" + "".join(rows))
    return "log.csv"


def test_fit_takes_dates_and_its_block_has_them():
    rng = np.random.default_rng(1)
    at = START + np.cumsum(rng.gamma(0.7, 4 * HOUR_S, 300))
    Path("log.csv").write_text(
        "time,node\n" + "".join(f"{t:.3f},{i % 4}\n" for i, t in enumerate(at))
    )

    fitted = cprsim.fit("log.csv", window="2025-03-05:2025-03-20", coalesce="1 s")

    assert fitted.document()["window"] == ["2025-03-05", "2025-03-20"]
    assert str(fitted.source).startswith("log.csv, window 2025-03-05:2025-03-20, coalesced")
    assert cprsim.fit("log.csv", window="2025-03-05:").document()["window"] == ["2025-03-05", None]
    from cprsim.fitting.block import log_keys

    assert log_keys(fitted)["window"] == "2025-03-05:2025-03-20"


def model_of(window: str) -> FailureModel:
    spec = Failures(trace=hosts(), window=window)
    return FailureModel(spec, Cluster(parameter_servers=4, trainers=1), Job(useful_time="1 d"))


def test_a_scenario_replays_dates():
    assert Failures(trace="x", window="2025-03-02:").mapping()["window"] == "2025-03-02:"
    assert Failures(trace="x", window="2025-03-02:").window == Dates(
        datetime(2025, 3, 2).date(), None
    )
    model = model_of("2025-03-02:2025-03-04")
    model.check()
    timeline = model.timeline(0, 0)
    assert timeline is not None
    assert model.mtbf_s == pytest.approx(6 * HOUR_S, rel=0.2)
    with pytest.raises(ScenarioError) as caught:
        model_of("2026-03-02:").check()
    assert str(caught.value) == (
        "failures.trace: window 2026-03-02: is not within the log, which goes from 2025-03-01 to "
        "2025-03-16; take dates of these, or leave one out, e.g. 2025-03-01:"
    )
