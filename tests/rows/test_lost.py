import numpy as np
import pytest

from cprsim.errors import UsageError
from cprsim.rows.lost import LostShare, vanilla

#: Saves at 0.25, 0.5, 0.75; half of the loss is left by each.
HALVED = LostShare.expected(0.25, np.array([0.125, 0.1875, 0.21875]))


def test_the_loss_grows_between_saves():
    assert HALVED.before == pytest.approx([0.25, 0.375, 0.4375])


def test_the_mean_is_the_area_of_the_trapezia():
    areas = [0.25 * 0.25 / 2, 0.25 * (0.125 + 0.375) / 2, 0.25 * (0.1875 + 0.4375) / 2]

    for saves in (1, 2, 3):
        assert HALVED.average(saves * 0.25) == pytest.approx(sum(areas[:saves]) / saves / 0.25)
    assert HALVED.average(0.6) == pytest.approx((sum(areas[:2]) + 0.1 * (0.1875 + 0.05)) / 0.6)
    assert HALVED.average(0.1) == pytest.approx(0.05)


def test_vanilla_is_a_saw_tooth():
    """Over 1.25 intervals: 1/2 for the first, 1/8 on average for the last quarter."""
    assert [vanilla(intervals) for intervals in (0.5, 1, 3)] == [0.25, 0.5, 0.5]
    assert vanilla(1.25) == pytest.approx((0.5 + 0.25 * 0.125) / 1.25)
    assert HALVED.relative(0.75) == pytest.approx(HALVED.average(0.75) / 0.375)


def test_times_that_floats_do_not_meet_exactly():
    tenth = LostShare.expected(0.1, np.zeros(10))

    assert tenth.average(0.3) == pytest.approx(0.05)  # 0.3 / 0.1 is below 3 in floats
    assert tenth.average(0.7) == pytest.approx(0.05)


def test_tables_are_weighed_by_their_updates():
    whole = LostShare.expected(0.25, np.zeros(3))
    both = LostShare.together([HALVED, whole], [1.0, 3.0])

    assert both.after == pytest.approx(HALVED.after / 4)
    assert both.before == pytest.approx(HALVED.before / 4 + 0.25 * 3 / 4)


def test_before_the_first_save():
    none = LostShare.expected(0.25, np.zeros(0))

    assert none.average(0.2) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: HALVED.average(1.1), "intervals is 1.1; 3 saves reach 1"),
        (lambda: HALVED.average(0.0), "intervals is 0; 3 saves reach 1"),
    ],
)
def test_faults(call, text):
    with pytest.raises(UsageError) as error:
        call()
    assert str(error.value) == text
