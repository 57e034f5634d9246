"""Outages of nodes as a file has them, in any order and by name, made into a log."""

import math
from array import array
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath
from cprsim.errors import LogError
from cprsim.failures.logs.log import Epoch, FailureLog, Rows, forget_early
from cprsim.failures.logs.names import Names

#: Why an outage is none of a log's failures: nobody saw it start.
UNSEEN = "outages under way when the record of their node begins"
#: Or its node had failed already.
REPEATED = "failures of nodes that were down already"

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class NodeOutages:
    """Outages of a file, and what of it is left out; times in seconds, on any clock.

    `dropped`, `unused`: as those of a `FailureLog`.
    """

    def __init__(self) -> None:
        self.names, self.dropped, self.unused = Names(), Counter[str](), Counter[str]()
        self._nodes, self._starts, self._ends = array("q"), array("d"), array("d")
        self._causes, self._texts = list[str | None](), dict[str, str]()
        self._planned = list[str | None]()

    def __len__(self) -> int:
        return len(self._starts)

    def add(
        self,
        node: str,
        start_s: float,
        end_s: float = math.nan,
        cause: str | None = None,
        planned: str | None = None,
    ) -> None:
        """One more; without an end, as long as nothing else is said of it.

        `planned`: the words by which it was planned; None of a failure.
        """
        self._nodes.append(self.names.number(node))
        self._starts.append(start_s)
        self._ends.append(end_s)
        # A text that comes again is kept once.
        self._causes.append(None if cause is None else self._texts.setdefault(cause, cause))
        self._planned.append(planned)

    def end(self, outage: int, end_s: float) -> None:
        """That an outage is over, by its number in the order of `add`."""
        self._ends[outage] = end_s

    def log(
        self,
        path: LogPath,
        nothing: str,
        until_s: float,
        zero_s: float | None = None,
        population: int | None = None,
        ends: bool = True,
        touching_are_one: bool = False,
        epoch: Epoch | None = None,
        rows: Rows | None = None,
    ) -> FailureLog:
        """The log of all that was added; planned outages apart from the failures.

        Parameters
        ----------
        path, nothing
            The file, and what it lacks where nothing was added or left out, for the fault.
        until_s
            When one stopped watching, on the clock of the outages.
        zero_s
            What is second 0 of the log, and where its observation starts, which then lasts until
            `until_s`. If not given, from the first failure to the last.
        population
            How many nodes the system has, if the file tells.
        ends
            Whether the file tells when outages end.
        touching_are_one
            Whether outages of a node that touch or overlap are one, with the cause of the first,
            and planned if that was.
        epoch
            What second 0 of the outages' clock is, if the file tells.
        rows
            Of how many rows of the file the log is made, those of planned outages among them.

        Raises
        ------
        LogError
            If nothing was added.
        """
        if not len(self):
            raise self._no_failure(path, nothing)
        nodes, starts = np.asarray(self._nodes), np.asarray(self._starts)
        stops = np.array(self._ends)
        self.unused.update(forget_early(stops, starts))
        each = np.arange(len(nodes))
        if touching_are_one:
            each, stops = merged(nodes, starts, stops)
        rows = self._without_planned(each, rows)
        order = np.lexsort((nodes[each], starts[each]))
        each, stops = each[order], stops[order]
        del order  # a long log has little room
        planned_of = (self._planned[row] is not None for row in each)
        was_planned = np.fromiter(planned_of, np.bool_, len(each))
        failed = starts[each[~was_planned]]
        if not len(failed):
            raise self._no_failure(path, nothing)
        first_s, last_s = (failed[0], failed[-1]) if zero_s is None else (zero_s, until_s)
        log = FailureLog(
            times_s=starts[each] - first_s,
            nodes=nodes[each],
            start_s=0.0,
            span_s=float(last_s - first_s),
            population=population,
            dropped=dict(self.dropped),
            repaired_s=stops - first_s if ends else None,
            until_s=float(until_s - first_s),
            causes=tuple(self._causes[row] for row in each) if self._texts else None,
            epoch=None if epoch is None else epoch._replace(unix_s=epoch.unix_s + float(first_s)),
            rows=rows,
            unused=dict(self.unused),
        )
        if not was_planned.any():
            return log
        planned = replace(log.only(np.flatnonzero(was_planned)), span_s=log.until_s)
        return replace(log.only(np.flatnonzero(~was_planned)), planned=planned)

    def _no_failure(self, path: LogPath, nothing: str) -> LogError:
        every = {**self.dropped, **self.unused}
        left_out = ", ".join(f"{count} {why}" for why, count in every.items())
        why = f"left out are {left_out}" if left_out else nothing
        return LogError(f"{path}: holds no failure: {why}")

    def _without_planned(self, begins: Integers, rows: Rows | None) -> Rows | None:
        """Count the rows of planned outages, of which `begins` are the first ones each."""
        if not any(self._planned):
            return rows
        nodes, starts = np.asarray(self._nodes), np.asarray(self._starts)
        order = np.lexsort((starts, nodes))
        is_first = np.isin(order, begins)
        firsts = order[is_first][np.cumsum(is_first) - 1].tolist()
        words = [word for word in (self._planned[row] for row in firsts) if word is not None]
        counts = Counter(f"rows of planned outages ({word})" for word in words)
        self.dropped = Counter({**counts, **self.dropped})
        return None if rows is None else rows._replace(kept=rows.kept - len(words))


