"""Training beside saves in the background up to an instant, in closed form.

As `cprsim.batch.blocking`, where a save holds training up for its snapshot alone and is usable once
its last byte is stored. One is under way at a time: the next one waits for that, so cycles are as
long as the longer of the two, a period of training and a transfer.
"""

from typing import NamedTuple

import numpy as np

from cprsim.batch.blocking import Pace, count_is_unsure
from cprsim.batch.lanes import Floats, Integers, Lanes, Mask
from cprsim.batch.ties import rounding_error, sums_are_exact
from cprsim.contract import rules


class _BackgroundSegment(NamedTuple):
    """What lanes do until the end of the job if nothing fails, in seconds from now.

    `to_come` snapshots are taken before the end. The first is after `first_s`, at progress
    `from_s`, and then they are `cycle_s` and useful seconds of `stride_s` apart.
    """

    to_come: Floats
    first_s: Floats
    from_s: Floats
    cycle_s: Floats
    stride_s: Floats
    end_s: Floats

    def take(self, which: Mask) -> "_BackgroundSegment":
        return self if which.all() else _BackgroundSegment(*(each[which] for each in self))


def _segment(lanes: Lanes, pace: Pace) -> _BackgroundSegment:
    useful_s, rate = pace.useful_time_s, np.broadcast_to(pace.rate, len(lanes))
    # One that was due while another was under way that a failure made void is taken at once.
    due_at_s = np.maximum(lanes.due_s, lanes.progress_s)
    due_s = lanes.rest_s + (due_at_s - lanes.progress_s) / rate
    stored_s = np.where(lanes.rest_s > 0, lanes.rest_s + pace.stored_s, lanes.lands_s - lanes.now_s)
    waits = np.isfinite(stored_s) & (stored_s > due_s)
    first_s = np.where(waits, stored_s, due_s)
    waited_s = lanes.progress_s + (first_s - lanes.rest_s) * rate
    from_s = np.where(waits, np.maximum(waited_s, due_at_s), due_at_s)
    stride_s = np.maximum(pace.period_s, pace.stored_s * rate)
    to_come = rules.r4_saves(from_s, useful_s, stride_s)
    end_s = lanes.rest_s + (useful_s - lanes.progress_s) / rate + to_come * pace.save_s
    return _BackgroundSegment(
        to_come, first_s, from_s, stride_s / rate + pace.save_s, stride_s, end_s
    )


def advance(lanes: Lanes, pace: Pace, until_s: Floats) -> tuple[Lanes, Lanes, Integers]:
    """As `cprsim.batch.blocking.advance`."""
    segment = _segment(lanes, pace)
    # Too close to call comes first: such a lane is neither ended nor cut, and nothing of it is
    # kept.
    given_s = until_s - lanes.now_s
    too_close = _too_close(lanes, pace, segment, until_s)
    ended = (given_s >= segment.end_s) & ~too_close
    cut = ~(ended | too_close)
    finished, going = lanes.take(ended), lanes.take(cut)
    _cut(finished, pace.take(ended), segment.take(ended), segment.end_s[ended])
    finished.now_s += segment.end_s[ended]
    finished.progress_s[:] = pace.useful_time_s
    _cut(going, pace.take(cut), segment.take(cut), given_s[cut])
    going.now_s[:] = until_s[cut]
    return finished, going, lanes.number[too_close]


def land(lanes: Lanes) -> None:
    """Saves whose last byte is stored by now are usable."""
    _land(lanes, lanes.lands_s <= lanes.now_s)


