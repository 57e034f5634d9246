"""Training beside saves in the background up to an instant, in closed form.

As `cprsim.batch.blocking`, where a save holds training up for its snapshot alone and is usable once
its last byte is stored. One is under way at a time: the next one waits for that, so cycles are as
long as the longer of the two, a period of training and a transfer.
"""

from typing import NamedTuple

import numpy as np

from cprsim.batch.blocking import Pace, unclear
from cprsim.batch.lanes import Floats, Lanes, Mask, Whole
from cprsim.batch.ties import exact, off
from cprsim.contract import rules


class _Course(NamedTuple):
    """What lanes will do from now on, in seconds from now.

    `to_come` snapshots are taken before the end. The first is after `first_s`, at progress
    `from_s`, and then they are `cycle_s` and useful seconds of `stride_s` apart.
    """

    to_come: Floats
    first_s: Floats
    from_s: Floats
    cycle_s: Floats
    stride_s: Floats
    end_s: Floats

    def take(self, which: Mask) -> "_Course":
        return self if which.all() else _Course(*(each[which] for each in self))


def _course(lanes: Lanes, pace: Pace) -> _Course:
    useful_s, rate = pace.useful_time_s, np.broadcast_to(pace.rate, len(lanes))
    # One that was due while another was under way that a failure made void is taken at once.
    due_at_s = np.maximum(lanes.due_s, lanes.progress_s)
    due_s = lanes.left_s + (due_at_s - lanes.progress_s) / rate
    stored_s = np.where(lanes.left_s > 0, lanes.left_s + pace.stored_s, lanes.lands_s - lanes.now_s)
    waits = np.isfinite(stored_s) & (stored_s > due_s)
    first_s = np.where(waits, stored_s, due_s)
    waited_s = lanes.progress_s + (first_s - lanes.left_s) * rate
    from_s = np.where(waits, np.maximum(waited_s, due_at_s), due_at_s)
    stride_s = np.maximum(pace.period_s, pace.stored_s * rate)
    to_come = rules.r4_saves(from_s, useful_s, stride_s)
    end_s = lanes.left_s + (useful_s - lanes.progress_s) / rate + to_come * pace.save_s
    return _Course(to_come, first_s, from_s, stride_s / rate + pace.save_s, stride_s, end_s)


def advance(lanes: Lanes, pace: Pace, until_s: Floats) -> tuple[Lanes, Lanes, Whole]:
    """As `cprsim.batch.blocking.advance`."""
    course = _course(lanes, pace)
    # Too close to call comes first: such a lane is neither ended nor cut, and nothing of it is
    # kept.
    given_s = until_s - lanes.now_s
    close = _close(lanes, pace, course, until_s)
    ended = (given_s >= course.end_s) & ~close
    cut = ~(ended | close)
    finished, going = lanes.take(ended), lanes.take(cut)
    _cut(finished, pace.of(ended), course.take(ended), course.end_s[ended])
    finished.now_s += course.end_s[ended]
    finished.progress_s[:] = pace.useful_time_s
    _cut(going, pace.of(cut), course.take(cut), given_s[cut])
    going.now_s[:] = until_s[cut]
    return finished, going, lanes.number[close]


def land(lanes: Lanes) -> None:
    """Saves whose last byte is stored by now are usable."""
    _land(lanes, lanes.lands_s <= lanes.now_s)


def _cut(lanes: Lanes, pace: Pace, course: _Course, given_s: Floats) -> None:
    """Go on for `given_s`."""
    # Copies: the fields are overwritten below while what they were before is still needed.
    start_s, left_s, slowdown_s = (
        each.copy() for each in (lanes.progress_s, lanes.left_s, lanes.slowdown_s)
    )
    number, within_s = _cycle(course, given_s)
    began = (course.to_come > 0) & (within_s > 0)
    taking = began & (within_s < pace.save_s)
    taken = number + (began & ~taking)
    rest = (left_s > 0) & (given_s >= left_s)

    into_s = np.where(taking, within_s, 0.0)
    lanes.stall_s += np.minimum(left_s, given_s) + taken * pace.save_s + into_s
    trained_s = np.where(
        (course.to_come > 0) & (within_s >= 0),
        course.from_s
        - start_s
        + number * course.stride_s
        + np.maximum(within_s - pace.save_s, 0.0) * pace.rate,
        np.maximum(given_s - left_s, 0.0) * pace.rate,
    )
    slower = 1 / pace.rate - 1
    lanes.progress_s[:] = np.minimum(start_s + trained_s, pace.useful_time_s)
    lanes.slowdown_s += (lanes.progress_s - start_s) * slower
    again_s = course.from_s + (number + began - 1.0) * course.stride_s + pace.period_s
    lanes.due_s[:] = np.where(number + began > 0, again_s, lanes.due_s)
    lanes.left_s[:] = np.where(taking, pace.save_s - within_s, np.maximum(left_s - given_s, 0.0))

    # Each waits for the one before it to be stored, so all but the last are: the one under way at
    # first, the one whose snapshot a failure fell into, and new ones.
    _land(lanes, np.isfinite(lanes.lands_s) & (rest | (taken > 0)))
    if rest.any():
        _start(lanes, rest, lanes.now_s + left_s + pace.stored_s, start_s, slowdown_s)
        _land(lanes, rest & (taken > 0))
    # Of all that were taken only the last two matter: the last may be under way still, and then the
    # job returns to the one before it, which is stored, since each waits for that.
    for save in (taken - 1.0, taken):
        at_s = course.from_s + (save - 1.0) * course.stride_s
        lands_s = lanes.now_s + course.first_s + (save - 1.0) * course.cycle_s
        lands_s += pace.save_s + pace.stored_s
        slowed_s = slowdown_s + (at_s - start_s) * slower
        _start(lanes, (save > 0) & (taken > 0), lands_s, at_s, slowed_s)
        if save is not taken:
            _land(lanes, save > 0, np.maximum(save, 0.0))
    _land(lanes, lanes.lands_s <= lanes.now_s + given_s)


