"""Up time of nodes per failure: by hand, and of logs drawn from a law that is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cprsim.basics.distributions import Distribution
from cprsim.failures.logs import views
from cprsim.failures.logs.log import FailureLog
from cprsim.survival.fitted_laws import fit, judge

DAY_S = 86400.0


def test_time_per_failure_by_hand():
    log = FailureLog(
        times_s=np.array([10.0, 20.0, 22.0, 40.0, 50.0, 60.0]),
        nodes=np.array([1, 0, 1, 0, 0, 1]),
        start_s=0.0,
        span_s=100.0,
        population=3,
        repaired_s=np.array([12.0, 25.0, 30.0, 55.0, 52.0, 110.0]),
    )
    found = views.uptimes(log).node_time
    assert found is not None
    # Node 0: down 20-25, 40-55, node 1: down 10-12, 22-30, 60-100; node 2 is never down.
    assert found.nodes == 3
    assert found.of_all_s == pytest.approx((80 + 50 + 100) / (2 + 3))
    assert found.after_first_s == pytest.approx((15 + 45 + 10 + 30) / 3)
    up, failures = np.array([80.0, 50.0, 100.0]), np.array([2.0, 3.0, 0.0])
    apart = up - found.of_all_s * failures
    relative = math.sqrt(3) * apart.std(ddof=1) / 5 / found.of_all_s
    of_all = found.of_all_s / math.exp(1.959964 * relative)
    lasted, ended = np.array([15.0, 45, 10, 30]), np.array([1.0, 0, 1, 1])
    apart = lasted - found.after_first_s * ended
    relative_of_lives = 2 * apart.std(ddof=1) / 3 / found.after_first_s
    of_lives = found.after_first_s * math.exp(1.959964 * relative_of_lives)
    assert found.low_s == pytest.approx(min(of_all, found.after_first_s**2 / of_lives))
    assert found.high_s == pytest.approx(max(found.of_all_s**2 / of_all, of_lives))


def test_of_one_life_nothing_is_known_and_of_one_node_what_its_lives_tell():
    log = FailureLog(np.array([0.0, 5.0]), np.array([0, 0]), 0.0, 5.0, population=1)
    found = views.uptimes(log).node_time
    assert found is not None
    assert (found.low_s, found.high_s) == (0.0, math.inf)
    assert found.document()["high_s"] is None
    many = FailureLog(
        np.cumsum(np.tile([1.0, 2.0], 100)), np.zeros(200, np.int64), 0.0, 301.0, population=1
    )
    of_one = views.uptimes(many).node_time
    assert of_one is not None
    assert 1.4 < of_one.low_s < 1.5 < of_one.high_s < 1.6


@pytest.mark.parametrize("days", [120, 1000])
def test_nodes_that_nobody_counted_refuse_no_true_law(days: int):
    """Of a short watch most nodes were never seen; of a long one nearly all were."""
    law = Distribution(distribution="gamma", shape=0.5, mean="240 d")
    for seed in range(6):
        log = replace(stationary_log(law, 150, days * DAY_S, seed), population=None)
        found = views.uptimes(log).node_time
        assert found is not None
        assert not found.is_counted
        assert found.unseen > 0
        assert (found.high_s == math.inf) == (days == 120)
        assert 0.9 * found.low_s <= law.expected_s <= 1.1 * found.high_s


def stationary_log(law: Distribution, nodes: int, span_s: float, seed: int) -> FailureLog:
    """Failures of nodes of all ages, each repaired at once."""
    rng = np.random.default_rng(seed)
    times, places = [], []
    for node in range(nodes):
        at_s = float(law.sample_left(rng, 1)[0])
        while at_s < span_s:
            times.append(at_s)
            places.append(node)
            at_s += float(law.sample(rng, 1)[0])
    order = np.argsort(times)
    return FailureLog(
        np.array(times)[order], np.array(places)[order], 0.0, span_s, population=nodes
    )


@pytest.mark.parametrize(
    "law",
    [
        Distribution(distribution="exponential", mean="240 d"),
        Distribution(distribution="gamma", shape=0.3, mean="240 d"),
        Distribution(distribution="weibull", shape=2.0, mean="240 d"),
    ],
    ids=lambda law: law.distribution,
)
def test_the_mean_of_the_law_lies_between_the_ends(law: Distribution):
    """Both ends are of 95 % intervals, so of 40 logs no more than 6 leave it out (p < 0.01)."""
    missed = 0
    for seed in range(40):
        found = views.uptimes(stationary_log(law, 60, 1200 * DAY_S, seed)).node_time
        assert found is not None
        missed += not found.low_s <= law.expected_s <= found.high_s
    assert missed <= 6


def test_a_law_of_lives_that_loses_the_rate_of_failures_is_not_adequate():
    """As of LANL system 20: near all lives that were watched, and wrong about those that weren't.

    Lives of a gamma law of shape 0.3 are cut short by the end of the watch; a lognormal law follows
    them, and has its mean in a tail that nobody saw.
    """
    law = Distribution(distribution="gamma", shape=0.3, mean="240 d")
    view = views.uptimes(stationary_log(law, 500, 1360 * DAY_S, 0))
    assert view.node_time is not None
    ends_s = view.node_time.low_s, view.node_time.high_s
    right, wrong = (fit(view.sample, name) for name in ("gamma", "lognormal"))

    assert judge(view.sample, right, ends_s).adequate
    assert wrong.law.expected_s > 5 * law.expected_s
    verdict = judge(view.sample, wrong, ends_s)
    assert not verdict.adequate
    assert " d, where nodes were up " in verdict.reason
    assert verdict.reason.endswith(" per failure")
