"""Policies whose mechanism is switched off are simpler policies, to the last digit."""

from typing import Any

import pytest

from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate
from cprsim.testing import PolicyConformance
from tests.policies.by_hand import DIFFERENCES, JOB
from tests.policies.mixed import MIXED

Policy = dict[str, Any]
ROUGH = JOB | {
    "costs": {"save": "10 s", "load": "16 s", "reschedule": "50 s"},
    "failures": {"distribution": "weibull", "shape": 0.7, "mean": "200 s"},
}
#: A job by the name that cases give it.
JOBS: dict[str, dict[str, Any]] = {
    "rough": ROUGH,
    "rough, free saves": ROUGH | {"costs": ROUGH["costs"] | {"save": "0 s"}},
    "rough, long saves": ROUGH | DIFFERENCES,
    "rough, known rows": ROUGH
    | DIFFERENCES
    | {
        "job": {"useful_time": "1000 s", "samples": 10**9},
        "model": {"tables": [{"rows": 50, "dim": 8}, {"rows": 60, "dim": 8}]},
    },
    "nothing to wait for": JOB
    | {
        "cluster": {"parameter_servers": 8, "trainers": 4},
        "costs": {"save": "0 s", "load": "0 s", "reschedule": "0 s", "detect": "5 s"},
        "failures": {"distribution": "exponential", "mean": "200 s", "while_waiting": False},
    },
    "full cards": {
        "job": {"useful_time": "100 s", "network": "6 GB/s"},
        "model": {"embedding": "30 GB"},
        "cluster": {"parameter_servers": 3, "trainers": 4, "nic": "4 GB/s"},
        "storage": {"write": "100 GB/s", "read": "100 GB/s"},
        "failures": {
            "distribution": "exponential", "mean": "50 s", "hits": {"parameter_servers": 2}
        },
    },
    "a spare": {
        "job": {"useful_time": "20 h"},
        "cluster": {"parameter_servers": 8, "trainers": 4, "spares": 1},
        "costs": {"save": "5 min", "load": "40 min", "reschedule": "20 min", "detect": "7 s"},
        "failures": {"distribution": "exponential", "mean": "5 h"},
    },
    "mixed": MIXED,
    **PolicyConformance.conditions,
}  # fmt: skip
JOBS["a spare, nodes"] = JOBS["a spare"] | {
    "failures": {"distribution": "exponential", "mean": "60 h", "per": "node"}
}
FULL, ASYNC = {"system": "full"}, {"system": "async"}
TEN_S = ASYNC | {"interval": "10 s", "snapshot": "2 s"}
CHECKFREQ = TEN_S | {"interval": "checkfreq", "iteration": "1 s", "max_overhead": 0.2}
CHAIN = {
    "interval": "100 s", "snapshot": "2 s", "modified": 0.5, "growth": 0.0, "tracking": 0.0
}  # fmt: skip
WHOLE = {"system": "check-n-run", "bits": 32, "tracking": 0, "snapshot": "7 s", "interval": "45 s"}
LATE = ASYNC | {"snapshot": "7 s", "interval": "45 s"}
BARE = {"system": "ecrm", "two_phase_commit": False, "nn_replication": False, "parity": 0}
MIRRORED = BARE | {"parity": 1, "coding": 0.0, "resume": "0 s", "degraded": 0.0}
COPIES = {"system": "replication", "slowdown": 0.0, "takeover": "0 s"}
ONE_COPY = {"system": "replication", "copies": 1, "aggregation": 4, "takeover": "1 s"}
EXPERTS = {"system": "partial-experts", "experts": 6, "per_save": 6}
STEPS = {"iteration": "9 s", "stall": "0 s", "interval": "50 min"}
SWAP = {
    "system": "hot-swap",
    "iteration": "10 min",
    "spares": 0,
    "takeover": "0 s",
    "snapshot": "800.1 GB",  # all of the checkpoint, dense part and all
}


