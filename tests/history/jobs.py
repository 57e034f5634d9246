"""A job that can be worked by hand.

128 s of training on parameter servers 0 to 3 and trainers 4 and 5; a save takes 8 s, noticing a
failure 1 s, replacing nodes 2 s and loading 4 s.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cprsim.scenario import Scenario
from cprsim.sim.history.recorder import History, record

FULL = {"system": "full", "interval": "32 s"}
PARTIAL = {"system": "partial", "interval": "32 s"}
ASYNC = {"system": "async", "interval": "32 s", "snapshot": "1 s"}
REPLICATION = {"system": "replication", "slowdown": 0.0, "takeover": "0 s"}


def played(policy: dict[str, Any], folder: Path, *strikes: tuple[float, int]) -> History:
    """The job under a policy, with failures of nodes at given seconds."""
    failures: dict[str, Any] = {"exactly": 0}
    if strikes:
        log = folder / "failures.csv"
        rows = [f"{at_s!r},{node}\n" for at_s, node in strikes]
        log.write_text("time_s,node\n" + "".join(rows), encoding="utf-8")
        failures = {"trace": str(log)}
    scenario = Scenario(
        job={"useful_time": "128 s"},
        cluster={"parameter_servers": 4, "trainers": 2},
        costs={"save": "8 s", "load": "4 s", "reschedule": "2 s", "detect": "1 s"},
        failures=failures,
        policies={"it": policy},
    )
    return record(scenario, "it")


def told(phases: Sequence[Any]) -> str:
    """Phases as one line: `train 0-32, save 32-40`."""
    return ", ".join(f"{each.doing} {each.start_s:g}-{each.end_s:g}" for each in phases)
