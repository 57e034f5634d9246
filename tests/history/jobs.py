"""The job of `tests.by_hand` with trainers 4 and 5, written down."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cprsim.sim.history.recorder import History, record
from tests.by_hand import scenario

REPLICATION = {"system": "replication", "slowdown": 0.0, "takeover": "0 s"}


def played(policy: dict[str, Any], folder: Path, *strikes: tuple[float, int]) -> History:
    """The job under a policy, with failures of nodes at given seconds."""
    return record(scenario(folder, policy, strikes, cluster={"trainers": 2}), "it")


def told(phases: Sequence[Any]) -> str:
    """Phases as one line: `train 0-32, save 32-40`."""
    return ", ".join(f"{each.doing} {each.start_s:g}-{each.end_s:g}" for each in phases)
