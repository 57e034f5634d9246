"""A short job, and how tests write about sweeps of it."""

import cprsim

SCENARIO = {
    "title": "a short job",
    "job": {"useful_time": "2 d"},
    "model": {"embedding": "1 TB"},
    "cluster": {"trainers": 8, "parameter_servers": 8},
    "costs": {"save": "5 min", "load": "2 min", "reschedule": "3 min"},
    "failures": {"distribution": "exponential", "mean": "20 h"},
    "policies": {"full": {"system": "full"}, "partial": {"system": "partial"}},
}
MEANS = {"failures.mean": ["10 h", "30 h"]}


def scenario(**changed: object) -> cprsim.Scenario:
    return cprsim.Scenario(**(SCENARIO | changed))


def at(mean: str) -> cprsim.Scenario:
    return scenario(failures={"distribution": "exponential", "mean": mean})


def csv(done: cprsim.Sweep) -> str:
    return done.table.to_csv(index=False)