def _start(
    lanes: Lanes, which: Mask, lands_s: Floats, progress_s: Floats, slowdown_s: Floats
) -> None:
    """Saves of some lanes, taken at that progress, are under way until `lands_s`."""
    lanes.lands_s[:] = np.where(which, lands_s, lanes.lands_s)
    lanes.pending_s[:] = np.where(which, progress_s, lanes.pending_s)
    lanes.pending_slowdown_s[:] = np.where(which, slowdown_s, lanes.pending_slowdown_s)
    lanes.pending_lost[:] = np.where(which, lanes.updates_lost, lanes.pending_lost)


def _land(lanes: Lanes, which: Mask, saves: float | Floats = 1.0) -> None:
    """What is under way in some lanes is stored, as the last of so many saves."""
    if not which.any():
        return
    lanes.saves += which * saves
    lanes.round += which * saves
    lanes.saved_s[:] = np.where(which, lanes.pending_s, lanes.saved_s)
    lanes.saved_slowdown_s[:] = np.where(which, lanes.pending_slowdown_s, lanes.saved_slowdown_s)
    lanes.saved_lost[:] = np.where(which, lanes.pending_lost, lanes.saved_lost)
    lanes.lands_s[:] = np.where(which, np.inf, lanes.lands_s)


def _cycle(course: _Course, given_s: Floats) -> tuple[Floats, Floats]:
    """In which cycle one is after `given_s`, and how far; before the first: less than 0."""
    beyond_s = given_s - course.first_s
    number = np.floor(np.minimum(beyond_s / course.cycle_s, course.to_come - 1.0))
    number = np.maximum(number, 0.0)
    return number, beyond_s - number * course.cycle_s


def _close(lanes: Lanes, pace: Pace, course: _Course, until_s: Floats) -> Mask:
    """Which lanes are too close to call."""
    given_s = until_s - lanes.now_s
    by_s = np.minimum(given_s, course.end_s)  # when it matters what is stored
    share = off(lanes.saves + course.to_come)
    close = unclear(course.from_s, course.to_come, course.stride_s, pace, share)
    off_s = share * (lanes.now_s + course.end_s)
    _, within_s = _cycle(course, given_s)
    for turn_s in (0.0, pace.save_s, course.cycle_s):
        close |= (np.abs(within_s - turn_s) <= off_s) & (course.to_come > 0)
    _, within_s = _cycle(course, by_s)
    stored_s = pace.save_s + pace.stored_s
    close |= (np.abs(within_s - stored_s) <= off_s) & (course.to_come > 0)
    for turn_s in (lanes.left_s, lanes.left_s + pace.stored_s):
        close |= (np.abs(by_s - turn_s) <= off_s) & (lanes.left_s > 0)
    close |= np.abs(given_s - course.end_s) <= off_s
    under_way = np.isfinite(lanes.lands_s)
    if under_way.any():
        lands_s = np.where(under_way, lanes.lands_s - lanes.now_s, -1.0)
        close |= (np.abs(by_s - lands_s) <= off_s) & under_way
    if close.any():
        times_s = (lanes.now_s, lanes.progress_s, lanes.due_s, lanes.left_s, until_s)
        rounds = exact(*times_s, course.from_s, course.stride_s, pace.save_s, pace.stored_s)
        close &= ~(rounds & (np.asarray(pace.rate) == 1.0))
    return close
