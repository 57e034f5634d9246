"""Saves and loads that fail, against sums over what can happen."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.formulas.attempts import mean_attempts, skipped_age_s


@given(st.floats(0.0, 0.9))
def test_attempts_are_geometric(fails):
    shares = [(n, fails ** (n - 1) * (1 - fails)) for n in range(1, 2000)]
    mean = math.fsum(n * share for n, share in shares)
    assert mean_attempts(fails) == pytest.approx(mean)


@pytest.mark.parametrize(("period_s", "total_s"), [(10.0, 47.0), (10.0, 40.0), (30.0, 47.0)])
@pytest.mark.parametrize("fails", [0.0, 0.05, 0.5])
def test_age_of_the_last_checkpoint_over_all_ways_that_saves_can_go(period_s, total_s, fails):
    saves = int(total_s / period_s)
    more_s = 0.0
    for void in itertools.product([False, True], repeat=saves):
        share = math.prod(fails if each else 1 - fails for each in void)
        for k in range(saves + 1):
            length_s = min(period_s, total_s - k * period_s)
            kept = [i + 1 for i in range(k) if not void[i]]
            more_s += share * length_s * (k - max(kept, default=0)) * period_s / total_s
    assert skipped_age_s(period_s, total_s, fails) == pytest.approx(more_s, abs=1e-12)


def test_age_of_the_last_checkpoint_in_the_long_run():
    # A random instant falls into a gap of length n with a probability that goes with n.
    long_run_s = 10.0 / 2 * (1.05 / 0.95) - 10.0 / 2
    assert skipped_age_s(10.0, 1e7, 0.05) == pytest.approx(long_run_s, rel=1e-5)
    assert skipped_age_s(math.inf, 100.0, 0.05) == 0.0
