"""Processor time of sweeps: of few to many points that hardly simulate, and of a large one."""

import tempfile
import time
from pathlib import Path
from typing import Any

import cprsim

# Nothing fails, so a replication takes hardly any time.
_QUIET: dict[str, Any] = {
    "job": {"useful_time": "56 h"},
    "cluster": {"trainers": 8, "parameter_servers": 8},
    "costs": {"save": "5 min", "load": "2 min", "reschedule": "3 min"},
    "failures": {"exactly": 0},
    "policies": {"full": {"system": "full"}},
}
#: Points of a sweep, and rounds of which the best counts.
_POINTS = {10: 9, 100: 5, 1_000: 3, 10_000: 1}


def rows() -> list[tuple[str, ...]]:
    """Measure sweeps without failures, then 1,000 points of three policies of `criteo-kaggle`."""
    quiet = cprsim.Scenario(**_QUIET)
    _cpu_s(quiet, 10, 1, ("full",))  # imports
    times = {
        points: min(_cpu_s(quiet, points, 1, ("full",)) for _ in range(rounds))
        for points, rounds in _POINTS.items()
    }
    kaggle = cprsim.load_scenario("scenarios/criteo-kaggle.toml")
    large_s = _cpu_s(kaggle, 1_000, 1_000, ("full", "partial", "cpr"))
    return [_row(points, 1, 1, cpu_s) for points, cpu_s in times.items()] + [
        _row(1_000, 3, 1_000, large_s)
    ]


def _row(points: int, policies: int, replications: int, cpu_s: float) -> tuple[str, ...]:
    point_ms = 1e3 * cpu_s / points
    return f"{points:,}", str(policies), f"{replications:,}", f"{cpu_s:,.2f}", f"{point_ms:,.2f}"


def _cpu_s(
    scenario: cprsim.Scenario, points: int, replications: int, policies: tuple[str, ...]
) -> float:
    """Return processor time from the scenario to the table, s."""
    vary = {"costs.save": f"lin(1 min, 9 min, {points})"}
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        swept = cprsim.sweep(
            scenario, Path(folder), vary, policies=policies, replications=replications
        )
        count = len(swept.table)
        cpu_s = time.process_time() - start
    assert count == points * len(policies)
    return cpu_s
