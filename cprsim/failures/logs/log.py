"""A failure log: which node failed when, over which time it was watched."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import LogError
from cprsim.failures.logs.options import Dates, Window, day_of, shown
from cprsim.job.severity import Severity

#: What a log may have of each failure: numbers, and texts.
_ARRAYS: Final = {
    "times_s": np.float64,
    "nodes": np.int64,
    "repaired_s": np.float64,
    "racks": np.int64,
}
_TEXTS: Final = ("kinds", "severities", "causes")
EARLIEST_S: Final = 1e8  # in 1973; three years, in a log that counts from its start
#: Why a failure of a log isn't used.
OUTSIDE: Final = "failures outside the window"
OF_WORST: Final = "failures of the worst nodes"


@dataclass(frozen=True, eq=False)
class FailureLog:
    """Failures in the order of their times, watched over [`start_s`, `start_s + span_s`].

    Attributes that a log lacks are None. Times are in seconds on one clock.

    Notes
    -----
    The arrays are read-only copies. Logs compare by identity: arrays have no single truth value.
    """

    #: When each failure struck, ascending (ties allowed), shape (n,).
    times_s: NDArray[np.float64]
    #: Which node failed, its index from 0, shape (n,).
    nodes: NDArray[np.int64]
    #: When the observation starts, and how long it lasts.
    start_s: float
    span_s: float
    #: `"parameter_server"` or `"trainer"` for each failure.
    kinds: tuple[str, ...] | None = None
    #: How many nodes the system has, failed ones or not.
    population: int | None = None
    #: Why rows of the file were left out, and how many for each reason.
    dropped: Mapping[str, int] = field(default_factory=dict)
    #: When the outage that each failure began was over, NaN where that isn't known; (n,).
    repaired_s: NDArray[np.float64] | None = None
    #: Rack of each failed node, any numbers, shape (n,).
    racks: NDArray[np.int64] | None = None
    #: When one stopped watching the nodes, where an uptime that is still going on is cut: the end
    #: of the observation if not given, later where the log ends after the last failure.
    until_s: float = math.nan
    #: What each failure leaves of the memory of its node.
    severities: tuple[Severity, ...] | None = None
    #: How the file was understood, where that isn't plain, a sentence each.
    notes: tuple[str, ...] = ()
    #: Why each failure came, in the log's own words; None for one of which it says nothing.
    causes: tuple[str | None, ...] | None = None
    #: When second 0 is, seconds since 1970, on the clock of the log; None where times count from a
    #: start without a date.
    unix_s: float | None = None
    #: Outages that were planned and are no failures.
    planned: "FailureLog | None" = None
    #: What its file is made of (rows, lines, events, samples or ticks), and how many of them it
    #: has; None for a log that never was a file.
    rows: tuple[str, int] | None = None
    #: As `dropped`, of what else was left out: repairs that can't be, outages whose start nobody
    #: saw, failures outside a window.
    unused: Mapping[str, int] = field(default_factory=dict)
    #: What the columns of its table are called, by what they hold; empty for other formats.
    columns: Mapping[str, str] = field(default_factory=dict)
    #: Whether it says which node failed. Else it is of one job, and all of `nodes` are 0.
    of_nodes: bool = True
    #: When each machine came and left, by its number in `machines`, shape (machines,); None where
    #: all were there from the start to the end.
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
    def kept(self) -> int:
        """Rows of its file that are not `dropped`."""
        return 0 if self.rows is None else self.rows[1] - sum(self.dropped.values())

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
        """The machine that failed, a number from 0, shape (n,): trainers come after the servers.

        The same as `nodes` where the log has no kinds: there, a node's number says it all.
        """
        if self.kinds is None:
            return self.nodes
        trainer = np.array([kind == "trainer" for kind in self.kinds])
        servers = int(np.max(self.nodes[~trainer], initial=-1)) + 1
        return np.where(trainer, self.nodes + servers, self.nodes)

    @property
    def system(self) -> int:
        """Nodes of the system; those that failed at least once where the log lacks their number."""
        return len(np.unique(self.machines)) if self.population is None else self.population

    def came(self, machines: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when each of these machines came; those that the log does not list, at its start.

        Machines are listed by their numbers.
        """
        return _listed(self.came_s, machines, self.start_s)

    def left(self, machines: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when each of these machines left, or the watch of it ended."""
        return _listed(self.left_s, machines, self.until_s)

    def node_s(self, nodes: int) -> float:
        """Return the time watched of all its nodes together, seconds, if there are so many."""
        if self.came_s is None or self.left_s is None:
            return nodes * self.watched_s
        others = max(nodes - len(self.came_s), 0)
        return float(np.sum(self.left_s - self.came_s)) + others * self.watched_s

    def part(self, window: Window) -> "FailureLog":
        """Part of the log, on a clock that starts at 0 where the window does, or the log itself.

        Of dates nodes are watched until these end, or the watch of the log; of shares until the
        last of these. Raises `LogError` if no failure lies in it; of dates, if the log has no
        calendar, or one is outside it.

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
        if self.unix_s is None:
            raise LogError(
                f"window {shown(dates)} is of dates, but the log doesn't tell the date of its "
                "times; take shares of it, e.g. 0.5:1"
            )
        zero_s = self.unix_s
        first, last = (day_of(zero_s + each) for each in (self.start_s, self.until_s))
        earliest, latest = dates.first or first, dates.last or last
        within = first <= earliest <= last and first <= latest <= last + timedelta(days=1)
        start, end = (each - zero_s for each in dates.unix_s)
        if not within or start >= self.start_s + self.span_s or end <= self.start_s:
            raise LogError(
                f"window {shown(dates)} is not within the log, which goes from {first} to {last}; "
                f"take dates of these, or leave one out, e.g. {first}:"
            )
        return max(start, self.start_s), end

    def _cut(self, start: float, end: float, until: float, whole: bool) -> "FailureLog | None":
        """From `start` to before `end`, or until it if `whole`; None where there is no failure."""
        inside = (self.times_s >= start) & ((self.times_s < end) | (whole & (self.times_s == end)))
        chosen = np.flatnonzero(inside)
        if not len(chosen):
            return None
        outside, part = len(self) - len(chosen), self.only(chosen)
        planned = self.planned
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
            unix_s=None if self.unix_s is None else self.unix_s + start,
            unused={**self.unused, OUTSIDE: outside} if outside else self.unused,
        )

    def _at(self, share: float) -> float:
        """Time at a share of the way from the first failure to the last, seconds."""
        if not len(self):
            return 0.0
        first, last = float(self.times_s[0]), float(self.times_s[-1])
        # first + 1 x (last - first) can round to less than last, which would cut the last failure.
        return last if share == 1 else first + share * (last - first)

    def only(self, rows: NDArray[np.int64]) -> "FailureLog":
        """Some of its failures, by number in ascending order, over the same time."""
        picked: dict[str, Any] = {
            name: tuple(column[row] for row in rows) if name in _TEXTS else column[rows]
            for name, column in self._columns.items()
        }
        return replace(self, **picked)

    @property
    def _columns(self) -> dict[str, Any]:
        """Columns of the log, an entry a failure, by name."""
        columns = {name: getattr(self, name) for name in (*_ARRAYS, *_TEXTS)}
        return {name: column for name, column in columns.items() if column is not None}

    def leaving_out(self, rows: NDArray[np.int64], why: Mapping[str, int]) -> "FailureLog":
        """Return these of its failures, as `only`; of the others, how many are `dropped` for why.

        `why`: how many rows of the file are left out, by the reason.
        """
        dropped = dict(self.dropped)
        for reason, count in why.items():
            if count:
                dropped[reason] = dropped.get(reason, 0) + count
        return replace(self.only(rows), dropped=dropped)

    def coalesced(self, within_s: float) -> "FailureLog":
        """The log with failures close in time made simultaneous: each burst at its first failure.

        A failure up to `within_s` after the one before it (seconds, of any node) belongs to the
        same burst, so a burst as a whole may last longer.
        """
        first = np.diff(self.times_s, prepend=-np.inf) > within_s
        return replace(self, times_s=self.times_s[first][np.cumsum(first) - 1])

    def without_worst(self, count: int) -> "FailureLog":
        """The log of the other nodes, had the `count` that fail most often not been there.

        Of nodes that fail alike, those with the smaller number go first. Which are left out is
        known by hindsight, so the others failed less than they will: a node that failed often was
        also unlucky. Raises `LogError` if no more nodes than that fail.
        """
        machines = self.machines
        failing, failures = np.unique(machines, return_counts=True)
        if count >= len(failing):
            raise LogError(
                f"exclude_worst is {count}, and {len(failing)} nodes fail in the log; leave out "
                "fewer"
            )
        worst = np.sort(failing[np.argsort(-failures, kind="stable")[:count]])
        rows = np.flatnonzero(~np.isin(machines, worst))
        rest = self.only(rows)
        # Nodes are numbered by kind: those of one close the gaps that it has.
        before = np.searchsorted(worst, machines) - np.searchsorted(worst, machines - self.nodes)
        return replace(
            rest,
            nodes=rest.nodes - before[rows],
            population=None if self.population is None else self.population - count,
            unused={**self.unused, OF_WORST: len(self) - len(rows)},
            came_s=None if self.came_s is None else np.delete(self.came_s, worst),
            left_s=None if self.left_s is None else np.delete(self.left_s, worst),
        )


def _listed(
    times_s: NDArray[np.float64] | None, machines: NDArray[np.int64], other_s: float
) -> NDArray[np.float64]:
    if times_s is None:
        return np.full(len(machines), other_s)
    return np.append(times_s, other_s)[np.minimum(machines, len(times_s))]


def forget_early(repaired_s: NDArray[np.float64], times_s: NDArray[np.float64]) -> dict[str, int]:
    """Make repairs before their own failure nan, in place; how many there were, if any."""
    early = repaired_s < times_s
    repaired_s[early] = np.nan
    count = int(early.sum())
    return {"repairs that end before they start": count} if count else {}
