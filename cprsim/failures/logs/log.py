"""A failure log: which node failed when, over which time it was watched."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import LogError
from cprsim.failures.logs.window import Dates, Window, day_of, shown
from cprsim.job.severity import Severity

#: What a log may have of each failure: numbers, and texts.
_ARRAYS: Final = {
    "times_s": np.float64,
    "nodes": np.int64,
    "repaired_s": np.float64,
    "racks": np.int64,
}
_TEXTS: Final = ("kinds", "severities", "causes")
_EARLIEST_S = 1e8  # in 1973; three years, in a log that counts from a start of its own
#: Why a failure of a log isn't used.
OUTSIDE = "failures outside the window"


class Epoch(NamedTuple):
    """What instant second 0 of a log is: seconds since 1970, UTC if `zoned`.

    Else on the local clock of the log, which carries no zone.
    """

    unix_s: float
    zoned: bool


def unix(at_s: float) -> Epoch | None:
    """That of a log whose second 0 is such a time, if that can be seconds since 1970 at all."""
    return Epoch(at_s, zoned=True) if at_s > _EARLIEST_S else None


class Rows(NamedTuple):
    """How many rows a file had, and how many of them the log is made of.

    `what` they are: rows, lines, events or samples. Those left out are in `FailureLog.dropped`.
    """

    what: str
    read: int
    kept: int


@dataclass(frozen=True, eq=False)
class FailureLog:
    """Failures in the order of their times, watched over [`start_s`, `start_s + span_s`].

    Parameters
    ----------
    times_s
        When each failure struck, seconds, ascending (ties allowed), shape (n,).
    nodes
        Which node failed, its index from 0, shape (n,).
    start_s
        When the observation starts, on the clock of `times_s`.
    span_s
        How long the observation lasts, seconds.
    kinds
        `"parameter_server"` or `"trainer"` for each failure, or None where the log has no kinds.
    repaired_s
        When the outage that each failure began was over, on the clock of `times_s`; nan where the
        log doesn't say, None where it never does. Shape (n,).
    racks
        Rack of each failed node, any numbers, shape (n,); None where the log has no racks.
    until_s
        When one stopped watching the nodes, on the clock of `times_s`: where an uptime that is
        still going on is cut. The end of the observation if not given; later where other parts of
        the log go on after the last failure.
    population
        How many nodes the system has, failed ones or not; None where the log doesn't tell.
    dropped
        Why rows of the file were left out, and how many for each reason.
    unused
        The same of what else was left out: repairs that can't be, outages whose start nobody saw,
        failures outside a window.
    severities
        What each failure leaves of the memory of its node; None where the log doesn't tell.
    notes
        How the file was understood, where that isn't plain, a sentence each.
    causes
        What the log says of why each failure came, in its own words; None for one of which it says
        nothing, and instead of all where it never does.
    epoch
        What instant second 0 is; None where the log's times count from a start that it doesn't
        tell, and so for logs that have no calendar.
    planned
        Outages that were planned and are no failures, on the same clock; None where there are none.
    rows
        Of how many rows of the file it is made; None for a log that never was one.
    columns
        What the columns of its table are called, by what they hold; empty for other formats.
    of_nodes
        Whether it tells which node failed. Else it is of one job, and all of `nodes` are 0.
    came_s, left_s
        When each machine came and when it left, on the clock of `times_s`, by its number in
        `machines`, shape (machines,); None where all were there from the start to the end.

    Notes
    -----
    The arrays are read-only copies. Logs compare by identity: arrays have no single truth value.
    """

    times_s: NDArray[np.float64]
    nodes: NDArray[np.int64]
    start_s: float
    span_s: float
    kinds: tuple[str, ...] | None = None
    population: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    repaired_s: NDArray[np.float64] | None = None
    racks: NDArray[np.int64] | None = None
    until_s: float = math.nan
    severities: tuple[Severity, ...] | None = None
    notes: tuple[str, ...] = ()
    causes: tuple[str | None, ...] | None = None
    epoch: Epoch | None = None
    planned: "FailureLog | None" = None
    rows: Rows | None = None
    unused: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    of_nodes: bool = True
    came_s: NDArray[np.float64] | None = None
    left_s: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for name, kind in _ARRAYS.items():
            if getattr(self, name) is None:
                continue
            array = np.array(getattr(self, name), dtype=kind)  # a copy: the caller's stays writable
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if len({len(each) for each in self._columns.values()}) > 1:
            raise LogError("the columns of a failure log must have the same length")
        if np.any(np.diff(self.times_s) < 0):
            raise LogError("times_s of a failure log must be in order")
        if math.isnan(self.until_s):
            object.__setattr__(self, "until_s", self.start_s + self.span_s)

    def __len__(self) -> int:
        return len(self.times_s)

    @property
    def watched_s(self) -> float:
        """Time watched for all failures together, s: what a rate is counted over.

        A watch that starts and ends with a failure shows n - 1 gaps for n failures, so as much more
        is added as one gap takes on average.
        """
        instants = len(np.unique(self.times_s))
        bounded = instants > 1 and (
            self.times_s[0] == self.start_s and self.times_s[-1] == self.start_s + self.span_s
        )
        return self.span_s * instants / (instants - 1) if bounded else self.span_s

    @property
    def machines(self) -> NDArray[np.int64]:
        """Which machine failed, a number from 0, shape (n,): trainers come after the servers.

        The same as `nodes` where the log has no kinds: there, a node's number says it all.
        """
        if self.kinds is None:
            return self.nodes
        trainer = np.array([kind == "trainer" for kind in self.kinds])
        servers = int(np.max(self.nodes[~trainer], initial=-1)) + 1
        return np.where(trainer, self.nodes + servers, self.nodes)

    def came(self, machines: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when each of these machines came, on the clock of `times_s`."""
        if self.came_s is None:
            return np.full(len(machines), self.start_s)
        return self.came_s[machines]

    def left(self, machines: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when each of these machines left, or the watch of it ended."""
        if self.left_s is None:
            return np.full(len(machines), self.until_s)
        return self.left_s[machines]

    def node_s(self, nodes: int) -> float:
        """Return the time watched of all its nodes together, seconds, if there are so many."""
        if self.came_s is None or self.left_s is None:
            return nodes * self.watched_s
        others = max(nodes - len(self.came_s), 0)
        return float(np.sum(self.left_s - self.came_s)) + others * self.watched_s

    def part(self, window: Window) -> "FailureLog":
        """Part of the log, on a clock that starts at 0 where the window does, or the log itself.

        Of dates nodes are watched until these end, or the watch of the log; of shares until the
        last of these.

        Raises
        ------
        LogError
            If no failure lies in it; of dates, if the log has no calendar, or one is outside it.

        Notes
        -----
        A failure at the very end belongs to the next window, so that windows that meet share
        none; the last failure, which has no next window, belongs to the one that ends at 1.
        `dropped` stays what it is for the whole file.
        """
        if isinstance(window, Dates):
            (start, end), over_s = self._between(window), self.start_s + self.span_s
            found = self._cut(start, min(end, over_s), min(end, self.until_s), whole=end > over_s)
        else:
            start, end = map(self._at, window)
            found = self._cut(start, end, end, whole=window[1] == 1)
        if found is None:
            raise LogError(f"window {shown(window)} holds no failure")
        return found

    def shares_of(self, dates: Dates) -> tuple[float, float]:
        """Dates as shares of the time from the first failure to the last; raises as `part`."""
        first_s, last_s = self._at(0), self._at(1)
        whole_s = last_s - first_s or 1.0
        start, end = (min(max(each, first_s), last_s) for each in self._between(dates))
        return (start - first_s) / whole_s, (end - first_s) / whole_s

    def _between(self, dates: Dates) -> tuple[float, float]:
        """When dates begin, or the log does, and when they end; infinite where that is open."""
        if self.epoch is None:
            raise LogError(
                f"window {dates} is of dates, but the log doesn't tell the date of its times; take "
                "shares of it, e.g. 0.5:1"
            )
        zero_s = self.epoch.unix_s
        first, last = (day_of(zero_s + each) for each in (self.start_s, self.until_s))
        earliest, latest = dates.first or first, dates.last or last
        within = first <= earliest <= last and first <= latest <= last + timedelta(days=1)
        start, end = (each - zero_s for each in dates.unix_s)
        if not within or start >= self.start_s + self.span_s or end <= self.start_s:
            raise LogError(
                f"window {dates} is not within the log, which goes from {first} to {last}; take "
                f"dates of these, or leave one out, e.g. {first}:"
            )
        return max(start, self.start_s), end

    def _cut(self, start: float, end: float, until: float, whole: bool) -> "FailureLog | None":
        """From `start` to before `end`, or until it if `whole`; None where there is no failure."""
        inside = (self.times_s >= start) & ((self.times_s < end) | (whole & (self.times_s == end)))
        chosen = np.flatnonzero(inside)
        if not len(chosen):
            return None
        outside, part = len(self) - len(chosen), self.only(chosen)
        planned, epoch = self.planned, self.epoch
        return replace(
            part,
            times_s=part.times_s - start,
            start_s=0.0,
            span_s=end - start,
            repaired_s=None if part.repaired_s is None else part.repaired_s - start,
            until_s=until - start,
            came_s=None if self.came_s is None else np.clip(self.came_s, start, until) - start,
            left_s=None if self.left_s is None else np.clip(self.left_s, start, until) - start,
            planned=None if planned is None else planned._cut(start, end, until, whole),
            epoch=None if epoch is None else epoch._replace(unix_s=epoch.unix_s + start),
            unused={**self.unused, OUTSIDE: outside} if outside else self.unused,
        )

    def only(self, rows: NDArray[np.int64]) -> "FailureLog":
        """Some of its failures, by number in ascending order, over the same time."""
        picked: dict[str, Any] = {
            name: tuple(column[row] for row in rows) if name in _TEXTS else column[rows]
            for name, column in self._columns.items()
        }
        return replace(self, **picked)

    @property
    def _columns(self) -> dict[str, Any]:
        """What the log has of each failure, by name."""
        columns = {name: getattr(self, name) for name in (*_ARRAYS, *_TEXTS)}
        return {name: column for name, column in columns.items() if column is not None}

    def leaving_out(self, rows: NDArray[np.int64], why: Mapping[str, int]) -> "FailureLog":
        """Return these of its failures; of the others, how many are left `dropped` for which why.

        Parameters
        ----------
        rows
            As of `only`.
        why
            How many rows of the file are left out, by the reason.
        """
        dropped = dict(self.dropped)
        for reason, count in why.items():
            if count:
                dropped[reason] = dropped.get(reason, 0) + count
        read, gone = self.rows, sum(why.values())
        kept = None if read is None else read._replace(kept=read.kept - gone)
        return replace(self.only(rows), dropped=dropped, rows=kept)

    def coalesced(self, within_s: float) -> "FailureLog":
        """The log with failures close in time made simultaneous: each burst at its first failure.

        Parameters
        ----------
        within_s
            A failure at most this long after the one before it (seconds, of any node) belongs to
            the same burst, so a burst as a whole may last longer.
        """
        first = np.diff(self.times_s, prepend=-np.inf) > within_s
        return replace(self, times_s=self.times_s[first][np.cumsum(first) - 1])

    def _at(self, share: float) -> float:
        """Time at a share of the way from the first failure to the last, seconds."""
        if not len(self):
            return 0.0
        first, last = float(self.times_s[0]), float(self.times_s[-1])
        # first + 1 x (last - first) can round to less than last, which would cut the last failure.
        return last if share == 1 else first + share * (last - first)


def forget_early(repaired_s: NDArray[np.float64], times_s: NDArray[np.float64]) -> dict[str, int]:
    """Make repairs before their own failure nan, in place; how many there were, if any."""
    early = repaired_s < times_s
    repaired_s[early] = np.nan
    count = int(early.sum())
    return {"repairs that end before they start": count} if count else {}
