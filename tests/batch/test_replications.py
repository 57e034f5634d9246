"""What a replication gives depends on its number and the seed alone."""

from pathlib import Path

import numpy as np
import pytest

from cprsim.batch import engine as batch
from cprsim.scenario import Scenario
from tests.batch.compare import Values

LAWS = {
    "job": {"distribution": "gamma", "shape": 0.7, "mean": "5 h"},
    "node": {"distribution": "weibull", "shape": 0.7, "mean": "20 h", "per": "node"},
    "frailty": {
        "distribution": "weibull",
        "shape": 0.7,
        "mean": "20 h",
        "per": "node",
        "frailty": 1.5,
        "frailty_of": "machine",
    },
    "bursts": {
        "distribution": "exponential",
        "mean": "30 h",
        "per": "node",
        "bursts": {"mean": "40 h", "rack": 3, "sizes": {"2": 1, "3": 1}},
        "severity": {"process": 0.5, "node": 0.4, "cluster": 0.1},
    },
    "exactly": {"exactly": 6},
    "trace": {"trace": "log", "severity": {"node": 0.8, "cluster": 0.2}},
    "system": {"trace": "system", "reader": "lanl", "system": 8},
}
by_every_law = pytest.mark.parametrize("failures", LAWS)


@pytest.fixture
def scenario(tmp_path: Path, failures: str) -> Scenario:
    rows = [f"{3600.0 * i + 7 * i * i},{i % 6}\n" for i in range(1, 20)]
    (tmp_path / "log").write_text("time_s,node\n" + "".join(rows), encoding="utf-8")
    rows = [f"8,8,{i % 8},1/{1 + i // 4}/2004 {5 * i % 24}:{10 + i},\n" for i in range(40)]
    header = "System,nodes,nodenumz,Prob Started,Prob Fixed\n"
    (tmp_path / "system").write_text(header + "".join(rows), encoding="utf-8")
    law = dict(LAWS[failures])
    if "trace" in law:
        law["trace"] = str(tmp_path / str(law["trace"]))
    return Scenario(
        job={"useful_time": "30 h", "final_save": True},
        cluster={"parameter_servers": 4, "trainers": 2, "spares": 1},
        costs={
            "save": "5 min",
            "load": "20 min",
            "reschedule": {"distribution": "lognormal", "mean": "20 min", "cv": 1.5},
        },
        failures=law,
        storage={"save_fails": 0.05, "outages": {"every": "20 h", "lasts": "10 min"}},
        policies={
            "full": {"system": "full", "interval": "2 h"},
            "partial": {"system": "partial", "interval": "2 h"},
            "replication": {"system": "replication", "copies": 2, "interval": "5 h"},
            "async": {"system": "async", "interval": "1 h", "snapshot": "1 min", "in_flight": 2},
            "tiered": {
                "system": "tiered",
                "local": {"interval": "1 h", "save": "1 min", "load": "1 min"},
                "remote": {"interval": "4 h", "differential": 0.3, "base_every": 3},
            },
            "swap": {"system": "hot-swap", "iteration": "2 min", "interval": "3 h"},
        },
    )


def played(scenario: Scenario, replications: list[int]) -> Values:
    return batch.simulate(scenario, list(scenario.policies), replications, 3)


@by_every_law
def test_a_replication_is_the_same_whatever_others_are_asked_for(scenario: Scenario) -> None:
    numbers = [0, 1, 2, 255, 256, 257, 700, 1000]
    together = played(scenario, numbers)

    assert len(np.unique(together[:, 0], axis=0)) > len(numbers) / 2
    backwards = played(scenario, numbers[::-1])[::-1]
    assert backwards.tobytes() == together.tobytes()
    for number, row in zip(numbers, together, strict=True):
        assert played(scenario, [number])[0].tobytes() == row.tobytes(), number
    twice = played(scenario, [1000, 2, 1000])
    assert twice[0].tobytes() == twice[2].tobytes() == together[-1].tobytes()


@by_every_law
def test_policies_leave_each_other_alone(scenario: Scenario) -> None:
    together = played(scenario, [5, 6])
    for place, policy in enumerate(scenario.policies):
        alone = batch.simulate(scenario, [policy], [5, 6], 3)
        assert alone[:, 0].tobytes() == together[:, place].tobytes()
    backwards = batch.simulate(scenario, list(scenario.policies)[::-1], [5, 6], 3)
    assert backwards[:, ::-1].tobytes() == together.tobytes()
