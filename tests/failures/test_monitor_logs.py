"""Logs of what watches a cluster: Prometheus, and the kernel's log of NVIDIA's driver."""

import json
import math
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cprsim.failures.logs import monitors
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.readers import read_log

pytestmark = pytest.mark.usefixtures("folder")


def written(text: str, reader: str) -> FailureLog:
    Path("log").write_text(text)
    return read_log("log", reader)


# Prometheus


def samples(text: str, step: float = 30.0, zero: float = 1.7e9 + 0.123) -> list[list[object]]:
    """A sample each step: 0, 1, or none for a dot."""
    return [[zero + step * i, each] for i, each in enumerate(text) if each != "."]


def matrix(*texts: str, label: str = "instance") -> str:
    result = [
        {"metric": {label: f"n{number}"}, "values": samples(text)}
        for number, text in enumerate(texts)
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def outages(log: FailureLog) -> list[tuple[int, int, float]]:
    """Node, and steps at which each went down and was up again."""
    ends = np.round(log.repaired_s / 30, 6).tolist()
    starts = np.round(log.times_s / 30, 6).tolist()
    return list(zip(log.nodes.tolist(), starts, ends, strict=True))


def test_a_run_of_zeros_is_an_outage_until_the_next_one() -> None:
    log = written(matrix("1100111011", "1111111111", "1111111110"), "prometheus")

    assert outages(log)[:2] == [(0, 2, 4), (0, 7, 8)]
    assert (log.nodes[2], log.times_s[2] / 30) == (2, pytest.approx(9))
    assert np.isnan(log.repaired_s[2])
    assert (log.population, log.start_s, log.dropped) == (3, 0, {})
    assert log.span_s == log.until_s == pytest.approx(270)


def test_nodes_that_are_down_at_the_first_sample_have_not_failed() -> None:
    log = written(matrix("0011011", "1111111", "..00111"), "prometheus")

    assert outages(log) == [(0, 4, 5)]
    assert log.unused == {"outages under way when the record of their node begins": 2}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("11...1111111", []),  # three are missing: no more than they may
        ("11....111111", [(0, 2, 6)]),
        ("11....001111", [(0, 2, 8)]),
        ("1100....1111", [(0, 2, 8)]),
        ("1100..001111", [(0, 2, 8)]),
        ("....11111111", []),  # not there yet
        ("11111111....", []),  # it has left
        ("111111111...", []),
    ],
)
def test_missing_samples_are_an_outage(text: str, found: list) -> None:
    log = written(matrix(text, "111111111101"), "prometheus")

    assert outages(log)[:-1] == [pytest.approx(each, nan_ok=True) for each in found]
    assert outages(log)[-1] == (1, 10, 11)


def test_a_gap_that_all_series_share_is_that_of_prometheus() -> None:
    log = written(matrix("11.......11011", "11.......11111"), "prometheus")

    assert outages(log) == [(0, 11, 12)]
    assert log.unused == {"gaps that all series share": 1}


def test_a_node_that_is_missing_when_prometheus_is_back_was_down_from_then() -> None:
    log = written(matrix("11...........111", "11.....111111111"), "prometheus")

    assert outages(log) == [(0, 7, 13)]


def test_a_single_series_has_only_its_own_gaps() -> None:
    assert outages(written(matrix("11......1111"), "prometheus")) == [(0, 2, 8)]


def step_by_step(texts: list[str]) -> list[tuple[int, int, float]]:
    """Outages of aligned series, a step after the other; where nobody is seen for long, nothing."""
    asked = [step for step in range(len(texts[0])) if any(text[step] != "." for text in texts)]
    for before, after in pairwise(list(asked)):
        if after - before <= 4:  # Prometheus was there, if all nodes were missing
            asked += range(before + 1, after)
    found = []
    for node, text in enumerate(texts):
        states = {step: text[step] for step in sorted(asked)}
        for run in re.finditer(r"\.{4,}", seen := "".join(states.values())):
            steps = list(states)[slice(*run.span())]
            states |= dict.fromkeys(steps, "0" if seen[: run.start()].strip(".") else ".")
        known = [(step, state) for step, state in states.items() if state != "."]
        for (_, before), (step, state) in pairwise(known):
            if before == "1" and state == "0":
                ups = [later for later, up in known if later > step and up == "1"]
                found.append((step, node, ups[0] if ups else math.inf))
    return [(node, step, end) for step, node, end in sorted(found)]


