"""What a sweep costs beside its simulations, a point, from few points to many."""

import tempfile
import time
from pathlib import Path

import cprsim

# Nothing fails, so a replication takes hardly any time.
_QUIET = {
    "job": {"useful_time": "56 h"},
    "cluster": {"trainers": 8, "parameter_servers": 8},
    "costs": {"save": "5 min", "load": "2 min", "reschedule": "3 min"},
    "failures": {"exactly": 0},
    "policies": {"full": {"system": "full"}},
}


def main() -> None:
    scenario = cprsim.Scenario(**_QUIET)
    _per_point(scenario, 10)  # imports
    many, some, few = (_per_point(scenario, count) for count in (10_000, 1_000, 10))
    for what, beside in ((1_000, some), (10, few)):
        label = f"sweep and table, a point of 10,000 (of {what:,})"
        print(
            f"{label:<58} {1e6 * many:>9,.0f} us {1e6 * beside:>9,.0f} us {many / beside:>7.2f}"
            "   <= 1.2"
        )


def _per_point(scenario: cprsim.Scenario, count: int) -> float:
    """Seconds a point of a sweep of so many, in this process, from the scenario to the table."""
    vary = {"costs.save": f"lin(1 min, 9 min, {count})"}
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        table = cprsim.sweep(scenario, Path(folder), vary, replications=1).table
        seconds = time.perf_counter() - start
    assert len(table) == count
    return seconds / count
