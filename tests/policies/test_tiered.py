"""Tiers: what copies take, and what a tier that is not returned to costs."""

import numpy as np
import pytest

import cprsim
from cprsim.sim.engine import COLUMNS, simulate
from tests.policies.by_hand import job_of
from tests.policies.mixed import MIXED


def test_derived_copies_are_sent_one_by_one_and_measured_ones_are_not() -> None:
    tables = {
        "model": {"embedding": "80 GB"},
        "cluster": {"parameter_servers": 8, "nic": "1 GB/s"},
        "costs": {"save": "10 s", "load": "20 s"},
    }
    peer = {"interval": "200 s", "load": "1 s", "copies": 3}
    derived = job_of({"system": "tiered", "peer": peer}, **tables)
    plan, costs = derived.plan("p"), derived.cost_model
    save = plan.schedules[0].save

    assert costs.seconds(costs.save(plan.tier("peer"), writes=save.writes)) == pytest.approx(20.0)
    plan = job_of({"system": "tiered", "peer": peer | {"save": "9 s"}}, **tables).plan("p")
    assert plan.schedules[0].save.writes == 1.0


def test_a_tier_that_no_failure_returns_to_costs_its_saves_alone() -> None:
    failures = MIXED["failures"] | {"severity": {"process": 0, "node": 1, "cluster": 1}}
    near = {"interval": "10 min", "save": "3 s", "load": "1 s"}
    policies = {
        "with": {"system": "tiered", "local": near, "remote": {"interval": "1 h"}},
        "without": {"system": "tiered", "remote": {"interval": "1 h"}},
    }
    tables = MIXED | {"failures": failures | {"exactly": None}}
    quiet = MIXED | {"failures": {"exactly": 0}}
    wall, lost = COLUMNS.index("wall"), COLUMNS.index("lost")

    found = simulate(cprsim.Scenario(**quiet, policies=policies), list(policies), [0], 3)[0]
    # 5 of 6 near saves an hour, but the last of them: there, the job ends.
    assert found[0, wall] - found[1, wall] == pytest.approx(3 * 5 * 100)
    free = policies | {"with": policies["with"] | {"local": near | {"save": "0 s"}}}
    found = simulate(cprsim.Scenario(**tables, policies=free), list(policies), range(5), 3)
    assert found[:, 0, lost].min() > 0
    np.testing.assert_allclose(found[:, 0, wall], found[:, 1, wall], rtol=1e-12)
