"""Draws that scenarios share are, to the last bit, what each would draw by itself."""

import math

import numpy as np
import pytest

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, CohortDraws, stream
from cprsim.failures.shared import CohortStreams, SharedDraws
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from tests.failures.played import played, timelines
from tests.fleets.test_fleet import PLAIN

LAWS = {
    "exponential": {},
    "gamma": {"shape": 0.675},
    "gamma above 1": {"shape": 3.25},
    "weibull": {"shape": 0.4},
    "lognormal": {"cv": 1.5},
    "deterministic": {},
    "uniform": {},
}
SEVERITY = {"process": 0.5, "node": 0.4, "cluster": 0.1}


def law(name: str, mean: str = "14 h") -> Distribution:
    keys = {"distribution": name.split(maxsplit=1)[0], "mean": mean, **LAWS[name]}
    return Distribution.model_validate(keys)


EMPIRICAL = Distribution.model_validate({"distribution": "empirical", "durations": ["3 h", "9 h"]})


def all_laws() -> list[Distribution]:
    means = ("14 h", "29.9 h", "0.37 s")
    return [law(name, mean) for name in LAWS for mean in means] + [EMPIRICAL]


def numpys(each: Distribution, rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """What NumPy itself draws of the law."""
    mean_s, shape = each.expected_s, each.shape or 1.0
    variance = math.log1p((each.cv or 1.0) ** 2)
    draw = {
        "exponential": lambda: rng.exponential(mean_s, size),
        "gamma": lambda: rng.gamma(shape, mean_s / shape, size),
        "weibull": lambda: mean_s / math.gamma(1 + 1 / shape) * rng.weibull(shape, size),
        "lognormal": lambda: rng.lognormal(
            math.log(mean_s) - variance / 2, math.sqrt(variance), size
        ),
        "deterministic": lambda: np.full(size, mean_s),
        "uniform": lambda: rng.uniform(0.0, 2 * mean_s, size),
        "empirical": lambda: np.array(each.durations_s)[
            rng.integers(len(each.durations_s), size=size)
        ],
    }
    return draw[each.distribution]()


@pytest.mark.parametrize("each", all_laws(), ids=str)
def test_a_law_draws_what_numpy_draws_to_the_last_bit(each):
    size = COHORT, 9
    ours = each.sample(np.random.default_rng(5), size)
    assert ours.tobytes() == numpys(each, np.random.default_rng(5), size).tobytes()


@pytest.mark.parametrize("each", all_laws(), ids=str)
def test_lives_that_are_shared_are_those_of_the_law_alone(each):
    streams, size = CohortStreams(5, 2, SharedDraws()), (COHORT, 9)
    for draw, left in ((each.sample, False), (each.sample_left, True)):
        ours = streams.lives(each, Cause.NODE_LIFE, 1, 9, left=left)
        assert ours.tobytes() == draw(stream(5, 2, Cause.NODE_LIFE, 1), size).tobytes()


@pytest.mark.parametrize("aged", [False, True])
@pytest.mark.parametrize("each", all_laws(), ids=str)
def test_durations_of_rows_are_those_of_a_cohort_alone(each, aged):
    place = 7, 3, Cause.FAILURE_TIME
    streams = CohortStreams(7, 3, SharedDraws())
    ours = streams.durations(each, Cause.FAILURE_TIME, aged=aged)
    theirs = CohortDraws(each.sample, *place)
    first = each.sample_left(stream(*place, entity=1), (COHORT, 1))

    for columns in (1, 8, 9, 40):
        whole = np.array(theirs.upto(columns))
        if aged:  # from a stream of its own: all other columns are the same
            whole[:, :1] = first
        for rows in ([0], [17, COHORT - 1], range(COHORT)):
            found = ours.of(np.array(rows), columns)
            assert found.tolist() == whole[rows, :columns].tolist()
        again = streams.durations(each, Cause.FAILURE_TIME, aged=aged)
        assert again.of(np.arange(COHORT), columns).tolist() == whole[:, :columns].tolist()


@pytest.mark.parametrize("name", ["exponential", "gamma", "weibull", "uniform"])
def test_laws_that_differ_in_their_mean_draw_once(name, monkeypatch):
    made = []
    monkeypatch.setattr(
        "cprsim.basics.streams.stream", lambda *key: made.append(key) or stream(*key)
    )
    shared = SharedDraws()
    for mean in ("1 h", "2 h", "3 h"):
        CohortStreams(0, 0, shared).durations(law(name, mean), Cause.RESCHEDULE).of([0], 8)

    assert len(made) == 1


FAILURES = {
    "gamma": {"distribution": "gamma", "mean": "8 h", "shape": 0.675},
    "stationary weibull": {"distribution": "weibull", "mean": "8 h", "shape": 2.0},
    "new": {"distribution": "gamma", "mean": "8 h", "shape": 0.675, "ages": "new"},
    "exactly": {"exactly": 5},
    "none": {"exactly": 0},
    "severities": {"distribution": "exponential", "mean": "8 h", "severity": SEVERITY},
    "weights": {
        "distribution": "exponential",
        "mean": "8 h",
        "hits": {"trainers": 2, "weights": {"parameter_servers": 1, "trainers": 2}},
    },
    "nodes": {"distribution": "gamma", "mean": "80 h", "shape": 2.0, "per": "node"},
    "exponential nodes": {"distribution": "exponential", "mean": "80 h", "per": "node"},
}


def scenarios(failures: dict) -> list[Scenario]:
    """The same but for useful time, nodes, and the mean where there is one."""
    means = ["8 h", "80 h", "9.7 h"] if "mean" in failures else [None] * 3
    clusters = [(8, 4), (8, 5), (3, 4)]
    return [
        Scenario(
            **PLAIN
            | {"job": {"useful_time": f"{20 + i} h"}}
            | {"cluster": {"parameter_servers": nodes[0], "trainers": nodes[1]}}
            | {"failures": failures | ({} if mean is None else {"mean": mean})}
        )
        for i, (mean, nodes) in enumerate(zip(means, clusters, strict=True))
    ]


@pytest.mark.parametrize("name", FAILURES)
def test_timelines_are_the_same_whoever_shares_them(name):
    shared = SharedDraws()
    for each in scenarios(FAILURES[name]) * 2:
        model, numbers = each.failure_model, [300, 3, 0, 299]
        ours = timelines(model, 4, numbers, shared)
        for mine, alone in zip(ours, timelines(model, 4, numbers), strict=True):
            assert played(cursor_of(mine), 60.0) == played(cursor_of(alone), 60.0)


def test_no_more_is_kept_than_may_be():
    shared = SharedDraws(most=10)
    made = []

    def value(name: str) -> str:
        return shared.kept(name, lambda: made.append(name) or name, 4)

    assert [value(name) for name in "ababcab"] == list("ababcab")
    assert made == list("abcab")  # of three there is room for two
