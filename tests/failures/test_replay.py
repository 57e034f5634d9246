"""Logs of whole systems, drawn from: what is played is what the means say."""

import numpy as np
import pytest

from cprsim.failures.logs import views
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import coincidence, sizes
from cprsim.failures.replay import Resampled
from cprsim.fitting.mtbf import measured_mtbf
from cprsim.job.platform import Cluster

TIMES = [0, 4, 4, 9, 15, 15, 15, 21, 30, 33, 47, 60]
NODES = [0, 1, 2, 3, 4, 5, 0, 1, 6, 7, 2, 3]


def log_of(start: float, span: float) -> FailureLog:
    return FailureLog(np.array(TIMES, float), np.array(NODES), start, span, population=8)


BOUNDED = log_of(0.0, 60.0)  # it starts and ends with a failure
WATCHED = log_of(-5.0, 75.0)


def cluster(servers: int, trainers: int) -> Cluster:
    return Cluster.model_validate({"parameter_servers": servers, "trainers": trainers})


@pytest.mark.parametrize("log", [BOUNDED, WATCHED], ids=["bounded", "watched"])
@pytest.mark.parametrize(("servers", "trainers"), [(2, 2), (5, 1), (8, 0)])
def test_what_is_played_is_what_the_means_say(log, servers, trainers):
    """Counted over one lap of 4,000 draws; nothing merges where the lap closes."""
    played = Resampled(log, cluster(servers, trainers), "log")
    cohorts = [played.cohort(0, number) for number in range(16)]
    laps = [each.timeline(row) for each in cohorts for row in range(250)]
    hits = [hit for lap in laps for hit in lap.hits]
    failures = np.array([len(lap.times_s) for lap in laps])
    error = failures.std() / np.sqrt(4000)

    assert laps[0].period_s / played.mtbf_s == pytest.approx(failures.mean(), abs=4 * error + 1e-9)
    of_servers = [len(hit.servers) for hit in hits]
    mean = played.mean_hit
    assert np.mean(of_servers) == pytest.approx(mean.servers, rel=0.03)
    assert np.mean([len(hit.trainers) for hit in hits]) == pytest.approx(mean.trainers, rel=0.03)
    assert np.mean([bool(each) for each in of_servers]) == pytest.approx(
        mean.server_share, rel=0.03
    )


def test_a_lap_is_longer_by_a_mean_gap_where_failures_bound_the_log():
    lap = Resampled(BOUNDED, cluster(8, 0), "log").cohort(0, 0).timeline(0)

    assert lap.period_s == pytest.approx(60 * 9 / 8)  # nine instants, eight gaps
    assert len(lap.times_s) == 9
    assert Resampled(WATCHED, cluster(8, 0), "log").cohort(0, 0).timeline(0).period_s == 75


@pytest.mark.parametrize("log", [BOUNDED, WATCHED], ids=["bounded", "watched"])
def test_all_nodes_fail_as_often_however_it_is_asked(log):
    played = Resampled(log, cluster(8, 0), "log").mtbf_s
    (measured,) = measured_mtbf(log, [8])

    assert measured.measured_s == pytest.approx(played)
    if log is BOUNDED:
        assert views.gaps(log).sample.mean_s == pytest.approx(played)


def test_a_node_fails_once_at_an_instant_however_often_it_is_written():
    twice = FailureLog(np.array([0.0, 5, 5, 9]), np.array([0, 1, 1, 0]), 0.0, 9.0, population=2)
    one, _ = measured_mtbf(twice)

    assert one.measured_s == pytest.approx(one.linear_s)
    assert sizes(twice) == {1: 3}


def test_jobs_that_share_failures_have_no_more_gaps_than_the_system():
    """64 nodes that always fail together: 64 jobs of one node each see the same 299 gaps."""
    times = np.repeat(np.cumsum(np.random.default_rng(0).exponential(1.0, 300)), 64)
    log = FailureLog(
        times, np.tile(np.arange(64), 300), times[0], times[-1] - times[0], population=64
    )

    sample = views.job_gaps(log, 1).sample

    assert sample.n == 299
    assert sample.mean_s == pytest.approx(np.diff(np.unique(times)).mean(), rel=1e-9)


def test_independent_nodes_come_together_as_often_as_random_instants_do():
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 1e6, 5000))
    log = FailureLog(times, rng.integers(50, size=5000), 0.0, 1e6, population=50)

    found = coincidence(log, within_s=60.0)

    assert found.independent == pytest.approx(1 + 4999 * np.exp(-0.3))
    assert found.events == pytest.approx(found.independent, abs=4 * np.sqrt(5000 * 0.26 * 0.74))
    assert not found.together
