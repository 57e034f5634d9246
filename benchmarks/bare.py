"""The yardstick of the batch engine: full recovery in one bare loop, compiled, and no more.

Failures are given. It saves after each interval, a failure rolls all back to the last save, and the
result is the wall clock: no ledger, no other policy, no other way to fail.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import cprsim

Walls = NDArray[np.float64]


class Job(NamedTuple):
    """Costs of full recovery in one scenario, all in seconds."""

    useful_s: float
    interval_s: float
    save_s: float
    load_s: float
    reschedule_s: float

    @classmethod
    def of(cls, scenario: cprsim.Scenario, policy: str) -> "Job":
        """Return those of a scenario with measured costs, whose failures strike no waiting job."""
        costs = scenario.costs
        load_s = costs.load_s if costs.load_full_s is None else costs.load_full_s
        assert costs.save_s is not None
        assert load_s is not None
        assert isinstance(costs.reschedule, float)
        assert costs.detect_s == 0
        assert not scenario.failures.while_waiting
        return cls(
            scenario.job.useful_time_s,
            scenario.plan(policy).interval_s,
            costs.save_s,
            load_s,
            costs.reschedule,
        )


def walls(times_s: NDArray[np.float64], job: Job) -> Walls:
    """Wall-clock seconds of a run for each row of failures, in order; by the compiled loop."""
    found: Walls = _compiled()(times_s, *job)
    return found


@cache
def _compiled() -> Callable[..., Any]:
    import numba  # noqa: PLC0415  (only this measurement needs it here)

    compiled: Callable[..., Any] = numba.njit(_walls)
    return compiled


def _walls(
    times_s: NDArray[np.float64],
    useful_s: float,
    interval_s: float,
    save_s: float,
    load_s: float,
    reschedule_s: float,
) -> Walls:
    runs, failures = times_s.shape
    out = np.empty(runs)
    for run in range(runs):
        now = progress = saved = 0.0
        due = interval_s
        failed = 0
        while True:
            strike = times_s[run, failed] if failed < failures else np.inf
            target = min(due, useful_s)
            end = now + target - progress
            if end <= strike:
                now, progress = end, target
                if progress >= useful_s:
                    break
                if now + save_s <= strike:
                    now += save_s
                    saved = progress
                    due = progress + interval_s
                    continue
            # Struck: nobody fails while nodes are waited for, but who loads can fail.
            now = strike
            while True:
                failed += 1
                now += reschedule_s
                while failed < failures and times_s[run, failed] < now:
                    failed += 1
                if failed == failures or times_s[run, failed] >= now + load_s:
                    break
                now = times_s[run, failed]
            now += load_s
            progress = saved
            due = saved + interval_s
        out[run] = now
    return out
