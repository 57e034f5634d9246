"""The Failure Trace Archive's event traces: when each node was up, and when down."""

import math
from array import array
from collections import Counter
from collections.abc import Iterator

import numpy as np

from cprsim.basics.tabular import Cells, LogPath, TableRow, table
from cprsim.errors import LogError
from cprsim.failures.logs.log import FailureLog, Rows, unix
from cprsim.failures.logs.outages import UNSEEN, merged
from cprsim.failures.logs.systems import OTHERS, several

#: In this order where the file doesn't name them.
COLUMNS = (
    "event_id",
    "component_id",
    "node_id",
    "platform_id",
    "node_name",
    "event_type",
    "event_start_time",
    "event_stop_time",
    "event_end_reason",
)
_NEEDED = ("node_id", "platform_id", "event_type", "event_start_time", "event_stop_time")
_DOWN = {"0": True, "1": False}


def read_fta(path: LogPath, system: int | None = None) -> FailureLog:
    """Failures of the nodes of an event_trace of the Failure Trace Archive.

    A row is an interval, from `event_start_time` to `event_stop_time` (UNIX seconds), over which a
    node was up (`event_type` 1) or down (0). Cells stand between tabs, or white space where a line
    has no tab. Names of the columns may stand in a `#` line; other such lines are ignored, and so
    are other columns.

    Parameters
    ----------
    path
        The trace; plain, or compressed with a name that ends in `.gz` or `.xz`.
    system
        The `platform_id` to read; needed where there are several.

    Returns
    -------
    FailureLog
        A failure for each outage. Intervals of a node that touch or overlap are one outage. An
        outage with which the record of its node begins is none, since nobody saw it start: it is
        counted in `dropped`. One with which that record ends has no known repair. Nodes are
        numbered from 0 by platform_id, then node_id, those that never fail too. Times count from
        the first instant of what is read, until the last.

    Raises
    ------
    LogError
        If the file can't be read, has no such system, or no node of it fails.

    Notes
    -----
    Rows without a start, and rows that stop before they start (clocks that were set back), are
    dropped and counted. A row without a stop is unfinished: if its node was down, that is a
    failure without a known repair.

    References
    ----------
    D. Kondo, B. Javadi, A. Iosup and D. Epema, "The Failure Trace Archive: enabling comparative
    analysis of failures in diverse distributed systems", CCGrid 2010.
    """
    trace, systems = _Trace(), set[int]()
    for row in table(path, _NEEDED, split=_cells):
        systems.add(platform := row.integer("platform_id"))
        trace.read += 1
        if system is None or platform == system:
            trace.add(row, platform)
        else:
            trace.dropped[OTHERS] += 1
    if not trace.numbers:
        known = ", ".join(map(str, sorted(systems)))
        raise LogError(f"{path}: has no nodes of system {system}; it has {known}")
    log = trace.log()
    if not len(log):
        raise LogError(f"{path}: holds no failure: no node is seen to go down")
    if system is None and len(systems) > 1:
        platforms = Counter(np.array(sorted(trace.numbers))[log.nodes, 0].tolist())
        raise several(path, {each: platforms[each] for each in systems})
    return log


class _Trace:
    """What the rows say: one start and one stop a down interval, two instants a node."""

    def __init__(self) -> None:
        self.numbers = dict[tuple[int, int], int]()  # by platform and node, as they come
        self.first, self.last = array("d"), array("d")  # of each node; inf: it is still up
        self.until = -math.inf
        self.nodes, self.starts, self.stops = array("q"), array("d"), array("d")
        self.dropped, self.read, self.kept = Counter[str](), 0, 0

    def add(self, row: TableRow, platform: int) -> None:
        node = self.numbers.setdefault((platform, row.integer("node_id")), len(self.numbers))
        if node == len(self.first):
            self.first.append(math.inf)
            self.last.append(-math.inf)
        down = _DOWN.get(row["event_type"])
        if down is None:
            raise row.bad("event_type", "; known types: 1 (up), 0 (down)")
        start = row.seconds_if_known("event_start_time")
        stop = row.seconds_if_known("event_stop_time")
        if math.isnan(start):
            self.dropped["rows without a start"] += 1
            return
        if stop < start:
            self.dropped["rows that stop before they start"] += 1
            return
        self.kept += 1
        self.first[node] = min(self.first[node], start)
        # A stop of nan is later than nothing, so it never becomes the maximum.
        self.until = max(self.until, start, stop)
        unfinished = math.inf if math.isnan(stop) and not down else start
        self.last[node] = max(self.last[node], unfinished, stop)
        if down:
            self.nodes.append(node)
            self.starts.append(start)
            self.stops.append(stop)

    def log(self) -> FailureLog:
        ranks = np.empty(len(self.numbers), np.int64)
        ranks[[self.numbers[key] for key in sorted(self.numbers)]] = np.arange(len(ranks))
        first, last = np.asarray(self.first), np.asarray(self.last)
        begins, repaired = merged(*map(np.asarray, (self.nodes, self.starts, self.stops)))
        nodes, times = np.asarray(self.nodes)[begins], np.asarray(self.starts)[begins]
        repaired[repaired == last[nodes]] = np.nan
        seen = times > first[nodes]
        unseen = int((~seen).sum())
        start_s = float(first.min())
        span_s = self.until - start_s
        nodes, times, repaired = ranks[nodes[seen]], times[seen], repaired[seen]
        order = np.lexsort((nodes, times))
        return FailureLog(
            times_s=times[order] - start_s,
            nodes=nodes[order],
            start_s=0.0,
            span_s=span_s,
            population=len(ranks),
            dropped=dict(self.dropped),
            repaired_s=repaired[order] - start_s,
            until_s=span_s,
            epoch=unix(start_s),
            rows=Rows("rows", self.read, self.kept),
            unused={UNSEEN: unseen} if unseen else {},
        )


def _cells(_path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """The names of the columns, then the rows; what stands in other `#` lines is skipped."""
    named, width = False, None
    for number, line in enumerate(text, 1):
        words = [] if named else line.replace("#", " ", 1).split()
        if words and words[0] in COLUMNS:
            named = True
            yield number, words
        elif line.strip() and not line.lstrip().startswith("#"):
            if not named:
                named, width = True, len(COLUMNS)
                yield number, list(COLUMNS)
            yield number, (line.split("\t") if "\t" in line else line.split())[:width]
