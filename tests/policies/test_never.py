"""`interval = "never"`: no saves, in all systems that have an interval, whoever plays them."""

import math

import numpy as np
import pytest

from cprsim.app.controls import controls_of
from cprsim.batch.support import why_unsupported
from cprsim.estimates.row_loss import row_losses
from cprsim.scenario import Scenario, load_scenario
from cprsim.sim.engine import simulate
from tests.batch.compare import Seen, compare_policy

FILES = {"all-systems": 2, "check-n-run": 1, "elastic": 1, "peer-memory": 1, "hot-swap": 1}


def with_interval(name: str, interval: str) -> Scenario:
    """A shipped scenario with few failures, so that its jobs end without saves as well."""
    mapping = load_scenario(name).mapping()
    mapping["failures"] = {
        key: value for key, value in mapping["failures"].items() if key in ("hits", "trainers")
    } | {"exactly": FILES[name]}
    for policy in mapping["policies"].values():
        if "interval" in policy:
            policy["interval"] = interval
    return Scenario(**mapping)


@pytest.mark.parametrize("name", FILES)
def test_it_is_an_interval_that_the_job_is_over_before(name):
    never, long = with_interval(name, "never"), with_interval(name, "10000 d")
    systems = list(never.policies)

    assert np.array_equal(
        simulate(never, systems, range(3), 0), simulate(long, systems, range(3), 0), equal_nan=True
    )


def test_both_engines_play_it_alike():
    never, seen = with_interval("all-systems", "never"), Seen()
    for policy in never.policies:
        if why_unsupported(never, policy) is None:
            compare_policy(never, policy, seen, range(3))

    assert seen["policies"] > 0


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
        told.pop("interval_s"), of_long[policy].pop("interval_s")
        assert told == pytest.approx(of_long[policy], nan_ok=True), policy


def test_it_is_written_as_it_is_read():
    never = with_interval("all-systems", "never")
    again = Scenario(**never.mapping())

    assert 'interval = "never"' in never.to_toml()
    assert again == never
    assert {again.plan(name).interval_s for name in ("full", "async", "peer-memory")} == {math.inf}
