"""Timelines and cursors: what is drawn once, and what depends on a policy's recovery."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import Cause, CohortDraws
from cprsim.failures.cohorts import NodeCohort, RenewalCohort, VictimRows
from cprsim.failures.hits import Hit, Hits
from cprsim.failures.model import FailureModel
from cprsim.failures.shared import CohortStreams
from cprsim.failures.spec import Failures
from cprsim.failures.timeline import AbsoluteTimeline, Cursor
from cprsim.job.platform import Cluster
from cprsim.job.workload import Job
from cprsim.sim.cursor import cursor_of
from tests.drawn.numbers import Draws

CLUSTER = Cluster(trainers=4, parameter_servers=8)
SERVER = Hit((0,), ())


def law(distribution: str = "gamma", mean: str = "100 s", **spread: float) -> Distribution:
    return Distribution.model_validate(
        {"distribution": distribution, "mean": mean, **(spread or {"shape": 0.675})}
    )


def draws(seed: int = 0, cause: Cause = Cause.FAILURE_TIME, row: int = 0) -> Draws:
    return Draws(CohortDraws(law().sample, seed, 0, cause), row)


def victims(hits: Mapping[str, object], count: int) -> list[Hit]:
    rows = VictimRows(Hits.model_validate(hits), CLUSTER, CohortStreams(0, 0))
    return [rows.hit(0, index) for index in range(count)]


def node_lives(servers: int, trainers: int, seed: int = 0) -> NodeCohort:
    wear_out = Failures(**law("weibull", shape=3.0).mapping(), per="node", ages="new")
    cluster = Cluster(parameter_servers=servers, trainers=trainers)
    return NodeCohort(wear_out, cluster, CohortStreams(seed, 0), None)


def life_s(cohort: NodeCohort, generation: int, node: int) -> float:
    return float(cohort.generation(generation)[0, node])


GAPS = CohortStreams(0, 0).durations(law(), Cause.FAILURE_TIME)
RENEWAL = RenewalCohort(GAPS, VictimRows(Hits(), CLUSTER, CohortStreams(0, 0)), None).timeline(0)


def test_a_renewed_clock_starts_when_the_job_resumes() -> None:
    gaps, cursor = draws(), cursor_of(RENEWAL)
    first = cursor.next_s
    cursor.strike()
    down = cursor.next_s
    cursor.resume(first + 50.0)

    assert first == gaps[0]
    assert down == math.inf
    assert cursor.next_s == first + 50.0 + gaps[1]


def test_every_cursor_meets_the_same_draws() -> None:
    hits = []
    for delay in (1.0, 500.0):
        cursor = cursor_of(RENEWAL)
        seen = []
        for _ in range(20):
            at = cursor.next_s
            seen.append(cursor.strike())
            cursor.resume(at + delay)
        hits.append(seen)

    assert hits[0] == hits[1]


def test_draws_do_not_depend_on_the_order_in_which_they_are_asked_for() -> None:
    forward, backward = draws(3, row=7), draws(3, row=7)

    assert backward[40] == [forward[i] for i in range(41)][40]


def test_streams_of_replications_seeds_and_causes_differ() -> None:
    values = {
        draws(seed, cause, replication)[0]
        for seed in (0, 1)
        for replication in (0, 1)
        for cause in (Cause.FAILURE_TIME, Cause.RESCHEDULE)
    }

    assert len(values) == 8


def test_only_what_lies_strictly_inside_the_downtime_is_absorbed() -> None:
    cursor = cursor_of(AbsoluteTimeline([10.0, 20.0, 30.0, 40.0], [SERVER] * 4))
    cursor.strike()
    cursor.resume(30.0)

    assert cursor.absorbed == 1  # the one at 20; the one at 30 strikes when the recovery is over
    assert cursor.next_s == 30.0


def struck(cursor: Cursor, count: int) -> list[tuple[float, Hit]]:
    found = []
    for _ in range(count):
        found.append((cursor.next_s, cursor.strike()))
        cursor.resume(found[-1][0])
    return found


def test_an_absolute_timeline_ends_unless_it_has_a_period() -> None:
    other = Hit((1,), ())
    once = cursor_of(AbsoluteTimeline([10.0], [SERVER]))
    circle = cursor_of(AbsoluteTimeline([10.0, 20.0], [SERVER, other], period_s=100.0))

    assert struck(once, 1) == [(10.0, SERVER)]
    assert once.next_s == math.inf
    lap = [(10.0, SERVER), (20.0, other)]
    assert struck(circle, 4) == [*lap, *((at_s + 100.0, hit) for at_s, hit in lap)]
    assert cursor_of(AbsoluteTimeline([], [])).next_s == math.inf
    assert cursor_of(AbsoluteTimeline([], [], period_s=5.0)).next_s == math.inf


def test_a_node_keeps_its_age_when_another_fails() -> None:
    lives = node_lives(servers=2, trainers=0, seed=0)
    first, second = sorted((life_s(lives, 0, 0), life_s(lives, 0, 1)))
    cursor = cursor_of(lives.timeline(0))
    hit = cursor.strike()
    cursor.replace(hit, first + 1.0)
    cursor.resume(first + 1.0)
    (failed,) = hit.servers

    assert cursor.next_s == min(second, first + 1.0 + life_s(lives, 1, failed))


def test_a_node_that_dies_in_the_downtime_is_absorbed_and_replaced() -> None:
    lives = node_lives(servers=3, trainers=1, seed=1)
    cursor = cursor_of(lives.timeline(0))
    hit = cursor.strike()
    cursor.replace(hit, 10_000.0)
    cursor.resume(10_000.0)

    assert cursor.absorbed == 3  # all others, whose first lives are far shorter
    assert cursor.next_s == 10_000.0 + min(life_s(lives, 1, node) for node in range(4))


def test_a_replacement_in_the_background_moves_the_next_failure_only_while_running() -> None:
    lives = node_lives(servers=2, trainers=0, seed=0)
    cursor = cursor_of(lives.timeline(0))
    at = cursor.next_s
    hit = cursor.strike()
    other = life_s(lives, 0, 1 - hit.servers[0])
    cursor.resume(at)  # the job trains on at once, on the other node
    alone = cursor.next_s
    cursor.replace(hit, at + 1.0)

    assert alone == other
    assert cursor.next_s == min(other, at + 1.0 + life_s(lives, 1, hit.servers[0]))


def test_victims_are_uniform_over_the_servers() -> None:
    n = 8000
    counts = np.bincount([hit.servers[0] for hit in victims({}, n)], minlength=8)

    # Chi-squared with 7 degrees of freedom: 24.3 is its 99.9th percentile.
    assert ((counts - n / 8) ** 2 / (n / 8)).sum() < 24.3


def test_victims_of_one_failure_are_distinct() -> None:
    assert all(len(set(hit.servers)) == 4 for hit in victims({"parameter_servers": 4}, 200))


def test_weights_choose_the_kind() -> None:
    weights = {"parameter_servers": 1, "trainers": 3}
    n = 4000
    chosen = victims({"weights": weights}, n)
    servers = sum(bool(hit.servers) for hit in chosen)

    assert all(len(hit.servers) + len(hit.trainers) == 1 for hit in chosen)
    # Binomial(4000, 1/4): standard deviation 27.4.
    assert servers == pytest.approx(n / 4, abs=3 * 27.4)


@pytest.mark.parametrize(
    ("hits", "counts"),
    [
        ({}, (1, 0)),
        ({"parameter_servers": "25%"}, (2, 0)),
        ({"parameter_servers": "1%"}, (1, 0)),
        ({"parameter_servers": "0%"}, (0, 0)),
        ({"trainers": 2}, (0, 2)),
        ({"parameter_servers": 1, "trainers": "50%"}, (1, 2)),
        ({"weights": {"trainers": 1}}, (0, 1)),
        ({"weights": {"trainers": 1, "parameter_servers": 1}}, (1, 1)),
    ],
)
def test_numbers_and_shares_of_nodes_hit(hits: dict, counts: tuple[int, int]) -> None:
    assert Hits.model_validate(hits).counts(CLUSTER) == counts


_LAW = {"distribution": "weibull", "shape": 0.8, "mean": "100 s"}
_GRADED = {"severity": {"process": 0.5, "node": 0.3, "cluster": 0.2}}
_BURSTS = {"mean": "300 s", "rack": 4, "sizes": {"1": 1.0, "3": 1.0}}


@pytest.mark.parametrize(
    "failures",
    [
        _LAW | {"hits": {"parameter_servers": 2}} | _GRADED,
        {"exactly": 12} | _GRADED,
        {"distribution": "deterministic", "mean": "100 s", "per": "node", "ages": "new"},
        _LAW | {"per": "node"},
        _LAW | {"per": "node", "bursts": _BURSTS} | _GRADED,
    ],
)
def test_what_is_ahead_is_what_strikes(failures: dict[str, Any]) -> None:
    """Looking moves nothing: who has not looked meets the same."""
    model = FailureModel(
        Failures.model_validate(failures), CLUSTER, Job.model_validate({"useful_time": "1000 s"})
    )
    looked, other = (cursor_of(model.timeline(3, 1)) for _ in range(2))
    for number in range(12):
        at_s = looked.next_s
        assert at_s == other.next_s
        assert looked.ahead() == looked.ahead()
        hit = looked.ahead()
        assert hit == looked.strike() == other.strike()
        for each in (looked, other):
            each.replace(hit, at_s + number)
            each.resume(at_s + number)
