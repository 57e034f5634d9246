import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.basics.distributions import Distribution
from cprsim.errors import UsageError
from cprsim.failures.logs import views
from cprsim.failures.logs.intervals import Intervals
from cprsim.failures.logs.log import FailureLog
from cprsim.survival.fitted_laws import fit, judge
from tests.failures.logs_by_hand import log_of


def constant_rate_log(nodes: int, failures: int, seed: int = 0) -> FailureLog:
    """Nodes that fail at a constant rate, one failure a second on average."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1.0, failures))
    return log_of(times.tolist(), rng.integers(nodes, size=failures).tolist(), population=nodes)


# gaps of the whole system


def test_gaps_by_hand_with_ties_dropped_and_counted():
    view = views.gaps(log_of([1, 4, 4, 4, 6], population=7))

    assert view.sample.durations_s.tolist() == [3, 2]
    assert (view.sample.censored, view.ties, view.per, view.nodes) == (0, 2, "job", 7)
    assert view.left_out == {"durations of 0 s": 2}
    assert [each.tolist() for each in view.sequences] == [[3, 2]]


def test_ties_that_are_kept_last_half_the_shortest_gap():
    view = views.gaps(log_of([1, 4, 4, 4, 6]), ties="keep")

    assert view.sample.durations_s.tolist() == [3, 1, 1, 2]
    assert (view.ties, view.left_out) == (2, {})


def test_coalescing_chains_failures_that_are_close_and_makes_them_simultaneous():
    log = log_of([0, 4, 8, 13, 30], [0, 1, 0, 2, 3], repaired=[1, 5, 9, 14, 31])

    together = log.coalesced(4.0)

    assert together.times_s.tolist() == [0, 0, 0, 13, 30]
    assert together.nodes.tolist() == [0, 1, 0, 2, 3]
    assert views.gaps(together).sample.durations_s.tolist() == [13, 17]
    assert views.gaps(together).ties == 2
    assert log.coalesced(3.9).times_s.tolist() == log.times_s.tolist()


# gaps of jobs on some of the nodes


def test_a_job_on_all_nodes_sees_the_gaps_of_the_system():
    log = constant_rate_log(16, 500)

    of_job, of_system = views.job_gaps(log, 16), views.gaps(log)

    expected = sorted(of_system.sample.durations_s.tolist())
    assert of_job.sample.durations_s.tolist() == pytest.approx(expected)
    assert of_job.sample.n == 499


def test_a_job_on_a_quarter_of_the_nodes_fails_a_quarter_as_often():
    """Constant rates: its gaps are exponential, 4 s on average; a deal has 4 jobs and so 4 gaps
    fewer than failures."""
    log = constant_rate_log(64, 4000)

    view = views.job_gaps(log, 16)

    assert view.sample.n == pytest.approx(4000 - 4, abs=1)
    pooled = np.concatenate(view.sequences)
    assert view.sample.mtbf_s == pytest.approx(pooled.mean(), rel=1e-3)
    assert len(pooled) > 20 * view.sample.n
    # All deals are of the same 4,000 failures: their mean is known to 1 / sqrt(4000).
    assert view.sample.mtbf_s == pytest.approx(4.0, rel=3 / math.sqrt(4000))
    steps = np.sort(view.sample.durations_s)
    far = np.abs(np.exp(-steps / 4.0) - (1 - np.arange(1, view.sample.n + 1) / view.sample.n))
    assert far.max() < 1.63 / math.sqrt(4000)  # Kolmogorov's 1 % point


def test_nodes_that_no_job_gets_take_their_failures_with_them():
    """Of 10 nodes, jobs of 4 leave 2 over: 8 in 10 failures count, in 2 jobs of 40 % each."""
    log = constant_rate_log(10, 3000)

    view = views.job_gaps(log, 4)

    assert view.sample.n == pytest.approx(0.8 * 3000 - 2, rel=0.005)
    assert view.sample.mtbf_s == pytest.approx(2.5, rel=3 / math.sqrt(3000))


def test_without_a_population_the_nodes_that_failed_are_the_system():
    log = log_of(list(range(1, 101)), [7, 900] * 50)

    assert log.system == 2
    assert views.job_gaps(log, 1).sample.durations_s.tolist() == [2.0] * 98


def test_simultaneous_failures_of_one_job_are_one_failure():
    log = log_of([t for t in range(1, 51) for _ in range(2)], [0, 1] * 50, population=2)

    view = views.job_gaps(log, 2)

    assert view.sample.durations_s.tolist() == [1.0] * 49
    assert view.ties == 50


@pytest.mark.parametrize("nodes", [0, -1, 101])
def test_a_job_larger_than_the_system(nodes):
    with pytest.raises(UsageError) as caught:
        views.job_gaps(constant_rate_log(100, 1000), nodes)
    assert str(caught.value) == f"nodes is {nodes}; the system has 100, so take 1 to 100"


# uptimes


def durations_of(view: views.View) -> list[tuple[float, bool]]:
    sample = view.sample
    return list(zip(sample.durations_s.tolist(), sample.observed.tolist(), strict=True))


NAN = math.nan
#: Times, nodes and repairs of a log, when its watch ends, what else it has; and its uptimes.
UPTIMES = {
    # Node 0: down 20-25, 40-55, while it fails at 50; node 1: down 10-12, 22-30, 60-70.
    "by-hand": (
        ([10, 20, 22, 40, 50, 60], [1, 0, 1, 0, 0, 1], [12, 25, 30, 55, 52, 70], 100, {}),
        [(15, True), (45, False), (10, True), (30, True), (30, False)],
    ),
    "not-up-at-all": (([0, 5, 9], [0, 0, 0], [5, 6, 10], 12, {}), [(3, True), (2, False)]),
    "no-repair": (([0, 5, 9], [0, 0, 0], [NAN, 6, NAN], 12, {}), [(3, True)]),
    "no-repairs": (([0, 5, 9], [0, 0, 1], None, 10, {}), [(5, True), (5, False), (1, False)]),
    "kinds": (
        ([0, 5, 9], [0, 0, 0], None, 10, {"kinds": ("trainer", "parameter_server", "trainer")}),
        [(5, False), (9, True), (1, False)],
    ),
    "others-cut-short": (
        ([0, 5, 9], [0, 0, 0], None, 10, {"own": [True, False, True]}),
        [(5, False), (4, True), (1, False)],
    ),
}
TIES = {"not-up-at-all": 1}
LEFT_OUT = {
    "not-up-at-all": {"durations of 0 s": 1},
    "no-repair": {"uptimes after a failure without a repair time": 1},
}


@pytest.mark.parametrize("name", UPTIMES)
def test_uptimes_by_hand(name: str):
    (times, nodes, repaired, until, more), expected = UPTIMES[name]
    own = np.array(more["own"]) if "own" in more else None
    kinds = more.get("kinds")

    view = views.uptimes(log_of(times, nodes, repaired, until_s=float(until), kinds=kinds), own)

    assert durations_of(view) == expected
    assert (view.per, view.nodes) == ("node", None)
    if repaired is not None:
        assert (view.ties, view.left_out) == (TIES.get(name, 0), LEFT_OUT.get(name, {}))


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 2), st.integers(0, 12)),
        min_size=1,
        max_size=25,
    )
)
def test_uptimes_fill_what_outages_leave_of_each_nodes_time(failures):
    """Counted second by second."""
    failures = sorted(failures)
    until = 50
    log = log_of(
        [time for time, _, _ in failures],
        [node for _, node, _ in failures],
        repaired=[time + lasts for time, _, lasts in failures],
        until_s=float(until),
    )
    seconds = ends = 0
    for node in {node for _, node, _ in failures}:
        mine = [(time, time + lasts) for time, other, lasts in failures if other == node]
        up = [not any(start <= s < stop for start, stop in mine) for s in range(until)]
        first = min(mine)[0]
        seconds += sum(up[first:])
        ends += sum(up[start - 1] for start in {start for start, _ in mine} - {first})
    view = views.uptimes(log)

    assert sum(view.sample.durations_s) == seconds
    assert view.sample.failures == ends


# durations that somebody else has measured


def test_measured_durations_keep_their_censoring():
    given_ = Intervals(np.array([3.0, 0.0, 5.0]), np.array([True, True, False]), {})

    view = views.durations(given_)

    assert durations_of(view) == [(3, True), (5, False)]
    assert view.ties == 1
    assert view.sequences == ()


DAY_S = 86400.0


def test_time_per_failure_by_hand():
    ends = [12, 25, 30, 55, 52, 110]
    log = log_of([10, 20, 22, 40, 50, 60], [1, 0, 1, 0, 0, 1], ends, 100.0, population=3)
    found = views.uptimes(log).node_time
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
    log = log_of([0, 5], population=1)
    found = views.uptimes(log).node_time
    assert (found.low_s, found.high_s) == (0.0, math.inf)
    assert found.document()["high_s"] is None
    many = log_of(np.cumsum(np.tile([1.0, 2.0], 100)), span=301.0, population=1)
    of_one = views.uptimes(many).node_time
    assert 1.4 < of_one.low_s < 1.5 < of_one.high_s < 1.6


@pytest.mark.parametrize("days", [120, 1000])
def test_nodes_that_nobody_counted_refuse_no_true_law(days: int):
    """A short watch misses most nodes; a long one sees nearly all."""
    law = Distribution(distribution="gamma", shape=0.5, mean="240 d")
    for seed in range(6):
        log = replace(stationary_log(law, 150, days * DAY_S, seed), population=None)
        found = views.uptimes(log).node_time
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
        missed += not found.low_s <= law.expected_s <= found.high_s
    assert missed <= 6


def test_a_law_of_lives_that_loses_the_rate_of_failures_is_not_adequate():
    """The law fits nearly all lives that were watched, as of LANL system 20, and no others.

    Lives of a gamma law of shape 0.3 are cut short by the end of the watch; a lognormal law follows
    them, and has its mean in a tail that nobody saw.
    """
    law = Distribution(distribution="gamma", shape=0.3, mean="240 d")
    view = views.uptimes(stationary_log(law, 500, 1360 * DAY_S, 0))
    ends_s = view.node_time.low_s, view.node_time.high_s
    right, wrong = (fit(view.sample, name) for name in ("gamma", "lognormal"))

    assert judge(view.sample, right, ends_s).adequate
    assert wrong.law.expected_s > 5 * law.expected_s
    verdict = judge(view.sample, wrong, ends_s)
    assert not verdict.adequate
    assert " d, where nodes were up " in verdict.reason
    assert verdict.reason.endswith(" per failure")
