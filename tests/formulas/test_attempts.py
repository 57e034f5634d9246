"""Saves and loads that fail, against sums over what can happen and against forms without them."""

import itertools
import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.formulas.attempts import mean_attempts, skipped_age_s
from cprsim.formulas.makespan import blocking_segment_s
from tests.formulas.forms import attempts_variance, retried_segment_s

CHANCES = st.floats(0.0, 0.9)
TIMES = st.floats(0.0, 100.0)


@given(CHANCES)
def test_attempts_are_geometric(fails):
    shares = [(n, fails ** (n - 1) * (1 - fails)) for n in range(1, 2000)]
    mean = math.fsum(n * share for n, share in shares)
    assert mean_attempts(fails) == pytest.approx(mean)
    variance = math.fsum((n - mean) ** 2 * share for n, share in shares)
    assert attempts_variance(fails) == pytest.approx(variance, abs=1e-12)


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


@given(TIMES, TIMES, st.floats(10.0, 1e4), TIMES, TIMES, st.booleans())
def test_what_never_fails_is_tried_once(work_s, save_s, mtbf_s, load_s, downtime_s, during):
    without = blocking_segment_s(work_s, save_s, mtbf_s, load_s, downtime_s, during_recovery=during)
    found = retried_segment_s(
        work_s, save_s, mtbf_s, load_s, downtime_s, 0.0, 0.0, during_recovery=during
    )
    assert found == pytest.approx(without, rel=1e-12)


@given(TIMES, TIMES, CHANCES, CHANCES)
def test_where_no_node_fails_saves_alone_are_tried_again(work_s, save_s, void, failed):
    found = retried_segment_s(work_s, save_s, math.inf, 5.0, 3.0, void, failed)
    assert found == pytest.approx(work_s + save_s / (1 - void))
    nearly = retried_segment_s(work_s, save_s, 1e12, 5.0, 3.0, void, failed)
    assert nearly == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize("during", [True, False])
def test_a_segment_played_event_by_event(during):
    chance = random.Random(1)

    def lasts(length_s: float, left_s: float) -> tuple[float, float]:
        """What of it is done before the failure, and what is then left until that."""
        return (length_s, left_s - length_s) if length_s <= left_s else (left_s, 0.0)

    def attempts(fails: float) -> int:
        return 1 + next(n for n in itertools.count() if chance.random() >= fails)

    def played() -> float:
        now_s, left_s = 0.0, chance.expovariate(1 / 100)
        while True:
            done_s, left_s = lasts(50.0 + 5.0 * attempts(0.4), left_s)
            now_s += done_s
            if left_s:
                return now_s
            while not left_s:
                now_s += 3.0
                left_s, load_s = chance.expovariate(1 / 100), 10.0 * attempts(0.3)
                if during:
                    load_s, left_s = lasts(load_s, left_s)
                now_s += load_s

    runs = [played() for _ in range(20000)]
    exact_s = retried_segment_s(50, 5, 100, 10, 3, 0.4, 0.3, during_recovery=during)
    error_s = statistics.stdev(runs) / math.sqrt(len(runs))
    assert abs(statistics.fmean(runs) - exact_s) <= 3 * error_s
