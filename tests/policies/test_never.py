"""`interval = "never"`: no saves, in all systems that have an interval, whoever plays them."""

import math

import numpy as np
import pytest

from cprsim.advice.row_loss import row_losses
from cprsim.app.controls import controls_of
from cprsim.scenario import Scenario, load_scenario
from cprsim.sim.engine import simulate
from tests.batch.compare import assert_alike

FILES = {
    "all-systems": 2, "check-n-run": 1, "elastic": 1, "peer-memory": 1, "hot-swap": 1, "tiered": 1,
}  # fmt: skip


def with_interval(name: str, interval: str) -> Scenario:
    """A shipped scenario with few failures, so that its jobs end without saves as well."""
    shipped = load_scenario(name)
    mapping = shipped.mapping()
    mapping["failures"] = {
        key: value for key, value in mapping["failures"].items() if key in ("hits", "trainers")
    } | {"exactly": FILES[name]}
    for policy, table in mapping["policies"].items():
        settings = shipped.policies[policy].settings(shipped.context)
        keys = [each.key for each in settings if each.key.endswith("interval")]
        for key in keys or ["interval"]:
            within = table.setdefault(key.partition(".")[0], {}) if "." in key else table
            within["interval"] = interval
    return Scenario(**mapping)


@pytest.mark.parametrize("name", FILES)
def test_it_is_an_interval_that_the_job_is_over_before(name):
    never, long = with_interval(name, "never"), with_interval(name, "10000 d")
    systems = list(never.policies)

    for policy in systems:
        # Twins average more often, and nothing is saved by that.
        assert math.inf in {each.interval_s for each in never.plan(policy).schedules}, policy
    assert np.array_equal(
        simulate(never, systems, range(3), 0), simulate(long, systems, range(3), 0), equal_nan=True
    )


def test_both_engines_play_it_alike():
    never = with_interval("all-systems", "never")

    assert assert_alike(never, range(3))["runs"] == 3 * len(never.policies)


def test_what_is_told_before_a_run_takes_it():
    never, long = (with_interval("all-systems", each) for each in ("never", "10000 d"))
    (control,) = (
        each
        for each in controls_of(never, never.mapping())
        if each.name == "policies.full.interval"
    )

    assert (control.name, control.text) == ("policies.full.interval", "never")
    of_never, of_long = (row_losses(each).document()["policies"] for each in (never, long))
    for policy, told in of_never.items():
        its = of_long[policy] | {"interval_s": None, "period_s": None}
        assert told == pytest.approx(its, nan_ok=True), policy


def test_it_is_written_as_it_is_read():
    never = with_interval("all-systems", "never")
    again = Scenario(**never.mapping())

    assert 'interval = "never"' in never.to_toml()
    assert again == never
    assert {again.plan(name).interval_s for name in ("full", "async", "peer-memory")} == {math.inf}
