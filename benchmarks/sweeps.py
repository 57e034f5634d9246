"""What a sweep costs beside its simulations, a point, from few points to many; and a large one."""

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import cprsim

# Nothing fails, so a replication takes hardly any time.
_QUIET: dict[str, Any] = {
    "job": {"useful_time": "56 h"},
    "cluster": {"trainers": 8, "parameter_servers": 8},
    "costs": {"save": "5 min", "load": "2 min", "reschedule": "3 min"},
    "failures": {"exactly": 0},
    "policies": {"full": {"system": "full"}},
}
#: Points of a sweep, from few to many.
_POINTS = (10, 100, 1_000, 10_000)


class Cost(NamedTuple):
    """Processor time of a sweep in this process, and what it is a point."""

    points: int
    policies: int
    replications: int
    cpu_s: float

    @property
    def point_us(self) -> float:
        """Microseconds a point."""
        return 1e6 * self.cpu_s / self.points


def flat() -> list[Cost]:
    """Hardly any simulation, so that it is the sweep that costs; the best of several."""
    scenario = cprsim.Scenario(**_QUIET)
    _cost(scenario, 10, 1)  # imports
    return [
        min((_cost(scenario, points, 1) for _ in range(rounds)), key=lambda each: each.cpu_s)
        for points, rounds in zip(_POINTS, (9, 5, 3, 1), strict=True)
    ]


def large() -> Cost:
    """1,000 points x 3 policies x 1,000 replications of `criteo-kaggle`."""
    scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml")
    return _cost(scenario, 1_000, 1_000, ("full", "partial", "cpr"))


def _cost(
    scenario: cprsim.Scenario, points: int, replications: int, policies: tuple[str, ...] = ("full",)
) -> Cost:
    """From the scenario to the table."""
    vary = {"costs.save": f"lin(1 min, 9 min, {points})"}
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        swept = cprsim.sweep(
            scenario, Path(folder), vary, policies=policies, replications=replications
        )
        rows = len(swept.table)
        cpu_s = time.process_time() - start
    assert rows == points * len(policies)
    return Cost(points, len(policies), replications, cpu_s)
