"""Loss of a failure at a time of training, from what each save leaves."""

import numpy as np
import pytest

from cprsim.errors import UsageError
from cprsim.rows.lost import Lost
from cprsim.rows.movement import Made
from cprsim.rows.popularity import zipf

#: Saves at 0.25, 0.5, 0.75; half of the loss is left by each.
HALVED = Lost(0.25, np.array([0.125, 0.1875, 0.21875]))
NEVER = Lost(0.25, np.zeros(0))


def test_the_mean_is_the_area_of_the_trapezia():
    areas = [0.25 * 0.25 / 2, 0.25 * (0.125 + 0.375) / 2, 0.25 * (0.1875 + 0.4375) / 2]

    for saves in (1, 2, 3):
        assert HALVED.average(saves * 0.25) == pytest.approx(sum(areas[:saves]) / saves / 0.25)
    assert HALVED.average(0.6) == pytest.approx((sum(areas[:2]) + 0.1 * (0.1875 + 0.05)) / 0.6)
    assert [HALVED.average(0.1), NEVER.average(0.2)] == pytest.approx([0.05, 0.1])
    # Saving everything is a saw tooth: over 0.75 intervals without a save a loss of 0.375.
    assert HALVED.relative(0.75) == pytest.approx(HALVED.average(0.75) / 0.375)
    assert HALVED.share(0.6) == pytest.approx(HALVED.average(0.6) / 0.6)


def test_times_that_floats_do_not_meet_exactly():
    tenth = Lost(0.1, np.zeros(10))

    assert tenth.average(0.3) == pytest.approx(0.05)  # 0.3 / 0.1 is below 3 in floats
    assert tenth.average(0.7) == pytest.approx(0.05)


def test_tables_are_weighed_by_their_updates():
    both = Lost.together([HALVED, Lost(0.25, np.zeros(3))], [1.0, 3.0])

    assert both.after == pytest.approx(HALVED.after / 4)


def test_movement_has_the_mean_over_time_of_a_fine_grid():
    made = Made(zipf(500, 0.9), 3000.0)
    lost = Lost(0.25, np.array([90.0, 140.0, 150.0]), (made,))
    times = (np.arange(900) + 0.5) / 900 * 0.9
    done = (times / 0.25).astype(int)
    left = np.array([0.0, *lost.after])[done]
    unsaved = left + made.until(times) - made.until(done * 0.25)

    assert lost.average(0.9) == pytest.approx(unsaved.mean(), rel=1e-3)
    assert lost.relative(0.9) == pytest.approx(unsaved.mean() / made.until(times).mean(), rel=1e-3)
    assert lost.share(0.9) == pytest.approx(unsaved.mean() / made.until(0.9)[0], rel=1e-3)


@pytest.mark.parametrize("intervals", [1.1, 0.0])
def test_a_time_beyond_the_saves_is_refused(intervals):
    with pytest.raises(UsageError) as error:
        HALVED.average(intervals)
    assert str(error.value) == f"intervals is {intervals:g}; 3 saves reach 1"
