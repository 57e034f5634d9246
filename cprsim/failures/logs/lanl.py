"""The raw failure data of Los Alamos National Laboratory, LA-UR-05-7318."""

import math
import re
from array import array
from collections import Counter
from datetime import datetime

import numpy as np

from cprsim.basics.tabular import LogPath, TableRow, table
from cprsim.errors import LogError
from cprsim.failures.logs.log import Epoch, FailureLog, Rows, forget_early
from cprsim.failures.logs.systems import OTHERS, several

_LANL_TIME = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4}) +([0-9]{1,2}):([0-9]{2})")
_EPOCH = datetime(1990, 1, 1)  # before any LANL failure
_UNIX = datetime(1970, 1, 1)
_STARTED, _FIXED, _DECOMMISSIONED = "Prob Started", "Prob Fixed", "node decom"
_CAUSES = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")


def read_lanl(path: LogPath, system: int | None = None) -> FailureLog:
    """Failures of one system of the raw LANL data, LA-UR-05-7318.

    Times count from the system's first failure. Its local times carry no zone, so two gaps a year
    are an hour off. A title line before the header is skipped. Rows without a start time, or of
    nodes that the system doesn't have, are dropped and counted. An outage that ends before it
    starts has no known end and is counted, too. The cause is the note in the first of the columns
    Facilities to Software that has one.

    A system whose nodes are all current was watched until the last record of any system in the
    file; one with nodes that were taken out of service, until its own last record.

    Raises
    ------
    LogError
        If the file can't be read, has no such system, or none of its rows can be used.

    References
    ----------
    B. Schroeder and G. A. Gibson, "A large-scale study of failures in high-performance computing
    systems", DSN 2006.
    """
    read, systems, end_s = dict[int, _LanlSystem](), Counter[int](), -math.inf
    needed = ("System", "nodes", "nodenumz", _STARTED)
    for row in table(path, needed, optional=(_FIXED, _DECOMMISSIONED, *_CAUSES), title_lines=5):
        systems[number := row.integer("System")] += 1
        started, fixed = _lanl_time(row, _STARTED), _lanl_time(row, _FIXED)
        end_s = _latest(end_s, started, fixed)
        if system in (None, number):
            read.setdefault(number, _LanlSystem()).add(row, started, fixed)
    if not read:
        known = ", ".join(map(str, sorted(systems)))
        raise LogError(f"{path}: has no failures of system {system}; it has {known}")
    if len(read) > 1:
        raise several(path, {each: len(found.times) for each, found in read.items()})
    ((chosen, mine),) = read.items()
    others = systems.total() - systems[chosen]
    return mine.log(f"{path}: has no usable failure of system {chosen}", end_s, others)


class _LanlSystem:
    """The rows of one system; times are seconds from `_EPOCH`, nan where there is none."""

    def __init__(self) -> None:
        self.times, self.ends, self.nodes = array("d"), array("d"), array("q")
        self.causes, self.texts = list[str | None](), dict[str, str]()
        self.undated = self.population = 0
        self.end_s, self.current, self.has_ends = -math.inf, True, False

    def add(self, row: TableRow, started: float, fixed: float) -> None:
        for column, time in ((_STARTED, started), (_FIXED, fixed)):
            if math.isnan(time) and column in row.columns and row[column]:
                raise row.bad(column, ", not a time like 9/26/2003 16:40 (m/d/Y H:M)")
        self.population = max(self.population, row.index("nodes"))
        self.end_s = _latest(self.end_s, started, fixed)
        self.has_ends = _FIXED in row.columns
        if _DECOMMISSIONED in row.columns and row[_DECOMMISSIONED] != "current":
            self.current = False
        if math.isnan(started):
            self.undated += 1
            return
        self.times.append(started)
        self.ends.append(fixed)
        self.nodes.append(row.integer("nodenumz"))
        told = [row[column] for column in _CAUSES if column in row.columns and row[column]]
        # A text that comes again is kept once.
        self.causes.append(self.texts.setdefault(told[0], told[0]) if told else None)

    def log(self, unusable: str, file_end_s: float, others: int) -> FailureLog:
        """The log, or a `LogError` that begins with `unusable`; `others`: rows of other systems."""
        nodes = np.asarray(self.nodes)
        inside = (nodes >= 0) & (nodes < self.population)
        counts = {
            "rows without a start time": self.undated,
            "rows outside the nodes of the system": len(nodes) - int(inside.sum()),
        }
        dropped = {reason: count for reason, count in counts.items() if count}
        if not inside.any():
            why = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
            raise LogError(f"{unusable}: {why}")
        times, repaired, nodes = (
            np.asarray(self.times)[inside],
            np.asarray(self.ends)[inside],
            nodes[inside],
        )
        # The raw rows go node by node; by node within a minute, the order doesn't hang on theirs.
        order = np.lexsort((nodes, times))
        rows = np.flatnonzero(inside)[order]
        first_s = float(times.min())
        times, repaired = times[order] - first_s, repaired[order] - first_s
        return FailureLog(
            times_s=times,
            nodes=nodes[order],
            start_s=0.0,
            span_s=float(times[-1]),
            population=self.population,
            dropped=dropped | ({OTHERS: others} if others else {}),
            unused=forget_early(repaired, times),
            repaired_s=repaired if self.has_ends else None,
            causes=tuple(self.causes[row] for row in rows) if self.texts else None,
            until_s=(file_end_s if self.current else self.end_s) - first_s,
            epoch=Epoch((_EPOCH - _UNIX).total_seconds() + first_s, zoned=False),
            rows=Rows("rows", len(inside) + self.undated + others, len(nodes)),
        )


def _lanl_time(row: TableRow, column: str) -> float:
    """Seconds from `_EPOCH` to a local time like 9/26/2003 16:40; nan where there is none."""
    match = _LANL_TIME.fullmatch(row[column]) if column in row.columns else None
    if match is None:
        return math.nan
    # By hand: strptime takes ten times as long.
    month, day, year, hour, minute = map(int, match.groups())
    try:
        return (datetime(year, month, day, hour, minute) - _EPOCH).total_seconds()
    except ValueError:  # 2/30
        return math.nan


def _latest(time: float, *others: float) -> float:
    """The latest time; only the others may be nan, which is later than nothing."""
    return max(time, *others)
