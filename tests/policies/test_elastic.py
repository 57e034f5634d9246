"""Elastic servers: a run by hand, beside waiting, beside spares."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.batch import engine as batch
from cprsim.contract.expected import expected
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS
from tests.by_hand import played


def test_the_rest_loads_the_rows_and_goes_on_slower(tmp_path: Path) -> None:
    # Server 0 fails at 20 s. Noticed at 21 s; placing rows anew until 23, loading until 27. Its
    # replacement is there at 41 s and takes its rows back until 45 s. With one of four gone, half
    # of a second takes a third longer.
    policy = {"system": "elastic", "interval": "32 s", "bound": 0.5, "reshard": "2 s"}
    run = played(tmp_path, policy, [(20.0, 0)], costs={"reschedule": "20 s"})
    ledger = run.ledger

    assert (ledger.detect, ledger.reschedule, ledger.load) == (1, 2, 4)
    assert ledger.pls == ledger.updates_lost == 20 / 128 / 4
    # From 27 to 45 s 18 s of the clock are trained, of which a seventh is the slowdown; a save of
    # 8 s is due after 12 s of training, 14 s of the clock, and none of it is slower.
    assert ledger.slowdown == pytest.approx((45 - 27 - 4) / 7)
    causes = [each.cause for each in run.seen.spans[:5]]
    assert causes == ["train", "detect", "reschedule", "load", "train"]


def scenario(failures: dict[str, Any] | None = None, **cluster: int) -> Scenario:
    return Scenario(
        job={"useful_time": "20 d"},
        cluster={"parameter_servers": 16, **cluster},
        costs={"save": "2 min", "load": "3 min", "reschedule": "1 h", "detect": "1 min"},
        failures=failures or {"distribution": "exponential", "mean": "12 h"},
        policies={
            "elastic": {"system": "elastic", "interval": "1 h", "bound": 0.6},
            "partial": {"system": "partial", "interval": "1 h"},
        },
    )


@pytest.mark.slow
def test_against_waiting_and_against_spares() -> None:
    """Waiting costs the time of a machine; fewer servers a few percent of it; spares none."""
    names, wall = ["elastic", "partial"], COLUMNS.index("wall")
    apart, ready = (
        batch.simulate(scenario(spares=spares), names, range(256), 0)[..., wall]
        for spares in (0, 4)
    )
    saved = (apart[:, 1] - apart[:, 0]) / apart[:, 1]
    assert saved.mean() - 3 * saved.std(ddof=1) / math.sqrt(len(saved)) > 0.05
    # With a spare for each failure both load and go on, the one a little before the other.
    assert ready[:, 0].mean() == pytest.approx(ready[:, 1].mean(), rel=0.01)


def test_estimates_are_of_the_first_order() -> None:
    it = scenario()
    found = expected(it.plan("elastic"), it.context)
    played = batch.simulate(it, ["elastic"], range(256), 0)[:, 0]
    useful_s = it.job.useful_time_s
    for cause in ("load", "slowdown", "detect", "reschedule"):
        mean = played[:, COLUMNS.index(cause)].mean() / useful_s
        # First order: a failure adds a tenth of the MTBF, in which others strike, to that share.
        assert getattr(found, cause) == pytest.approx(mean, rel=0.15), cause
    assert np.all(played[:, COLUMNS.index("lost")] == 0)
