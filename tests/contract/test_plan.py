"""What a plan says of itself, of shipped policies."""

import math

import pytest

from cprsim.scenario import load_scenario
from tools.paths import ROOT

PLANS = {
    name: load_scenario(ROOT / "scenarios" / "all-systems.toml").plan(name)
    for name in load_scenario(ROOT / "scenarios" / "all-systems.toml").policies
}


@pytest.mark.parametrize("name", PLANS)
def test_what_few_jobs_meet_is_what_the_farthest_tier_lacks(name):
    plan = PLANS[name]

    near = plan.mirror is not None or len(plan.schedules) > 1
    if near or plan.recovery in {"replica", "parity"}:
        farthest_s = max((each.interval_s for each in plan.schedules), default=math.inf)
        assert plan.unmet_s == farthest_s > 0
    else:
        assert plan.unmet_s == 0


def test_policies_of_all_kinds_are_among_them():
    assert {each.recovery for each in PLANS.values()} == {"full", "partial", "replica", "parity"}
    assert any(len(each.schedules) > 1 for each in PLANS.values())