def test_outages_are_those_that_one_finds_step_by_step() -> None:
    rng, compared = np.random.default_rng(3), 0
    for _ in range(300):
        texts = [
            "".join(str(state) * int(rng.integers(1, 7)) for state in rng.choice(list("10.1"), 12))
            for _ in range(3)
        ]
        width = min(len(text) for text in texts)
        texts = [f"1{text[: width - 2]}1" for text in texts]
        expected = step_by_step(texts)
        if not expected:
            continue
        found = outages(written(matrix(*texts), "prometheus"))
        assert [tuple(np.nan_to_num(each, nan=math.inf)) for each in found] == expected, texts
        compared += 1
    assert compared > 250


def test_the_label_of_a_node_goes_before_that_of_its_exporter() -> None:
    series = [
        {"metric": {"instance": "10.0.0.1:8080", "node": node}, "values": samples(text)}
        for node, text in (("a", "1101"), ("b", "1110"))
    ]
    text = json.dumps({"data": {"resultType": "matrix", "result": series}})

    assert written(text, "prometheus").population == 2


# Xid


def line(time: str, host: str, code: int) -> str:
    return f"{time} {host} kernel: NVRM: Xid (PCI:0000:3b:00): {code}, pid=12, text\n"


@pytest.mark.parametrize(
    "text",
    [
        line("2024-03-01T12:00:00.123456+00:00", "gpu1", 79),
        line("2024-03-01T13:00:00.123456+0100", "gpu1", 79),
        line("2024-03-01T12:00:00,123456Z", "gpu1", 79),
        line("2024-03-01T12:00:00.123456789Z", "gpu1", 79),
        "<4>1 2024-03-01T12:00:00.123456Z gpu1 kernel - - - NVRM: Xid (0000:3b:00): 79, gone\n",
        "2024-03-01T12:00:00.123456Z gpu1 kernel: [ 12.345] NVRM: Xid (PCI:0000:3b:00): 79\n",
    ],
)
def test_an_xid_line_as_syslogs_write_it(text: str) -> None:
    log = written(text + line("2024-03-01T12:00:10.123456Z", "gpu2", 48), "xid")

    assert log.times_s.tolist() == pytest.approx([0, 10], abs=1e-5)
    assert log.nodes.tolist() == [0, 1]
    assert log.causes == ("Xid 79", "Xid 48")
    assert (log.repaired_s, log.population, log.dropped) == (None, None, {})


def test_xids_without_zones_are_sorted_and_watched_to_the_last_line() -> None:
    text = line("2024-03-01T13:00:00", "b", 74) + line("2024-03-01T12:00:00", "a", 95)
    text += "a line of something else\n2024-03-01T15:00:00 a kernel: hello\n"

    log = written(text, "xid")

    assert (log.times_s.tolist(), log.nodes.tolist()) == ([0, 3600], [1, 0])
    assert (log.span_s, log.until_s) == (3600, 3 * 3600)


def test_codes_that_are_no_failures_are_counted() -> None:
    codes = [13, 79, 31, 13, 43, 45, 63, 92, 94]
    text = "".join(line(f"2024-03-01T12:{2 * i:02}:00", "a", code) for i, code in enumerate(codes))

    log = written(text, "xid")

    assert log.causes == ("Xid 79", "Xid 94")
    assert log.dropped == {
        f"lines of Xid {code}": count
        for code, count in Counter(codes).items()
        if code not in monitors.FAILURES
    }
