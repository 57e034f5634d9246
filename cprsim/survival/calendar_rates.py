"""Whether failures come by the hour of the day, or by the day of the week."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cprsim.survival.hazard import poisson_band
from cprsim.survival.sample import Floats

Integers = NDArray[np.int64]

HOUR_S, DAY_S = 3600.0, 86_400.0
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
#: Seconds since 1970 of a Monday, 0:00.
_MONDAY_S: Final = 4 * DAY_S
#: Waves that are looked for: up to so many in a day, few for office hours and many for a job that
#: runs each night; and in a week all that seven days tell.
_DAY_WAVES, _WEEK_WAVES = (2, 6), (3,)
#: Blocks of whole days or weeks without a failure tell nothing; below so many others there is no
#: telling a pattern from chance.
FEWEST = 20
_PER_SUM: Final = 5  # blocks for each sum of many waves, at least
_BLOCKS: Final = 60  # at least, where the log has as many days or weeks
#: As likely by chance as three standard errors.
_SURE: Final = 0.0027


@dataclass(frozen=True, eq=False)
class Cycle:
    """Failures in each part of a day or a week, over all of them.

    Parameters
    ----------
    counts
        Instants with failures in each part: 24 hours from 0:00, or 7 days from Monday; shape (k,).
    watched_s
        How long each part was watched, seconds; shape (k,).
    p
        Chance of a pattern at least as clear without any; None where there are too few failures.
    """

    counts: Integers
    watched_s: Floats
    p: float | None

    @property
    def is_sure(self) -> bool:
        """Whether there is a pattern beyond chance, as by three standard errors."""
        return self.p is not None and self.p < _SURE

    @property
    def rate(self) -> Floats:
        """Failures a second in each part, shape (k,); nan where it wasn't watched."""
        return self._per_second(self.counts)

    @property
    def band(self) -> tuple[Floats, Floats]:
        """95 % interval of `rate`, of failures that come one by one (exact, Poisson)."""
        low, high = poisson_band(self.counts)
        return self._per_second(low), self._per_second(high)

    @property
    def mean_rate(self) -> float:
        """Failures a second over the whole time."""
        return float(self.counts.sum() / self.watched_s.sum())

    @property
    def busiest(self) -> tuple[int, int, float]:
        """First and last part of the stretch that stands out most, and its rate over the others'.

        By the likelihood ratio of two Poisson rates (Kulldorff's scan statistic, Comm. Statist.
        26, 1997). The stretch may go on at the cycle's beginning: its last part is then the
        smaller. The ratio is that of the stretch that was chosen for it, so rather too large.
        """
        size, total = len(self.counts), self.counts.sum()
        best = -1.0, 0, 0, math.nan
        for first in range(size):
            for length in range(1, size):
                parts = (first + np.arange(length)) % size
                count, share = self.counts[parts].sum(), self.watched_s[parts].sum()
                share = share / self.watched_s.sum()
                if not 0 < share < 1 or count <= total * share:
                    continue
                gain = _gain(float(count), float(total), float(share))
                if gain > best[0]:
                    others = (total - count) / (1 - share)
                    ratio = float(count / share / others) if others else math.inf
                    best = gain, first, int(parts[-1]), ratio
        return best[1:]

    def document(self) -> dict[str, Any]:
        """As one JSON object; times in seconds."""
        first, last, ratio = self.busiest if self.is_sure else (0, 0, math.inf)
        busiest = {"first": first, "last": last, "ratio": ratio if math.isfinite(ratio) else None}
        return {
            "failures": self.counts.tolist(),
            "watched_s": self.watched_s.tolist(),
            "p": self.p,
            "follows": self.is_sure,
            "busiest": busiest if self.is_sure else None,
        }

    def _per_second(self, counts: NDArray[np.generic]) -> Floats:
        watched = np.where(self.watched_s > 0, self.watched_s, np.nan)
        return np.asarray(counts / watched, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CalendarRates:
    """Failures by hour of the day and by day of the week.

    `zoned`: in UTC, else by a clock without a zone.

    Notes
    -----
    Pearson's statistic of the counts takes bursts for a pattern. So failures are summed as waves of
    a day, its half, ... (the harmonics of Buccheri's Z^2; of a week, its half and its third for
    weekdays) over blocks of whole days or weeks, over each of which waves cancel at any rate that
    doesn't follow the clock; and the sum over the blocks is held against how much the blocks
    differ: Hotelling's T^2 of their mean, of which n is the number of blocks with a failure.
    Failures of one block may depend on each other as they like. Blocks are so long that 60 to 119
    remain, so that what outlasts a day or a week has a place in one; of fewer days or weeks each is
    one. For hours that is done twice, with two waves and with six; `p` is twice the smaller chance
    (Bonferroni).

    References
    ----------
    H. Hotelling, "The generalization of Student's ratio", Ann. Math. Statist. 2 (1931); R.
    Buccheri et al., "Search for pulsed gamma-ray emission", Astron. Astrophys. 128 (1983).
    """

    hours: Cycle
    weekdays: Cycle
    zoned: bool = True

    @property
    def zone(self) -> str:
        """Whose hours these are."""
        return "UTC" if self.zoned else "the log's own clock"

    @property
    def notes(self) -> list[str]:
        """What patterns are beyond chance, a sentence each."""
        said = []
        if self.hours.is_sure and np.count_nonzero(self.hours.counts) > 1:  # else dates have none
            said.append(f"Failures follow the clock: {_hours(self.hours)} ({self.zone}).")
        if self.weekdays.is_sure:
            said.append(f"Failures follow the week: {_days(self.weekdays)} ({self.zone}).")
        return said

    def document(self) -> dict[str, Any]:
        """As one JSON object; times in seconds."""
        return {
            "zone": "UTC" if self.zoned else None,
            "hours": self.hours.document(),
            "weekdays": self.weekdays.document(),
        }


def calendar_rates(
    times_s: Floats, start_s: float, end_s: float, *, zoned: bool = True
) -> CalendarRates | None:
    """The rates of failures at these times, watched from `start_s` to `end_s`; all in UNIX seconds.

    On a clock that knows no daylight saving. Failures at one instant count once. None where
    nothing was watched.
    """
    if not end_s > start_s:
        return None
    times = np.unique(times_s)
    day = _cycle(times, start_s, end_s, DAY_S, 24, _DAY_WAVES)
    # Mondays come first.
    week = _cycle(
        times - _MONDAY_S, start_s - _MONDAY_S, end_s - _MONDAY_S, 7 * DAY_S, 7, _WEEK_WAVES
    )
    return CalendarRates(day, week, zoned)


def _cycle(
    times: Floats, start: float, end: float, period: float, parts: int, waves: tuple[int, ...]
) -> Cycle:
    width = period / parts
    which = np.floor(np.mod(times, period) / width).astype(np.int64) % parts
    counts = np.bincount(which, minlength=parts)
    watched = _time_in(end, period, parts) - _time_in(start, period, parts)
    return Cycle(counts, watched, _chance(times, start, end, period, waves))


def _time_in(until: float, period: float, parts: int) -> Floats:
    """Time in each part of the cycle from 0 to an instant, shape (parts,)."""
    width = period / parts
    whole, rest = divmod(until, period)
    rests = np.clip(rest - width * np.arange(parts), 0.0, width)
    return np.asarray(whole * width + rests, dtype=np.float64)


def _chance(
    times: Floats, start: float, end: float, period: float, waves: tuple[int, ...]
) -> float | None:
    """How likely the failures follow the cycle as clearly by chance; None where they are few."""
    cycles = math.floor((end - start) / period)
    in_block = max(cycles // _BLOCKS, 1)
    # The first blocks that the log holds whole; a watch that begins with a failure tells nothing by
    # that one.
    blocks = cycles // in_block
    kept = times[(times > start) & (times < start + blocks * in_block * period)]
    block = np.floor((kept - start) / (in_block * period)).astype(np.int64)
    found = np.bincount(block, minlength=blocks) > 0
    if np.count_nonzero(found) < FEWEST:
        return None
    angles = 2 * np.pi / period * np.outer(np.arange(1, max(waves) + 1), kept)
    waved = np.stack([np.cos(angles), np.sin(angles)], axis=1).reshape(-1, len(kept))
    sums = np.array([np.bincount(block, each, blocks)[found] for each in waved])
    most = max(waves[0], sums.shape[1] // (2 * _PER_SUM))
    enough = [each for each in waves if each <= most]
    return min(1.0, len(enough) * min(_hotelling(sums[: 2 * each]) for each in enough))


def _hotelling(sums: Floats) -> float:
    """Chance of a mean so far from 0, of vectors that are symmetric around it; shape (size, n)."""
    size, number = sums.shape
    total = sums.sum(axis=1)
    # T^2 / (T^2 + n - 1), which has a beta law.
    share = float(total @ np.linalg.pinv(sums @ sums.T, hermitian=True) @ total) / number
    from scipy.stats import beta  # noqa: PLC0415  (slow to import)

    return float(beta.sf(min(share, 1.0), size / 2, (number - size) / 2))


def _gain(count: float, total: float, share: float) -> float:
    """Log-likelihood ratio of a rate of its own for `count` of `total` failures in that share."""
    rest = total - count
    found = count * math.log(count / (total * share))
    return found + (rest * math.log(rest / (total * (1 - share))) if rest else 0.0)


def _hours(hours: Cycle) -> str:
    """The hours that stand out, and by how much."""
    first, last, ratio = hours.busiest
    return f"{first:02}:00-{last + 1:02}:00 has {ratio:.2g} times the rate of the other hours"


def _days(days: Cycle) -> str:
    """The days that stand out, and by how much."""
    first, last, ratio = days.busiest
    which = _DAYS[first] if first == last else f"{_DAYS[first]} to {_DAYS[last]}"
    return f"{which} {'has' if first == last else 'have'} {ratio:.2g} times the rate of other days"
