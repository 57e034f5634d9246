"""Logs of what watches a cluster: Prometheus, and the kernel's log of NVIDIA's driver."""

import json
import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

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


@pytest.mark.slow
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


# Xid