def tiered(**remote: Any) -> Policy:
    return {"system": "tiered", "remote": remote}


#: The job, the policy that is switched off, and the simpler one.
CASES: list[tuple[str, Policy, Policy]] = [
    (
        "nothing to wait for",
        {"system": "accepted-loss", "interval": "100 s"},
        {"system": "partial", "interval": "100 s"},
    ),
    ("rough", CHECKFREQ, TEN_S),
    ("rough, free saves", ASYNC | {"interval": "30 s"}, FULL | {"interval": "30 s"}),
    (
        "rough",
        ASYNC | {"interval": "30 s", "staging": "pinned", "snapshot": "6 s", "iteration": "1 s"},
        ASYNC | {"interval": "30 s", "snapshot": "5 s"},
    ),
    (
        "rough, long saves",
        {"system": "delta", "merge": "1 d"} | CHAIN,
        {"system": "check-n-run", "variant": "consecutive", "bits": 32} | CHAIN,
    ),
    *(
        case
        for variant in ("one-shot", "consecutive", "intermittent")
        for case in (
            ("rough, long saves", WHOLE | {"variant": variant, "modified": 1.0}, LATE),
            ("rough, known rows", WHOLE | {"variant": variant}, LATE),
        )
    ),
    *(
        (job, coded, simpler)
        for job in ("a spare", "a spare, nodes")
        for coded, simpler in (
            (BARE | {"interval": "2 h"}, FULL | {"interval": "2 h"}),
            (BARE | {"interval": "optimal"}, FULL),
            (MIRRORED, COPIES),
            (MIRRORED | {"interval": "2 h"}, COPIES | {"interval": "2 h"}),
        )
    ),
    *(
        ("full cards", ONE_COPY | {"interval": interval}, FULL | {"interval": interval})
        for interval in ("40 s", "optimal")
    ),
    ("mixed", EXPERTS | {"blocking": True}, FULL),
    ("mixed", EXPERTS | {"blocking": True, "interval": "50 min"}, FULL | {"interval": "50 min"}),
    ("mixed", EXPERTS | {"blocking": True, "dynamic": True}, FULL),
    ("mixed", EXPERTS | {"interval": "1 h"}, ASYNC | {"interval": "1 h"}),
    ("mixed", EXPERTS | {"snapshot": "20 s"}, ASYNC | {"snapshot": "20 s"}),
    ("mixed", tiered(), FULL),
    ("mixed", tiered(interval="50 min"), FULL | {"interval": "50 min"}),
    ("mixed", tiered(differential=0.1, base_every=1), FULL),
    ("mixed", tiered(differential=1.0, base_every=1), FULL),
    ("mixed", tiered(blocking=False), ASYNC),
    ("mixed", tiered(blocking=False, snapshot="20 s"), ASYNC | {"snapshot": "20 s"}),
    ("mixed", tiered(blocking=False, interval="5 min"), ASYNC | {"interval": "5 min"}),
    *(
        (job, SWAP, {"system": "peer-memory", "iteration": "10 min"})
        for job in ("exponential", "trainers", "shared links", "nodes")
    ),
    *(
        (
            job,
            {"system": "peer-memory", "copies": 1} | STEPS,
            ASYNC | {"snapshot": "0 s", "interval": "50 min"},
        )
        for job in ("exponential", "slow recovery", "shared links")
    ),
]


@pytest.mark.parametrize(
    ("job", "switched_off", "simpler"),
    CASES,
    ids=[f"{off['system']} | {job} {number}" for number, (job, off, _) in enumerate(CASES)],
)
def test_switched_off_it_is_simpler(job: str, switched_off: Policy, simpler: Policy) -> None:
    policies = {"off": switched_off, "simpler": simpler}
    found = simulate(Scenario(**JOBS[job] | {"policies": policies}), list(policies), range(10), 5)

    assert found[:, 0].tobytes() == found[:, 1].tobytes()
    assert found[:, 0, COLUMNS.index("failures")].max() > 0
