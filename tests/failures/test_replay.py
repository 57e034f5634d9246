"""Logs of whole systems, drawn from: what is played is what the means say."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cprsim.errors import LogError, UsageError
from cprsim.failures.logs import views
from cprsim.failures.logs.attendance import Attendance
from cprsim.failures.logs.coincidence import coincidence, sizes
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.replay import Resampled, replay
from cprsim.failures.spec import Failures
from cprsim.fitting.mtbf import measured_mtbf
from cprsim.job.platform import Cluster
from tests.failures.logs_by_hand import log_of

TIMES = [0, 4, 4, 9, 15, 15, 15, 21, 30, 33, 47, 60]
NODES = [0, 1, 2, 3, 4, 5, 0, 1, 6, 7, 2, 3]


SPEC = Failures(trace="log")
BOUNDED = log_of(TIMES, NODES, population=8)  # it starts and ends with a failure
WATCHED = replace(BOUNDED, start_s=-5.0, span_s=75.0, until_s=70.0)


def cluster(servers: int, trainers: int) -> Cluster:
    return Cluster.model_validate({"parameter_servers": servers, "trainers": trainers})


@pytest.mark.slow
@pytest.mark.parametrize("log", [BOUNDED, WATCHED], ids=["bounded", "watched"])
@pytest.mark.parametrize(("servers", "trainers"), [(2, 2), (5, 1), (8, 0)])
def test_what_is_played_is_what_the_means_say(log, servers, trainers):
    """Counted over one lap of 4,000 draws; nothing merges where the lap closes."""
    played = Resampled(log, SPEC, cluster(servers, trainers))
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
    lap = Resampled(BOUNDED, SPEC, cluster(8, 0)).cohort(0, 0).timeline(0)

    assert lap.period_s == pytest.approx(60 * 9 / 8)  # nine instants, eight gaps
    assert len(lap.times_s) == 9
    assert Resampled(WATCHED, SPEC, cluster(8, 0)).cohort(0, 0).timeline(0).period_s == 75


@pytest.mark.parametrize("log", [BOUNDED, WATCHED], ids=["bounded", "watched"])
def test_all_nodes_fail_as_often_however_it_is_asked(log):
    played = Resampled(log, SPEC, cluster(8, 0)).mtbf_s
    (measured,) = measured_mtbf(log, [8]).itertuples()

    assert measured.measured_s == pytest.approx(played)
    if log is BOUNDED:
        assert views.gaps(log).sample.mtbf_s == pytest.approx(played)


def test_a_node_fails_once_at_an_instant_however_often_it_is_written():
    twice = log_of([0, 5, 5, 9], [0, 1, 1, 0], population=2)
    one, _ = measured_mtbf(twice).itertuples()

    assert one.measured_s == pytest.approx(one.linear_s)
    assert sizes(twice) == {1: 3}


def test_jobs_that_share_failures_have_no_more_gaps_than_the_system():
    """64 nodes that always fail together: 64 jobs of one node each see the same 299 gaps."""
    times = np.repeat(np.cumsum(np.random.default_rng(0).exponential(1.0, 300)), 64)
    log = log_of(times, np.tile(np.arange(64), 300), population=64)

    sample = views.job_gaps(log, 1).sample

    assert sample.n == 299
    assert sample.mtbf_s == pytest.approx(np.diff(np.unique(times)).mean(), rel=1e-9)


def test_independent_nodes_come_together_as_often_as_random_instants_do():
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 1e6, 5000))
    log = FailureLog(times, rng.integers(50, size=5000), 0.0, 1e6, population=50)

    found = coincidence(log, np.ones(5000, bool))

    assert found.independent == pytest.approx(1 + 4999 * np.exp(-0.3))
    assert found.events == pytest.approx(found.independent, abs=4 * np.sqrt(5000 * 0.26 * 0.74))
    assert not found.together


def of_late_nodes() -> FailureLog:
    """Nodes 0 and 1 are there from 0 s to 100 s; 2 comes at 60 s, 3 leaves at 20 s."""
    ends = {"came_s": np.array([0.0, 0, 60, 0]), "left_s": np.array([100.0, 100, 100, 20])}
    return log_of([10, 30, 70, 90, 90], [3, 0, 2, 1, 2], span=100.0, population=4, **ends)


@pytest.mark.slow
def test_a_node_takes_no_part_before_it_comes_nor_after_it_left():
    """By hand: two of three nodes up to 20 s, both of two up to 60 s, two of three from there on.

    Of a job of three the clock stands still from 20 s to 60 s, and the failure at 30 s is none.
    """
    played = Resampled(of_late_nodes(), SPEC, cluster(1, 1))
    expected = 2 / 3 + 1 + 2 / 3 + 1  # of two nodes that fail at once, one is always of the job
    assert played.mtbf_s == pytest.approx(100 / expected)
    assert sum(played.mean_hit[:2]) == pytest.approx((2 / 3 + 1 + 2 / 3 + 4 / 3) / expected)

    laps = [played.cohort(0, number).timeline(row) for number in range(16) for row in range(250)]
    met = np.array([len(lap.times_s) for lap in laps])
    assert met.mean() == pytest.approx(expected, abs=4 * met.std() / np.sqrt(len(met)))
    for lap in laps:  # an outage at 30 s hits a job of both nodes that are there, whoever they are
        gaps = np.diff([*lap.times_s, lap.times_s[0] + 100])
        assert {60.0, 40.0, 20.0, 80.0, 100.0} >= {round(each, 6) for each in gaps}

    whole = Resampled(of_late_nodes(), SPEC, cluster(2, 1))
    lap = whole.cohort(0, 0).timeline(0)
    assert (lap.period_s, whole.mtbf_s) == (60, 60 / 3)
    assert [len(hit.nodes(2)) for hit in lap.hits].count(2) == 1
    with pytest.raises(LogError, match="its system has 3 nodes at once, the job needs 4"):
        Resampled(of_late_nodes(), SPEC, cluster(4, 0))


def test_an_instance_that_came_on_the_third_day_cannot_fail_on_the_first(tmp_path):
    """A spot trace by hand, in days: two instances, a third from day 2 on, which goes on day 3."""
    trace = {"metadata": {"gap_seconds": 86400}, "data": [2, 1, 3, 2]}
    (tmp_path / "spot.json").write_text(json.dumps(trace))
    failures = Failures(trace=str(tmp_path / "spot.json"), reader="spot")

    alone = replay(failures, cluster(1, 0), 86400.0)
    assert alone.mtbf_s == pytest.approx(4 * 86400 / (1 / 2 + 1 / 3))
    both = replay(failures, cluster(1, 1), 86400.0)
    assert both.mtbf_s == pytest.approx(4 * 86400 / (1 + 2 / 3))
    assert both.cohort(0, 0).timeline(0).period_s == 4 * 86400
    three = replay(failures, cluster(3, 0), 86400.0)
    lap = three.cohort(0, 0).timeline(0)
    assert (lap.period_s, len(lap.times_s)) == (2 * 86400, 1)


def test_a_job_fails_as_often_however_many_nodes_are_there():
    """Nodes that fail once in 1,000 s: 10 all the time, 10 in its first half, 10 in its second."""
    rng, until_s = np.random.default_rng(1), 1e5
    came_s = np.repeat([0.0, 0.0, until_s / 2], 10)
    left_s = np.repeat([until_s, until_s / 2, until_s], 10)
    drawn = [np.sort(rng.uniform(0, until_s, rng.poisson(until_s / 1000))) for _ in came_s]
    rows = sorted(
        (at_s, node)
        for node, times in enumerate(drawn)
        for at_s in times.tolist()
        if came_s[node] <= at_s < left_s[node]
    )
    times_s, nodes = (np.array(each) for each in zip(*rows, strict=True))
    log = FailureLog(times_s, nodes, 0.0, until_s, population=30, came_s=came_s, left_s=left_s)

    (measured,) = measured_mtbf(log, [10]).itertuples()
    for found in (
        Resampled(log, SPEC, cluster(5, 5)).mtbf_s,
        views.job_gaps(log, 10).sample.mtbf_s,
        measured.measured_s,
    ):
        assert found == pytest.approx(100, rel=4 / np.sqrt(len(log)))
    with pytest.raises(UsageError, match="the system has 20, so take 1 to 20"):
        views.job_gaps(log, 21)


def test_nodes_that_a_log_does_not_list_are_there_all_the_time():
    """Four more nodes than say when they came and left: as many as the owner says there are."""
    log = replace(of_late_nodes(), population=8)

    assert log.came(np.array([2, 3, 7])).tolist() == [60, 0, 0]
    assert log.left(np.array([2, 3, 7])).tolist() == [100, 20, 100]
    assert Attendance(log).counts.tolist() == [7, 6, 7]
    assert log.node_s(8) == 4 * 100 + 100 + 100 + 40 + 20
    assert views.uptimes(log).node_time.nodes == 8
