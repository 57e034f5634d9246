import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from cprsim.failures.logs.traces import read_lanl
from cprsim.survival.order import dependence
from tests.survival.cases import LANL, needs_lanl


def test_it_is_spearmans_correlation_of_each_gap_with_the_next():
    """Ranks are taken over all gaps, SciPy's of all but one: the same but for that one."""
    gaps = np.random.default_rng(0).gamma(0.6, 1.0, 2000)

    found = dependence([gaps])

    assert found is not None
    assert found.correlation == pytest.approx(spearmanr(gaps[:-1], gaps[1:])[0], abs=1e-3)
    assert found.z == found.correlation * math.sqrt(1999)


def test_independent_gaps_are_hardly_ever_clustered():
    """One in 740 by the normal law: in 300 samples, 3 or more have a chance of 0.8 %."""
    rng = np.random.default_rng(1)
    found = [dependence([rng.gamma(0.6, 1.0, 300)]) for _ in range(300)]

    assert sum(each is not None and each.clustered for each in found) < 3


def test_jobs_that_share_failures_know_no_more_than_those():
    gaps = np.random.default_rng(3).exponential(1.0, 500)

    once, often = dependence([gaps], 500), dependence([gaps] * 10, 500)

    assert once is not None
    assert often is not None
    assert often.z == pytest.approx(once.z, rel=0.01)


@pytest.mark.parametrize(
    "sequences",
    [[], [np.array([1.0])], [np.array([1.0, 2.0])], [np.array([1.0])] * 9, [np.ones(9)]],
)
def test_there_may_be_nothing_to_tell(sequences):
    assert dependence(sequences) is None


@needs_lanl
@pytest.mark.parametrize(("system", "clustered"), [(20, True), (18, False)])
def test_lanl_systems_in_the_second_half_of_their_lives(system, clustered):
    gaps = np.diff(read_lanl(LANL, system).part((0.5, 1.0)).times_s)

    found = dependence([gaps[gaps > 0]])

    assert found is not None
    assert found.clustered == clustered
