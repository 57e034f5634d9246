"""Silent faults and torn checkpoints; `by_hand.toml` has their runs."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from cprsim.contract import Answers, Case, Recover, Save, Schedule
from cprsim.contract.plan import Chains
from cprsim.machine import marks
from cprsim.machine.codes import NONE
from cprsim.machine.plan_rows import PlanRow
from cprsim.machine.run_rows import CheckpointRow, TierRow
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate


def test_what_a_tier_has_dropped_is_not_returned_to() -> None:
    kept = [CheckpointRow(progress_s=32.0, marks=0), CheckpointRow(progress_s=64.0)]
    plan, tier = PlanRow(schedules=1, older=1), TierRow()
    ring: Any = SimpleNamespace(plan=plan, tiers=[tier], kept=kept)
    assert marks.last_verified(ring) == NONE
    tier.kept_count = 1
    assert marks.last_verified(ring) == 0


def test_silent_faults_and_torn_checkpoints_move_no_other_draw() -> None:
    def walls(policy: dict[str, Any], **tables: Any) -> Any:
        failures = {"distribution": "weibull", "mean": "5 h", "shape": 0.7}
        scenario = Scenario(
            job={"useful_time": "40 h"},
            cluster={"parameter_servers": 4},
            costs={
                "save": "2 min",
                "load": "0 s",
                "reschedule": {"distribution": "exponential", "mean": "3 min"},
            },
            failures=failures | tables.pop("failures", {}),
            policies={"it": policy},
            **tables,
        )
        return simulate(scenario, ["it"], range(20), 0)[:, 0]

    partial = {"system": "partial", "interval": "1 h"}
    plain = walls(partial)
    # Loads take no time here, so that what is torn costs none.
    late = walls(partial, storage={"torn": 0.3}, failures={"silent": {"mean": "30 h"}})
    wall, pls = COLUMNS.index("wall"), COLUMNS.index("pls")
    assert np.array_equal(plain[:, wall], late[:, wall])
    assert late[:, pls].sum() > plain[:, pls].sum()


def test_a_difference_needs_the_save_before_however_little_is_read() -> None:
    """Quantised ones, which are smaller than a whole save together with it, counted as whole."""

    def lost(reads: float) -> Any:
        scenario = Scenario(
            job={"useful_time": "100 h"},
            cluster={"parameter_servers": 4},
            costs={"save": "0 s", "load": "0 s", "reschedule": "1 min"},
            failures={"distribution": "exponential", "mean": "5 h"},
            storage={"torn": 0.3},
            policies={"it": {"system": "full", "interval": "1 h"}},
        )
        near = Save("remote", since="save", bits=4, writes=0.1, reads=reads)
        chain = (Save("remote"), near, near)
        scenario.plans["it"] = replace(
            scenario.plan("it"),
            schedules=(Schedule(3600.0, chain[0]),),
            sequence=Chains((chain,)),
            recover=Answers((Case(Recover("all")),)),
        )
        return simulate(scenario, ["it"], range(20), 0)[:, 0, COLUMNS.index("lost")]

    assert lost(0.3).sum() > 0
    assert np.array_equal(lost(0.3), lost(1.3))
