"""What happens rarely, made to happen, each in a scenario of its own: played alike, bit for bit."""

from typing import Any

import pytest

from cprsim.machine import codes
from cprsim.scenario import Scenario
from tests.batch.compare import assert_alike

CLUSTER = {"parameter_servers": 6, "trainers": 3}
COSTS = {"save": "4 s", "load": "8 s", "reschedule": "15 s", "detect": "1 s"}
BY_LAW = {"distribution": "exponential", "mean": "60 s"}
JOB: dict[str, Any] = {
    "job": {"useful_time": "600 s", "samples": 10**7},
    "cluster": CLUSTER,
    "costs": COSTS,
    "failures": BY_LAW,
}
TABLE: dict[str, Any] = {"rows": 10**5, "dim": 16, "skew": {"zipf": 1.0}}
TABLES = {"model": {"tables": [TABLE]}}
#: Training that takes the whole of the servers' cards, to which saves and fills add.
CROWDED: dict[str, Any] = {
    "job": {"useful_time": "600 s", "network": "6 GB/s"},
    "model": {"embedding": "60 GB", "dense": "1 MB"},
    "cluster": CLUSTER | {"trainers": 6, "nic": "1 GB/s"},
    "storage": {"write": "5 GB/s", "read": "5 GB/s"},
    "costs": {"reschedule": "15 s"},
}


def job(policy: dict[str, Any], **tables: dict[str, Any]) -> dict[str, Any]:
    """The job above under that policy; these tables have other values, or more."""
    return JOB | tables | {"policies": {"it": policy}}


FULL = {"system": "full", "interval": "20 s"}
PARTIAL = FULL | {"system": "partial"}
ASYNC = {"system": "async", "interval": "12 s", "snapshot": "1 s"}
REPLICATION = {"system": "replication", "copies": 3, "interval": "100 s"}
ECRM = {"system": "ecrm", "parity": 2, "interval": "100 s", "resume": "2 s"}
MEMORY = {"system": "peer-memory", "iteration": "2 s", "interval": "50 s"}
SWAP = MEMORY | {"system": "hot-swap", "takeover": "4 s", "spares": 1}
CPR = {"system": "cpr-mfu", "interval": "60 s", "fraction": 0.25}
EXPERTS = {"system": "partial-experts", "experts": 8, "interval": "15 s", "snapshot": "1 s"}
NODES = {"distribution": "weibull", "shape": 0.7, "mean": "600 s", "per": "node"}
BURSTS = {"bursts": {"mean": "300 s", "rack": 3, "sizes": {"2": 1, "3": 1}}}
GRADED = {"severity": {"process": 0.4, "node": 0.4, "cluster": 0.2}}

