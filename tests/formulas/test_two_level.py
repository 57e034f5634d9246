"""Two-level patterns against `systems.md`, section 3.5, and a simulation of single failures."""

import math
import random
import statistics

import pytest

from cprsim.formulas.intervals import young_interval_s
from cprsim.formulas.makespan import blocking_segment_s
from tests.formulas.forms import two_level_pattern_s
from tools.validation.formulas import first_order_overhead

# n, W, near save, far save, near rate, far rate, near load, far load
SHORT = (10, 20, 1, 10, 1 / 200, 1 / 2000, 2, 30)
LONG = (5, 60, 0.5, 6, 1 / 100, 1 / 5000, 1, 60)


@pytest.mark.parametrize(("arguments", "expected"), [(SHORT, 251.6748), (LONG, 453.6161)])
def test_printed_cases(arguments, expected):
    assert two_level_pattern_s(*arguments) == pytest.approx(expected, abs=5e-5)


def play(generator, segments, work, near_save, far_save, near_rate, far_rate, near_load, far_load):
    """One pattern, failure by failure: each kind has a clock of its own."""
    wall = segment = 0
    while segment < segments:
        length = work + (near_save if segment < segments - 1 else far_save)
        near = generator.expovariate(near_rate)
        far = generator.expovariate(far_rate)
        if min(near, far) >= length:
            wall += length
            segment += 1
        elif near < far:
            wall += near + near_load
        else:
            wall += far + far_load
            segment = 0
    return wall


# The last has a far failure in most patterns, and a dear far save that takes the near one's place.
@pytest.mark.parametrize("arguments", [SHORT, LONG, (4, 10, 3, 25, 1 / 40, 1 / 50, 2, 7)])
def test_simulated_failures(arguments):
    generator = random.Random(11)
    walls = [play(generator, *arguments) for _ in range(20_000)]
    error = statistics.stdev(walls) / math.sqrt(len(walls))
    assert error < 0.01 * statistics.fmean(walls)
    assert abs(statistics.fmean(walls) - two_level_pattern_s(*arguments)) < 3 * error


def test_two_segments_by_hand():
    # ln 2 a second and a work of 1 s: a try fails half the time, after M - 1 s on average, where
    # M = 1/ln 2; half of the failures are far. E2 = M/2 + (2 + E2)/4 + (6 + E1)/4 and
    # E1 = M/2 + E2/2 + (2 + E1)/4 + (6 + E1)/4; so E2 = E1 - M - 4 and E1 = 2.5 M + 10.
    rate = math.log(2) / 2
    found = two_level_pattern_s(2, 1.0, 0.0, 0.0, rate, rate, 2.0, 6.0)
    assert found == pytest.approx(2.5 / math.log(2) + 10)


def test_far_failures_alone_repeat_the_whole_pattern():
    # Its near saves are of no use: one segment with all the work and all the saves in it.
    found = two_level_pattern_s(4, 25, 1, 8, 0.0, 1 / 150, 99, 12)
    assert found == pytest.approx(blocking_segment_s(100, 11, 150, 12, during_recovery=False))


def test_near_failures_alone_repeat_a_segment():
    near = blocking_segment_s(25, 1, 150, 2, during_recovery=False)
    last = blocking_segment_s(25, 8, 150, 2, during_recovery=False)
    found = two_level_pattern_s(4, 25, 1, 8, 1 / 150, 0.0, 2, 99)
    assert found == pytest.approx(3 * near + last)


def test_no_failures():
    assert two_level_pattern_s(4, 25, 1, 8, 0.0, 0.0, 2, 12) == 111.0
    assert two_level_pattern_s(4, 25, 1, 8, 1e-15, 1e-16, 2, 12) == pytest.approx(111.0)


def test_failures_that_let_nothing_pass():
    assert two_level_pattern_s(2, 1e6, 0, 0, 1.0, 0.0, 2, 12) == math.inf
    assert two_level_pattern_s(2, 1e6, 0, 0, 1.0, 1.0, 2, 12) == math.inf


def test_rare_passes_keep_their_digits():
    # One segment, exp(-30) to pass it: (M + R)(exp(30) - 1) to the last digits.
    found = two_level_pattern_s(1, 30.0, 0, 0, 0.0, 1.0, 0, 2)
    assert found == pytest.approx(3 * math.expm1(30), rel=1e-12)


def test_first_order_is_the_optimum_for_rare_failures():
    near_rate, far_rate, near_save, far_save = 1e-6, 1e-8, 0.01, 10.0
    work = young_interval_s(near_save, 1 / near_rate)
    best = math.inf
    for segments in range(100, 1000, 5):
        wall = two_level_pattern_s(
            segments, work, near_save, far_save, near_rate, far_rate, 0.0, 0.0
        )
        best = min(best, wall / (segments * work) - 1)
    predicted = first_order_overhead([near_rate, far_rate], [near_save, far_save])
    # sqrt(2e-8) + sqrt(2e-7), by hand; the next order is the overhead squared
    assert predicted == pytest.approx(1.41421e-4 + 4.47214e-4, rel=1e-5)
    assert best == pytest.approx(predicted, rel=0.003)


def test_first_order_of_one_level_is_youngs():
    # save/tau + tau/2M at tau = sqrt(2 save M) = 600: 0.1 + 0.1
    assert first_order_overhead([1 / 3000], [60.0]) == pytest.approx(0.2)
    assert first_order_overhead([], []) == 0.0