def without_repeats(log: FailureLog) -> FailureLog:
    """Return the log without failures of nodes that were down already: what touches an outage.

    An outage ends with the last of its records that has an end. Without any, nothing is down.
    """
    if log.repaired_s is None or not _overlap(log.machines, log.times_s, log.repaired_s):
        return log
    known = np.fmax(log.times_s, log.repaired_s)
    rows, ends_s = merged(log.machines, log.times_s, known)
    order = np.argsort(rows, kind="stable")
    rows, ends_s, repeats = rows[order], ends_s[order], len(log) - len(rows)
    untold = np.isnan(log.repaired_s[rows]) & (ends_s == log.times_s[rows])
    ends_with_one = log.times_s[-1] == log.start_s + log.span_s
    return replace(
        log.leaving_out(rows, {REPEATED: repeats}),
        span_s=float(log.times_s[rows[-1]]) - log.start_s if ends_with_one else log.span_s,
        repaired_s=np.where(untold, np.nan, ends_s),
    )


def _overlap(nodes: Integers, starts: Floats, stops: Floats) -> bool:
    """Return whether an outage of a node touches the one before it, in little memory."""
    order = np.lexsort((starts, nodes))
    late = np.fmax(starts[order[:-1]], stops[order[:-1]]) >= starts[order[1:]]
    return bool((late & (np.diff(nodes[order]) == 0)).any())


class Continued(NamedTuple):
    """Down intervals by node, then start: what comes before each of them, and when that is over.

    `order`: the intervals, by number. `until_s`: when the latest end of its node up to each is.
    `before_s`: the same up to the one before; -inf of a node's first. A start up to then continues
    an outage. Shape (n,).
    """

    order: Integers
    until_s: Floats
    before_s: Floats

    @classmethod
    def of(cls, nodes: Integers, starts: Floats, stops: Floats) -> Self:
        """Those of intervals in any order, shape (n,); a stop may be nan: it is at the start."""
        order = np.lexsort((starts, nodes))
        edges = np.flatnonzero(np.diff(nodes[order], prepend=-1, append=-1))
        until_s = np.fmax(starts, stops)[order]
        for first, last in pairwise(edges.tolist()):
            node = until_s[first:last]
            np.maximum.accumulate(node, out=node)
        before_s = np.roll(until_s, 1)
        before_s[edges[:-1]] = -np.inf
        return cls(order, until_s, before_s)


def merged(nodes: Integers, starts: Floats, stops: Floats) -> tuple[Integers, Floats]:
    """Down intervals of a node that touch or overlap made one.

    Parameters
    ----------
    nodes, starts, stops
        Of each interval, in any order, shape (n,); a stop may be nan.

    Returns
    -------
    tuple
        Which interval begins each outage, and when that ends or nan; by node, then start.
    """
    order, until_s, before_s = Continued.of(nodes, starts, stops)
    begins = starts[order] > before_s
    ends_s = np.where(np.isnan(stops[order]), np.nan, until_s)
    return order[begins], ends_s[np.roll(begins, -1)]
