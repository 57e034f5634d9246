"""Machines that fail again and again, failure by failure, by the numbers that are drawn."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cprsim.machine import offenders
from cprsim.machine.draws_row import DrawsRow
from cprsim.machine.node_lists import COUNT, FIRST, FIXED, STRUCK
from cprsim.machine.run_rows import NodeRow
from cprsim.scenario import Scenario
from cprsim.sim.engine import play

USEFUL_H, NODES = 300.0, 6
CASES: dict[str, dict[str, float]] = {
    "cured at once": {"share": 0.5, "times": 6.0},
    "cured at last": {"share": 0.5, "times": 6.0, "cured": 0.4},
    "misdiagnosed": {"share": 0.5, "times": 6.0, "cured": 0.7, "misdiagnosed": 0.5},
    "retired": {"share": 0.5, "times": 6.0, "cured": 0.0, "retired_after": 2},
    "all of it": {
        "share": 0.5,
        "times": 9.0,
        "cured": 0.3,
        "misdiagnosed": 0.2,
        "retired_after": 2,
    },
}


def job(case: dict[str, float], load: str, processes: float) -> Scenario:
    """Nothing takes time but loads, in which failures are masked; so many failures restart."""
    severity = {"severity": {"process": processes, "node": 1 - processes}} if processes else {}
    return Scenario(
        job={"useful_time": f"{USEFUL_H} h"},
        cluster={"parameter_servers": NODES},
        costs={"save": "0 s", "load": load, "reschedule": "0 s", "detect": "0 s"}
        | ({"restart": "0 s"} if processes else {}),
        failures={
            "distribution": "exponential",
            "mean": "60 h",
            "per": "node",
            "during_recovery": False,
            "offenders": case,
        }
        | severity,
        policies={"it": {"system": "partial", "interval": "1000 h"}},
    )


def by_hand(scenario: Scenario, case: dict[str, float], load_h: float) -> tuple[int, int]:
    """Failures, and those of them that are masked."""
    drawn: Any = scenario.failure_model.process.cohort(0, 0, None)
    numbers = [drawn.states(each)[0] for each in range(200)]
    lives_h = [drawn.generation(each)[0] / 3600 for each in range(200)]
    restarts = np.zeros(2000, bool)
    if drawn.severities is not None:
        restarts = drawn.severities.of_failures(np.array([0]), 2000)[0] == 0
    machines = [number < case["share"] for number in numbers[0]]
    repairs, placed = [0] * NODES, [0] * NODES
    ends_h = [lives_h[0][i] / (case["times"] if machines[i] else 1) for i in range(NODES)]
    missed = case.get("misdiagnosed", 0.0)

    def place(i: int, at_h: float, repaired: bool) -> None:
        placed[i] += 1
        number = numbers[placed[i]][i]
        if repaired and number >= missed:
            number, repairs[i] = (number - missed) / (1 - missed), repairs[i] + 1
            if repairs[i] == case.get("retired_after"):
                machines[i], repairs[i] = number < case["share"], 0
            elif number < case.get("cured", 1.0):
                machines[i] = False
        life_h = lives_h[placed[i]][i]
        ends_h[i] = at_h + (life_h / case["times"] if machines[i] else life_h)

    failures = masked = 0
    while (now_h := min(ends_h)) - failures * load_h < USEFUL_H:
        place(ends_h.index(now_h), now_h, not restarts[failures])
        failures += 1
        while (at_h := min(ends_h)) < now_h + load_h:
            masked += 1
            place(ends_h.index(at_h), now_h + load_h, repaired=False)
    return failures, masked


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("load_h", "processes"), [(0.0, 0.0), (0.0, 0.5), (4.0, 0.0), (4.0, 0.5)])
def test_failures_by_hand(case: str, load_h: float, processes: float) -> None:
    scenario = job(CASES[case], f"{load_h} h", processes)
    ledger = play(scenario, "it", 0, 0)

    assert (ledger.failures, ledger.absorbed) == by_hand(scenario, CASES[case], load_h)
    assert ledger.failures > 20
    assert (ledger.absorbed > 0) == (load_h > 0)


@pytest.mark.parametrize(
    ("cures", "repaired"),
    [
        ([True], False),
        ([False], True),
        ([True, True], False),
        ([True, False], True),  # a burst takes a node whose process restarts
        ([False, True], True),  # a machine that is to be replaced stays none
    ],
)
def test_a_machine_is_repaired_if_one_failure_of_its_node_replaces_it(
    cures: list[bool], repaired: bool
) -> None:
    lists = [[0] * (FIRST + 1) for _ in range(FIXED)]
    lists[STRUCK][COUNT] = 1
    job: Any = SimpleNamespace(
        lists=lists,
        nodes=[NodeRow()],
        draws=DrawsRow(states=0, life_count=9, life_stride=1, bad_share=1.0, cured=1.0),
        numbers=[0.5] * 9,
    )
    offenders.begin(job, 0)
    assert job.nodes[0].bad
    for in_place in cures:
        offenders.strike(job, STRUCK, in_place)
    job.nodes[0].generation += 1
    offenders.repair(job, 0)
    assert job.nodes[0].bad != repaired
    # One that is drained before it fails is repaired, too.
    job.nodes[0].bad = True
    job.nodes[0].generation += 1
    offenders.repair(job, 0)
    assert not job.nodes[0].bad