def _cut(lanes: Lanes, pace: Pace, segment: _BackgroundSegment, given_s: Floats) -> None:
    """Go on for `given_s`."""
    # Copies: the fields are overwritten below while what they were before is still needed.
    start_s, rest_s, slowdown_s = (
        each.copy() for each in (lanes.progress_s, lanes.rest_s, lanes.slowdown_s)
    )
    number, within_s = _cycle(segment, given_s)
    began = (segment.to_come > 0) & (within_s > 0)
    taking = began & (within_s < pace.save_s)
    taken = number + (began & ~taking)
    rest = (rest_s > 0) & (given_s >= rest_s)

    into_s = np.where(taking, within_s, 0.0)
    lanes.stall_s += np.minimum(rest_s, given_s) + taken * pace.save_s + into_s
    trained_s = np.where(
        (segment.to_come > 0) & (within_s >= 0),
        segment.from_s
        - start_s
        + number * segment.stride_s
        + np.maximum(within_s - pace.save_s, 0.0) * pace.rate,
        np.maximum(given_s - rest_s, 0.0) * pace.rate,
    )
    slower = 1 / pace.rate - 1
    lanes.progress_s[:] = np.minimum(start_s + trained_s, pace.useful_time_s)
    lanes.slowdown_s += (lanes.progress_s - start_s) * slower
    again_s = segment.from_s + (number + began - 1.0) * segment.stride_s + pace.period_s
    lanes.due_s[:] = np.where(number + began > 0, again_s, lanes.due_s)
    lanes.rest_s[:] = np.where(taking, pace.save_s - within_s, np.maximum(rest_s - given_s, 0.0))

    # Each waits for the one before it to be stored, so all but the last are: the one under way at
    # first, the one whose snapshot a failure fell into, and new ones.
    _land(lanes, np.isfinite(lanes.lands_s) & (rest | (taken > 0)))
    if rest.any():
        _start(lanes, rest, lanes.now_s + rest_s + pace.stored_s, start_s, slowdown_s)
        _land(lanes, rest & (taken > 0))
    # Of all that were taken only the last two matter: the last may be under way still, and then the
    # job returns to the one before it, which is stored, since each waits for that.
    for save in (taken - 1.0, taken):
        at_s = segment.from_s + (save - 1.0) * segment.stride_s
        lands_s = lanes.now_s + segment.first_s + (save - 1.0) * segment.cycle_s
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


def _cycle(segment: _BackgroundSegment, given_s: Floats) -> tuple[Floats, Floats]:
    """In which cycle one is after `given_s`, and how far; before the first: less than 0."""
    beyond_s = given_s - segment.first_s
    number = np.floor(np.minimum(beyond_s / segment.cycle_s, segment.to_come - 1.0))
    number = np.maximum(number, 0.0)
    return number, beyond_s - number * segment.cycle_s


def _too_close(lanes: Lanes, pace: Pace, segment: _BackgroundSegment, until_s: Floats) -> Mask:
    """Which lanes are too close to call."""
    given_s = until_s - lanes.now_s
    by_s = np.minimum(given_s, segment.end_s)  # when it matters what is stored
    share = rounding_error(lanes.saves + segment.to_come)
    too_close = count_is_unsure(segment.from_s, segment.to_come, segment.stride_s, pace, share)
    error_s = share * (lanes.now_s + segment.end_s)
    _, within_s = _cycle(segment, given_s)
    for turn_s in (0.0, pace.save_s, segment.cycle_s):
        too_close |= (np.abs(within_s - turn_s) <= error_s) & (segment.to_come > 0)
    _, within_s = _cycle(segment, by_s)
    stored_s = pace.save_s + pace.stored_s
    too_close |= (np.abs(within_s - stored_s) <= error_s) & (segment.to_come > 0)
    for turn_s in (lanes.rest_s, lanes.rest_s + pace.stored_s):
        too_close |= (np.abs(by_s - turn_s) <= error_s) & (lanes.rest_s > 0)
    too_close |= np.abs(given_s - segment.end_s) <= error_s
    under_way = np.isfinite(lanes.lands_s)
    if under_way.any():
        lands_s = np.where(under_way, lanes.lands_s - lanes.now_s, -1.0)
        too_close |= (np.abs(by_s - lands_s) <= error_s) & under_way
    if too_close.any():
        times_s = (lanes.now_s, lanes.progress_s, lanes.due_s, lanes.rest_s, until_s)
        rounds = sums_are_exact(
            *times_s, segment.from_s, segment.stride_s, pace.save_s, pace.stored_s
        )
        too_close &= ~(rounds & (np.asarray(pace.rate) == 1.0))
    return too_close
