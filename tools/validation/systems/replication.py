"""Figures of Li et al. (OSDI 2014) on copies, by simulation.

They publish no cost of a failure but that recovery takes about a second; the rest are sums, which
hold whatever the job.
"""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cprsim.scenario import Scenario
from tools.validation.systems.mean import Floats, played
from tools.validation.systems.row import Role, Row

SOURCE = "Li et al., OSDI 2014"
#: Pushed updates fill the cards, so all other traffic makes training longer.
_FULL: dict[str, Any] = {
    "job": {"useful_time": "1000 s", "network": "8 GB/s"},
    "model": {"embedding": "80 GB"},
    "cluster": {"parameter_servers": 8, "trainers": 8, "nic": "1 GB/s"},
    "storage": {"write": "10 GB/s", "read": "10 GB/s"},
    "failures": {"exactly": 0},
}


def traffic(copies: int, aggregation: int = 1) -> float:
    """Bytes that servers send to each other, as a multiple of those pushed."""
    keys = {"copies": copies, "aggregation": aggregation}
    scenario = Scenario(**_FULL, policies={"p": {"system": "replication", "slowdown": 0.0} | keys})
    runs = played(scenario, "p", 1, 0)
    return float(runs["slowdown"][0] / 1000)


@cache
def _one_failure() -> dict[str, Floats]:
    with TemporaryDirectory() as folder:
        log = Path(folder, "log.csv")
        log.write_text("time_s,node\n400,0\n")
        scenario = Scenario(
            job={"useful_time": "1000 s"},
            cluster={"parameter_servers": 8},
            costs={"save": "10 s", "load": "20 s", "reschedule": "60 s"},
            failures={"trace": str(log)},
            policies={"p": {"system": "replication", "slowdown": 0.0, "takeover": "1 s"}},
        )
        return played(scenario, "p", 1, 0)


def recovery_s() -> float:
    """Return the time that one failure adds to a job, s."""
    return float(_one_failure()["wall"][0] - 1000)


def updates_lost() -> float:
    """Share of updates that one failure loses."""
    return float(_one_failure()["updates_lost"][0])


def rows() -> list[Row]:
    """Every figure of this module."""
    aggregated = traffic(3, aggregation=4)
    found: list[tuple[str, Role, float, float, str]] = [
        ("traffic of 2 more copies", "input", 2.0, traffic(3), "x pushed"),
        ("the same after aggregation of 4 workers", "input", 0.5, aggregated, "x pushed"),
        ("recovery from a failure", "input", 1.0, recovery_s(), "s"),
        ("updates lost", "prediction", 0.0, updates_lost(), "share"),
    ]
    return [Row(each[0], SOURCE, *each[1:], within=1e-9) for each in found]
