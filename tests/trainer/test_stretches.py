"""What stretches of training take beside their steps, and saves by new servers or after those."""

import pytest

from cprsim.contract import Recover
from cprsim.failures.hit import Hit
from cprsim.trainer.validation.calibration import Calibration
from cprsim.trainer.validation.longness import Newness, longness
from cprsim.trainer.validation.stretches import StretchTimes


def test_how_long_a_stretch_is_grows_ever_more_slowly():
    assert [longness(steps) for steps in (0, 6, 18, 42)] == [0, 1, 2, 3]


def test_a_server_is_less_new_with_each_save():
    newness = Newness(2)

    assert [newness.saved() for _ in range(5)] == pytest.approx([2, 2 / 3, 2 / 9, 2 / 27, 0])
    newness.failed(Hit((), (0,)))
    newness.failed(Hit((0,), ()))
    assert [newness.saved(), newness.saved()] == pytest.approx([1, 1 / 3])
    newness.failed(Hit((0, 1), ()))
    assert newness.saved() == 2


def test_what_is_kept_of_a_stretch_was_slow_at_its_start():
    times = StretchTimes(Calibration(*(1.0, 0, 0, 0, 0, 0), slow_s=0.5, resumed_s=0.2), 2)
    times.span("load", 0, 1)
    times.span("train", 1, 21)
    times.answered(Recover("all"), 7, 0)

    assert times.kept_s == pytest.approx(7 + 0.2 + 0.5 * longness(7))
    assert times.lost_s == pytest.approx(13 + 0.5 * (longness(20) - longness(7)))


def test_a_save_takes_longer_by_new_servers():
    """All of them are when the job starts; a trainer that fails leaves them as they are."""
    times = StretchTimes(Calibration(*(1.0, 0, 0, 0, 0, 0), new_s=0.9), 2)

    def saved_s(at_s):
        before_s = times.saved_s
        times.span("train", at_s, at_s + 16)
        times.span("save", at_s + 16, at_s + 17)
        times.span("save", at_s + 17, at_s + 18)  # the same goes on
        return times.saved_s - before_s

    assert [saved_s(0), saved_s(20)] == pytest.approx([1.8, 0.6])
    times.failure(40, Hit((), (0,)))
    assert saved_s(40) == pytest.approx(0.2)
    times.failure(60, Hit((1,), ()))
    assert saved_s(60) == pytest.approx(0.9 + 0.1 / 3)


def test_a_save_takes_longer_the_more_steps_were_trained_since_the_one_before():
    """Those that are trained again count twice."""
    times = StretchTimes(Calibration(*(1.0, 0, 0, 0, 0, 0), long_s=0.7), 2)
    times.span("train", 0, 16)
    times.span("save", 16, 17)
    assert times.saved_s == 0
    times.span("train", 17, 20)
    times.span("save", 20, 21)
    times.span("save", 21, 22)  # the same goes on
    less_s = 0.7 * (longness(16) - longness(3))
    assert times.saved_s == pytest.approx(-less_s)
    times.span("train", 22, 30)
    times.answered(Recover("all"), 19, 0)
    times.span("reschedule", 30, 31)
    times.span("train", 31, 45)
    times.span("save", 45, 46)
    assert times.saved_s == pytest.approx(0.7 * (longness(22) - longness(16)) - less_s)
