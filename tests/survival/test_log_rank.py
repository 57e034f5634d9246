"""The log-rank test: published figures, other software, and degenerate samples."""

import math

import numpy as np
import pytest

from cprsim.survival.kaplan_meier import log_rank
from cprsim.survival.sample import Sample

#: Acute myelogenous leukaemia, weeks in remission, 0: censored (R. G. Miller, Survival Analysis,
#: 1981, p. 49; `aml` of R's package survival): maintained, and not.
AML = (
    [9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161, 5, 5, 8, 8, 12, 16, 23, 27, 30, 33, 43, 45],
    [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1],
    [0] * 11 + [1] * 12,
)
#: Made up: four groups with ties within and across.
FOUR = (
    [
        *(4, 6, 6, 9, 12, 15, 15, 22, 30, 41, 3, 3, 5, 8, 8, 8, 11, 14, 19, 25, 25),
        *(10, 20, 20, 35, 50, 60, 60, 75, 1, 2, 2, 4, 7),
    ],
    [
        *(1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0),
        *(1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0),
    ],
    [0] * 10 + [1] * 11 + [2] * 8 + [3] * 5,
)


def groups(times: list[int], observed: list[int], group: list[int]) -> list[Sample]:
    durations, ended, of = np.array(times, np.float64), np.array(observed, bool), np.array(group)
    return [Sample(durations[of == each], ended[of == each]) for each in np.unique(of)]


@pytest.mark.parametrize(
    ("data", "freedom", "chi2", "p"),
    [
        # lifelines 0.30.3, `multivariate_logrank_test(times, group, observed)`; of the first R's
        # `survdiff(Surv(time, status) ~ x, aml)` prints chi-square 3.4 on 1 degree, p = 0.07.
        (AML, 1, 3.3963886989776024, 0.0653393220405049),
        (FOUR, 3, 24.20905753186334, 2.2591208209721465e-05),
    ],
    ids=["aml", "four"],
)
def test_it_is_that_of_other_software(data, freedom: int, chi2: float, p: float) -> None:
    found = log_rank(groups(*data))
    assert found is not None
    assert found.freedom == freedom
    assert found.chi2 == pytest.approx(chi2, rel=1e-9)
    assert found.p == pytest.approx(p, rel=1e-7)
    assert found.is_sure == (data is FOUR)


def test_groups_of_one_law_differ_as_often_as_they_should() -> None:
    """Of 300 triples of heavy-tailed samples 15 have p < 0.05, within four standard errors."""
    rng, low = np.random.default_rng(1), 0
    for _ in range(300):
        every = [rng.lognormal(0, 2, n) for n in (12, 40, 90)]
        found = log_rank([Sample(np.minimum(each, 8), each <= 8) for each in every])
        assert found is not None
        low += found.p < 0.05
    assert abs(low - 15) < 4 * math.sqrt(300 * 0.05 * 0.95)


def test_the_order_and_unit_change_nothing() -> None:
    one = log_rank(groups(*FOUR))
    other = log_rank(
        [Sample(3600 * each.durations_s, each.observed) for each in reversed(groups(*FOUR))]
    )
    assert one is not None
    assert other is not None
    assert other.chi2 == pytest.approx(one.chi2, rel=1e-12)


def test_where_there_is_nothing_to_compare() -> None:
    alone = Sample.complete([1.0, 2.0, 3.0])
    assert log_rank([]) is None
    assert log_rank([alone]) is None
    # Nothing of the first goes on when the second's durations end.
    assert (
        log_rank([Sample(np.array([1.0, 2.0]), np.zeros(2, bool)), Sample.complete([5.0])]) is None
    )
    # A third that is gone by then takes no degree of freedom.
    gone = Sample(np.array([0.5]), np.zeros(1, bool))
    two, three = (
        log_rank([alone, Sample.complete([2.0, 9.0])]),
        log_rank([alone, Sample.complete([2.0, 9.0]), gone]),
    )
    assert two == three
