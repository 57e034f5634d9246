"""A job on which rules are worked out by hand.

It has 128 s of training on parameter servers 0 to 3. A save takes 8 s, noticing a failure 1 s,
replacing nodes 2 s and loading 4 s, unless a test says otherwise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cprsim.contract import Policy
from cprsim.contract.ledger import Ledger
from cprsim.scenario import Scenario
from cprsim.sim.engine import play
from cprsim.testing import Recording, assert_time_adds_up

FULL = {"system": "full", "interval": "32 s"}
PARTIAL = {"system": "partial", "interval": "32 s"}
ASYNC = {"system": "async", "interval": "32 s", "snapshot": "1 s"}


@dataclass(frozen=True)
class Run:
    """A finished run: its ledger, and what was seen of it."""

    ledger: Ledger
    seen: Any

    def spans(self, cause: str) -> list[tuple[float, float]]:
        """Start and end of the spans of a cause."""
        return [(start, end) for name, start, end in self.seen.spans if name == cause]


def scenario(
    folder: Path,
    policy: dict[str, Any] | Policy,
    strikes: Iterable[tuple[float, int]],
    **tables: Any,
) -> Scenario:
    """The job: nodes fail as `strikes` say, by time and node; tables have further keys."""
    failures: dict[str, Any] = {"exactly": 0}
    if strikes:
        log = folder / "failures.csv"
        rows = [f"{at_s!r},{node}\n" for at_s, node in strikes]
        log.write_text("time_s,node\n" + "".join(rows), encoding="utf-8")
        failures = {"trace": str(log)}
    own: dict[str, dict[str, Any]] = {
        "job": {"useful_time": "128 s"},
        "cluster": {"parameter_servers": 4},
        "costs": {"save": "8 s", "load": "4 s", "reschedule": "2 s", "detect": "1 s"},
        "failures": failures,
        "policies": {"it": policy},
    }
    return Scenario(**{name: own.get(name, {}) | tables.get(name, {}) for name in own | tables})


def played(
    folder: Path,
    policy: dict[str, Any] | Policy,
    strikes: Iterable[tuple[float, int]],
    seed: int = 0,
    seen: Recording | None = None,
    **tables: Any,
) -> Run:
    """A run of `scenario`."""
    seen = seen or Recording()
    ledger = play(scenario(folder, policy, strikes, **tables), "it", seed, 0, seen)
    assert_time_adds_up(ledger)
    return Run(ledger, seen)
