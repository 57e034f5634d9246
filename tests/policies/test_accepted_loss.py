"""Accepted loss beside partial recovery."""

import pytest

from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate
from tests.policies.by_hand import JOB


@pytest.mark.slow
def test_it_costs_no_time_and_loses_little_more_than_partial_recovery() -> None:
    """A failure before a save has landed loses what one in a blocking save does.

    On top comes what is trained while a shard is down, 10 s, for half a failure a job, and that a
    failure in the 10 s before a save lands voids it: 100 s for one in 200 failures.
    """
    hits = {"parameter_servers": 1}
    tables = JOB | {
        "cluster": {"parameter_servers": 8, "trainers": 4},
        "costs": {"save": "10 s", "load": "2 s", "reschedule": "8 s"},
        "failures": {"distribution": "exponential", "mean": "2000 s", "hits": hits},
        "policies": {
            name: {"system": name, "interval": "100 s"} for name in ("accepted-loss", "partial")
        },
    }
    runs = simulate(Scenario(**tables), ["accepted-loss", "partial"], range(4000), 0)
    column = dict(zip(COLUMNS, runs.T, strict=True))
    ours, theirs = column["updates_lost"] * 8000  # in seconds of one of 8 shards
    more = ours - theirs

    assert column["wall"][0] == pytest.approx(1000.0, rel=1e-12)
    assert column["save"][1] == pytest.approx(90.0, rel=1e-12)
    assert more.mean() == pytest.approx(0.5 * 10.5, abs=3 * more.std() / 4000**0.5)
