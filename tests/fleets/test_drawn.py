"""Oracles: closed forms of truncated laws, and what one value in place of a law would be."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from cprsim.basics.streams import COHORT
from cprsim.scenario.drawn import Drawn, tables

COHORTS = 20
N = COHORTS * COHORT
HOUR = 3600.0


def law(**keys) -> Drawn:
    return Drawn.model_validate(keys)


def draws(drawn: Drawn, key: str = "job.useful_time", seed: int = 0) -> np.ndarray:
    return np.array([value for i in range(COHORTS) for value in drawn.cohort(seed, i, key)])


@pytest.mark.parametrize(
    "keys",
    [
        {"distribution": "exponential"},
        {"distribution": "gamma", "shape": 0.675},
        {"distribution": "weibull", "shape": 1.5},
        {"distribution": "lognormal", "cv": 1.2},
    ],
    ids=lambda keys: keys["distribution"],
)
def test_a_law_without_limits_has_its_mean(keys):
    found = draws(law(mean="40 h", **keys))

    assert abs(found.mean() - 40 * HOUR) < 3 * found.std() / math.sqrt(N)


def test_a_lognormal_law_between_limits_has_the_mean_of_what_lies_between_them():
    mean, cv, low, high = 6.0, 0.8, 10.0, 50.0
    found = draws(law(distribution="lognormal", mean="6 h", cv=cv, min="10 h", max="50 h")) / HOUR
    sigma = math.sqrt(math.log1p(cv**2))
    mu = math.log(mean) - sigma**2 / 2
    a, b = (math.log(low) - mu) / sigma, (math.log(high) - mu) / sigma
    # E[X; low < X < high] / P(low < X < high) of a lognormal law
    expected = mean * (ndtr(b - sigma) - ndtr(a - sigma)) / (ndtr(b) - ndtr(a))

    assert found.min() >= low
    assert found.max() <= high
    assert abs(found.mean() - expected) < 3 * found.std() / math.sqrt(N)


def test_a_uniform_law_lies_between_its_limits():
    found = draws(law(distribution="uniform", min="14 h", max="30 h")) / HOUR

    assert 14 <= found.min() < found.max() <= 30
    assert abs(found.mean() - 22) < 3 * (16 / math.sqrt(12)) / math.sqrt(N)


def test_listed_values_are_drawn_as_they_stand_each_as_often():
    values = ["optimal", "1 h", 3, True]
    found = law(distribution="empirical", values=values).cohort(0, 0, "a")

    assert {type(each) for each in found} == {str, int, bool}
    for value in values:
        count = sum(each is value for each in found)
        assert abs(count - COHORT / 4) < 3 * math.sqrt(COHORT * 3 / 16)


def test_draws_depend_on_seed_cohort_and_key_alone():
    drawn = law(distribution="lognormal", mean="40 h", cv=1.2)

    first = drawn.cohort(0, 0, "job.useful_time")
    assert drawn.cohort(0, 0, "job.useful_time") == first
    others = [(1, 0, "job.useful_time"), (0, 1, "job.useful_time"), (0, 0, "costs.save")]
    assert all(not set(first) & set(drawn.cohort(*other)) for other in others)


@pytest.mark.parametrize(
    ("keys", "written", "number"),
    [
        ({"distribution": "deterministic", "mean": "56 h"}, "56 h", 201_600.0),
        ({"distribution": "deterministic", "mean": "0.3 GB"}, "300 MB", 3e8),
        ({"distribution": "deterministic", "mean": "25 Gbit/s"}, "3.125 GB/s", 3.125e9),
        ({"distribution": "deterministic", "mean": 0.1}, 0.1, 0.1),
    ],
)
def test_a_value_is_written_as_a_scenario_file_has_it(keys, written, number):
    drawn = law(**keys)
    value = drawn.cohort(0, 0, "x")[0]

    assert drawn.written(value) == written
    assert drawn.number(written) == number == value


def test_listed_quantities_of_one_kind_have_si_units_too():
    drawn = law(distribution="empirical", values=["1 h", "90 min"])

    assert drawn.kind.suffix == "_s"
    assert drawn.number("90 min") == 5400.0


def test_tables_that_stand_for_a_value():
    delay = {"distribution": "exponential", "mean": "1 h"}
    at_each_failure = {"costs": {"reschedule": delay}, "failures": dict(delay)}
    per_job = {"costs": {"reschedule": delay | {"per": "job"}}}
    inner = {
        "costs": {"reschedule": delay | {"mean": delay}},
        "model": {"tables": [{"rows": delay}]},
    }

    assert list(tables(at_each_failure)) == []
    assert [path for path, _ in tables(per_job)] == [("costs", "reschedule")]
    assert [path for path, _ in tables(inner)] == [
        ("costs", "reschedule", "mean"),
        ("model", "tables", "0", "rows"),
    ]
