"""Two-level patterns by hand, and where they are patterns of one level."""

import math

import pytest

from cprsim.closed_form.intervals import young_interval_s
from cprsim.closed_form.makespan import blocking_segment_s
from tools.validation.two_level import first_order_overhead, two_level_pattern_s


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
