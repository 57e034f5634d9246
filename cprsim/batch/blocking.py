"""Training and blocking saves up to an instant, in closed form."""

from typing import NamedTuple

import numpy as np

from cprsim.batch.lanes import Floats, Integers, Lanes, Mask
from cprsim.batch.ties import rounding_error, sums_are_exact
from cprsim.contract import rules


class Pace(NamedTuple):
    """What runs of one policy do until something happens.

    `period_s`: useful seconds between saves, finite; `save_s`: what one takes, `final_s` what one
    after the end takes, if `has_final`. `rate`: useful seconds in a second, of all lanes or each.
    In the background a save holds training up for `save_s`, and is stored after `stored_s` more.
    """

    useful_time_s: float
    period_s: float
    save_s: float
    final_s: float
    has_final: bool
    rate: float | Floats
    stored_s: float = 0.0

    def take(self, which: Mask) -> "Pace":
        """The same for some of the lanes."""
        return self._replace(rate=self.rate[which]) if isinstance(self.rate, np.ndarray) else self


class Segment(NamedTuple):
    """What lanes do until the end of the job if nothing fails, in seconds from now.

    `to_come` saves are due before the end. The first starts after `first_s`; each is a cycle with
    the training after it. Training ends after `trained_s`, the job after `end_s`.
    """

    to_come: Floats
    first_s: Floats
    trained_s: Floats
    end_s: Floats

    @classmethod
    def from_lanes(cls, lanes: Lanes, pace: Pace) -> "Segment":
        """From the state of the lanes."""
        useful_s, period_s, rate = pace.useful_time_s, pace.period_s, pace.rate
        count = rules.r4_saves(lanes.due_s, useful_s, period_s)
        first_s = lanes.rest_s + (np.minimum(lanes.due_s, useful_s) - lanes.progress_s) / rate
        trained_s = lanes.rest_s + (useful_s - lanes.progress_s) / rate + count * pace.save_s
        if not pace.has_final:
            return cls(count, first_s, trained_s, trained_s)
        return cls(count, first_s, trained_s, trained_s + np.where(lanes.final, 0.0, pace.final_s))

    def take(self, which: Mask) -> "Segment":
        """That of some of the lanes."""
        return self if which.all() else Segment(*(each[which] for each in self))

    def cycle(self, pace: Pace, given_s: Floats) -> tuple[Floats, Floats]:
        """In which cycle one is after `given_s`, and how far; before the first: less than 0."""
        beyond_s, cycle_s = given_s - self.first_s, pace.period_s / pace.rate + pace.save_s
        number = np.maximum(np.floor(np.minimum(beyond_s / cycle_s, self.to_come - 1.0)), 0.0)
        return number, beyond_s - number * cycle_s


def advance(lanes: Lanes, pace: Pace, until_s: Floats) -> tuple[Lanes, Lanes, Integers]:
    """Go on to `until_s`, or to the end of the job where that comes no later.

    Returns the lanes that have ended, those that have not, and the numbers of those that are too
    close to call and in neither: where `until_s` and a turn of the run are no further apart than
    the rounding of sums, which of them comes first depends on how these are made.
    """
    segment, given_s = Segment.from_lanes(lanes, pace), until_s - lanes.now_s
    number, within_s = segment.cycle(pace, given_s)
    too_close = _too_close(lanes, pace, segment, until_s, within_s)
    ended = (given_s >= segment.end_s) & ~too_close
    cut = ~(ended | too_close)
    finished, going = lanes.take(ended), lanes.take(cut)
    _finish(finished, pace.take(ended), segment.take(ended))
    _cut(going, pace.take(cut), segment.take(cut), given_s[cut], number[cut], within_s[cut])
    going.now_s[:] = until_s[cut]
    return finished, going, lanes.number[too_close]


def count_is_unsure(
    due_s: Floats, to_come: Floats, period_s: float | Floats, pace: Pace, share: Floats
) -> Mask:
    """Where rounding decides how many saves are due before the end."""
    over_s = rules.r4_nearly_done_s(pace.useful_time_s) - due_s - to_come * period_s
    near_s = np.minimum(np.abs(over_s), np.abs(over_s + period_s))
    # Where a save would be due at the very end, that is far beyond rounding unless saves are many.
    near = near_s <= share * pace.useful_time_s
    return near & ~sums_are_exact(due_s, period_s, pace.useful_time_s) if near.any() else near