#: By what happens in their runs.
CASES: dict[str, dict[str, Any]] = {
    "failures in a save": job(FULL),
    "failures in a load": job(FULL),
    "failures in a detect": job(PARTIAL, costs=COSTS | {"detect": "6 s"}),
    "failures in a reschedule": job(PARTIAL),
    "failures in a stall": job(ASYNC | {"snapshot": "8 s"}),
    "three in a row while loading": job(FULL, costs=COSTS | {"load": "50 s"}),
    "absorbed": job(FULL, failures={"exactly": 20, "while_waiting": False}),
    "failures with spares": job(FULL, cluster=CLUSTER | {"spares": 2}),
    "failures of several servers": job(PARTIAL, failures=NODES | BURSTS),
    "failures of severity cluster": job(FULL, failures=NODES | BURSTS | GRADED),
    "void saves": job(FULL, storage={"save_fails": 0.3}),
    "failed loads": job(PARTIAL, storage={"load_fails": 0.3}),
    "of an outage": job(FULL, storage={"outages": {"every": "40 s", "lasts": "3 s"}}),
    "runs with a last save": job(FULL, job=JOB["job"] | {"final_save": True}),
    "runs with a last save in the background": job(ASYNC, job=JOB["job"] | {"final_save": True}),
    "save at once": job(ASYNC | {"interval": "3 s", "in_flight": 3}, costs=COSTS | {"save": "8 s"}),
    "saves in the background given up": job(ASYNC),
    "saves rarer than at first": job(
        ASYNC | {"interval": "checkfreq", "iteration": "1 s", "max_overhead": 0.02}
    ),
    "runs at several paces": job(ASYNC) | CROWDED,
    "runs with saves at several paces": job(
        {"system": "accepted-loss", "interval": "30 s"}, failures=BY_LAW | {"mean": "30 s"}
    )
    | CROWDED,
    "load and save at once": job({"system": "accepted-loss", "interval": "12 s"}),
    "load and reschedule at once": job(REPLICATION, failures=BY_LAW | {"mean": "20 s"}),
    "load at once": job(REPLICATION, failures=BY_LAW | {"mean": "20 s"}),
    "reschedule at once": job(REPLICATION, failures=BY_LAW | {"mean": "20 s"}),
    "reschedules in the background given up": job(REPLICATION, failures=BY_LAW | {"mean": "20 s"}),
    "loads in the background given up": job(
        ECRM, failures=BY_LAW | {"mean": "20 s"}, costs=COSTS | {"load": "20 s"}
    ),
    "pauses until others serve": job(ECRM),
    "training goes on degraded": job(ECRM | {"degraded": 0.2}),
    "returns of all to memory": job(MEMORY, failures=BY_LAW | GRADED),
    "runs under a mirror": job(SWAP, failures=NODES | GRADED),
    "returns of all to local": job(
        {
            "system": "tiered",
            "local": {"interval": "5 s", "save": "0.5 s", "load": "1 s"},
            "peer": {"interval": "15 s", "save": "1 s", "load": "2 s"},
            "remote": {"interval": "60 s", "blocking": False, "snapshot": "1 s"},
        },
        failures=BY_LAW | GRADED,
    ),
    "Chains": job(
        {"system": "tiered", "remote": {"interval": "15 s", "differential": 0.3, "base_every": 3}}
    ),
    "Differences": job(
        {"system": "check-n-run", "interval": "12 s", "modified": 0.2, "snapshot": "1 s"}
    ),
    "healthy nodes return to fresher rows": job(EXPERTS | {"snapshot_experts": 4}),
    "more experts than at first": job(EXPERTS | {"dynamic": True, "plt_limit": 0.01}),
    "runs that lose learning": job(CPR, **TABLES),
    "runs that lose unequal shares": job(
        CPR, cluster=CLUSTER | {"updates": [1, 2, 3, 4, 5, 6]}, **TABLES
    ),
    "runs that leave unequal shares": job(
        CPR | {"system": "cpr-scar"},
        cluster=CLUSTER | {"updates": [1, 2, 3, 4, 5, 6]},
        model={"tables": [TABLE | {"updates": [1, 2, 3, 4, 5, 6]}], "gradient_directions": 2},
    ),
    "saves that are appended and merged": job(
        CPR | {"merge_after": 3, "writes": 0.6, "select": "0.2 s"},
        costs=COSTS | {"append": "1 s", "select": "0.5 s", "gather": "2 s", "save_fixed": "0.5 s"},
        **TABLES,
    ),
    "hopeless": job(FULL, costs=COSTS | {"load": "60 s"}, failures=BY_LAW | {"mean": "8 s"}),
}


@pytest.mark.parametrize("what", CASES)
def test_what_happens_rarely_is_played_alike(what: str) -> None:
    seen = assert_alike(Scenario(**CASES[what]), range(12))

    assert seen["failures"] > 0 or seen["hopeless"] == (what == "hopeless")


def test_what_is_drawn_at_first_need_not_be_enough() -> None:
    from cprsim.batch.engine import first_sizes

    silent = {"silent": {"distribution": "deterministic", "mean": "30 s"}}
    tables = job(
        PARTIAL | {"verify_every": 1},
        costs=COSTS | {"verify": "1 s"},
        failures=BY_LAW | {"mean": "25 s"} | silent,
    )
    seen = assert_alike(Scenario(**tables), range(2))

    assert seen["failures"] > 2 * first_sizes(Scenario(**tables))[codes.MORE_VICTIMS]
