"""Oracles: the rules of the trace-event format, and the ledger."""

import gzip
import itertools
import json
import math
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.contract.ledger import CAUSES
from cprsim.scenario import Scenario
from cprsim.sim.history.phases import WORDS
from cprsim.sim.history.recorder import record
from cprsim.sim.history.trace_events import trace_json
from tests.by_hand import FULL
from tests.drawn import scenarios
from tests.history.jobs import REPLICATION, played

NS = 1e-3  # in microseconds


def document(history) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(gzip.decompress(trace_json(history, "a title")))
    return loaded


def spans(events) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Complete events by process and thread, in order of time."""
    found = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            found[event["pid"], event["tid"]].append(event)
    return {lane: sorted(some, key=lambda e: (e["ts"], e["dur"])) for lane, some in found.items()}


def check(trace: dict[str, Any]) -> None:
    """What makes a trace sound: known events, named lanes, and no span over another."""
    events = trace["traceEvents"]
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    processes = {e["pid"] for e in events if e["name"] == "process_name"}
    for event in events:
        assert event["ph"] in ("M", "X", "i")
        assert event["ph"] == "M" or (event["pid"], event["tid"]) in named
        assert event["pid"] in processes
    for lane in spans(events).values():
        for span, following in itertools.pairwise(lane):
            # Microseconds of a run of months have no digits for a nanosecond.
            room = max(NS / 2, 2 * math.ulp(following["ts"]))
            assert span["ts"] + span["dur"] <= following["ts"] + room, (span, following)
        assert all(span["ts"] >= 0 and span["dur"] >= 0 for span in lane)


def test_a_trace_by_hand(tmp_path):
    trace = document(played(FULL, tmp_path, (60.0, 1)))
    check(trace)
    events = trace["traceEvents"]
    job = [(e["name"], e["ts"], e["dur"]) for e in spans(events)[1, 1]]

    assert job[:4] == [
        ("training", 0.0, 32e6),
        ("saving", 32e6, 8e6),
        ("lost computation", 40e6, 20e6),
        ("detection", 60e6, 1e6),
    ]
    (failure,) = (e for e in events if e["ph"] == "i")
    assert (failure["ts"], failure["s"]) == (60e6, "g")
    assert failure["args"] == {
        "servers": [1],
        "trainers": [],
        "severity": "node",
        "rolls_back": "all",
        "source": "remote",
    }
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {"job", "2 trainers", "3 other servers", "server 1"}
    assert trace["otherData"]["ledger"]["lost"] == 20.0


def test_rebuilds_lie_in_a_group_of_their_own(tmp_path):
    trace = document(played(REPLICATION, tmp_path, (60.0, 1)))
    check(trace)
    found = [(e["name"], e["ts"], e["args"]["servers"]) for e in spans(trace["traceEvents"])[3, 1]]

    assert found == [("rescheduling", 61e6, [1]), ("loading", 63e6, [1])]


def test_the_same_run_gives_the_same_bytes(tmp_path):
    first, second = (played(FULL, tmp_path, (60.0, 1)) for _ in range(2))

    assert trace_json(first, "a title") == trace_json(second, "a title")
    assert trace_json(first, "a title")[4:8] == bytes(4)  # gzip's time


@given(scenarios(), st.integers(0, 9))
def test_spans_are_sound_and_the_job_equals_the_ledger(tables: dict[str, Any], seed: int) -> None:
    scenario = Scenario(**tables)
    for name in scenario.policies:
        history = record(scenario, name, seed)
        trace = document(history)
        check(trace)
        seconds = dict.fromkeys(WORDS, 0.0)
        job = spans(trace["traceEvents"])[1, 1]
        for span in job:
            seconds[span["cat"]] += span["dur"] / 1e6
        for cause in CAUSES:
            expected = getattr(history.ledger, cause)
            # A slowdown of less than a microsecond a phase is taken for rounding.
            room = 1e-6 * (1 + len(job))
            assert seconds[cause] == pytest.approx(expected, abs=room, rel=1e-12)