def _finish(lanes: Lanes, pace: Pace, segment: Segment) -> None:
    """Go on to the end of the job."""
    lanes.saves += segment.to_come + ((lanes.rest_s > 0) & (lanes.final == 0))
    lanes.finals += pace.has_final
    lanes.save_s += (
        lanes.rest_s + segment.to_come * pace.save_s + (segment.end_s - segment.trained_s)
    )
    lanes.slowdown_s += (pace.useful_time_s - lanes.progress_s) * (1 / pace.rate - 1)
    lanes.now_s += segment.end_s
    lanes.progress_s[:] = pace.useful_time_s


def _cut(
    lanes: Lanes, pace: Pace, segment: Segment, given_s: Floats, number: Floats, within_s: Floats
) -> None:
    """Go on for `given_s`, which leads `within_s` into a cycle and not to the end."""
    useful_s, period_s, save_s, _, _, rate, _ = pace
    start_s, due_s, rest_s = lanes.progress_s.copy(), lanes.due_s.copy(), lanes.rest_s.copy()
    # A save that is due when something happens has not begun.
    began = (segment.to_come > 0) & (within_s > 0)
    saving = began & (within_s < save_s)
    done = number + (began & ~saving)
    rest = (rest_s > 0) & (given_s >= rest_s)
    after_s = np.maximum(given_s - segment.trained_s, 0.0)  # into the save after the end

    into_s = np.where(saving, within_s, 0.0)
    lanes.save_s += np.minimum(rest_s, given_s) + done * save_s + into_s + after_s
    beyond_s = np.where(
        (segment.to_come > 0) & (within_s >= 0),
        due_s - start_s + number * period_s + np.maximum(within_s - save_s, 0.0) * rate,
        np.maximum(given_s - rest_s, 0.0) * rate,
    )
    lanes.progress_s[:] = np.minimum(start_s + beyond_s, useful_s)
    lanes.due_s += (number + began) * period_s
    lanes.rest_s[:] = np.where(
        saving, save_s - within_s, np.where(after_s > 0, segment.end_s - given_s, 0.0)
    ) + np.maximum(rest_s - given_s, 0.0)
    if pace.has_final:
        lanes.final[:] = (after_s > 0) | (lanes.final > 0)

    slower = 1 / pace.rate - 1
    last_s = np.where(done > 0, due_s + (done - 1.0) * period_s, start_s)
    stored = (done > 0) | rest
    _store(lanes, stored, last_s, lanes.slowdown_s + (last_s - start_s) * slower, done + rest)
    lanes.slowdown_s += (lanes.progress_s - start_s) * slower


def _store(lanes: Lanes, stored: Mask, at_s: Floats, slowdown_s: Floats, saves: Floats) -> None:
    """Saves are usable, the last of them taken at progress `at_s`."""
    lanes.saves += saves
    lanes.round += saves
    lanes.saved_s[:] = np.where(stored, at_s, lanes.saved_s)
    lanes.saved_slowdown_s[:] = np.where(stored, slowdown_s, lanes.saved_slowdown_s)
    lanes.saved_lost[:] = np.where(stored, lanes.updates_lost, lanes.saved_lost)


def _too_close(
    lanes: Lanes, pace: Pace, segment: Segment, until_s: Floats, within_s: Floats
) -> Mask:
    """Which lanes are too close to call."""
    given_s = until_s - lanes.now_s
    share = rounding_error(lanes.saves + segment.to_come)
    too_close = count_is_unsure(lanes.due_s, segment.to_come, pace.period_s, pace, share)
    error_s = share * (lanes.now_s + segment.end_s)
    cycle_s = pace.period_s / pace.rate + pace.save_s
    near_s = np.minimum(np.abs(within_s), np.abs(within_s - pace.save_s))
    near_s = np.minimum(near_s, np.abs(within_s - cycle_s))
    too_close |= (near_s <= error_s) & (segment.to_come > 0)
    too_close |= np.abs(given_s - segment.end_s) <= error_s
    if pace.has_final:
        too_close |= np.abs(given_s - segment.trained_s) <= error_s
    too_close |= (np.abs(given_s - lanes.rest_s) <= error_s) & (lanes.rest_s > 0)
    if too_close.any():
        times_s = (lanes.now_s, lanes.progress_s, lanes.due_s, lanes.rest_s, until_s, *pace[:4])
        too_close &= ~(sums_are_exact(*times_s) & (np.asarray(pace.rate) == 1.0))
    return too_close
