"""When nodes came and left, and were up again, by the rows of a table that are no failures."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.errors import LogError
from cprsim.failures.logs.flags import FailingRows
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.outages import REPEATED, UNSEEN

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Share of the times between rows of a node that are alike in a table of regular rows, and of rows
#: that say the same as the one before: a log of changes has none.
_REGULAR, _SAME = 0.8, 0.5


class Watch(NamedTuple):
    """When each node came and left, by its number, shape (nodes,)."""

    came_s: Floats
    left_s: Floats


def failures_among(every: FailureLog, flagged: FailingRows) -> FailureLog:
    """Return the rows of a table that are failures.

    Of a table in which nodes have rows at regular times, from the first to the last of each node
    it was watched. Where a row is of a state that lasts, rows in a row are one outage, and a node
    that is down in the first of the table's regular rows has not failed.

    Parameters
    ----------
    every
        All rows, as if each were a failure.
    flagged
        Which of them are, and by which column.
    """
    failing = flagged.failing
    if not failing.any():
        raise LogError(f"holds no failure: no row has {flagged.by}")
    watch = watch_of(every, failing) if every.kinds is None and every.of_nodes else None
    rows, repaired_s = np.flatnonzero(failing), every.repaired_s
    out = {f"rows without {flagged.by}": len(failing) - len(rows)}
    unused = dict(every.unused)
    if flagged.lasting and every.of_nodes:
        count = len(rows)
        rows, ends_s = outages_of_rows(every.times_s, every.machines, failing)
        if count > len(rows):
            out[REPEATED] = count - len(rows)
        if watch is not None:
            unseen = every.times_s[rows] == watch.came_s[every.machines[rows]]
            if unseen.any():
                unused[UNSEEN] = int(unseen.sum())
            rows, ends_s = rows[~unseen], ends_s[~unseen]
        if repaired_s is None:
            repaired_s = np.full(len(every), np.nan)
            repaired_s[rows] = ends_s
    if not len(rows):
        raise LogError("holds no failure: nodes are down from their first row on")
    log = replace(every, repaired_s=repaired_s, unused=unused).leaving_out(rows, out)
    return _watched(log, watch)


def without_leaving(log: FailureLog, every: FailureLog, leaving: Flags) -> FailureLog:
    """Return the log with nodes that left by some of its rows, which are no failures.

    Parameters
    ----------
    log
        The failures.
    every
        All rows of the table.
    leaving
        By which of them nodes leave, shape (n,).
    """
    count = int(every.machines.max()) + 1
    came_s = np.full(count, every.start_s) if log.came_s is None else log.came_s
    left_s = np.full(count, every.until_s) if log.left_s is None else np.array(log.left_s)
    seen = np.bincount(every.machines, minlength=count) > 0
    left_s[every.machines[leaving]] = every.times_s[leaving]
    gone_s = left_s[log.machines]
    kept = (log.times_s < gone_s) | ((log.times_s == gone_s) & (gone_s == every.until_s))
    rows = np.flatnonzero(kept)
    if not len(rows):
        raise LogError("holds no failure: all nodes have left before")
    why = {"rows of nodes that leave or have left": len(log) - len(rows)}
    left_s = np.where(seen, left_s, came_s)
    return replace(log.leaving_out(rows, why), came_s=came_s, left_s=left_s)


def _watched(log: FailureLog, watch: Watch | None) -> FailureLog:
    if watch is None:  # rows of changes: watched from the first failure to the last
        first_s, last_s = float(log.times_s[0]), float(log.times_s[-1])
        return replace(log, start_s=first_s, span_s=last_s - first_s)
    return replace(log, came_s=watch.came_s, left_s=watch.left_s, population=len(watch.came_s))


def outages_of_rows(times_s: Floats, nodes: Integers, failing: Flags) -> tuple[Integers, Floats]:
    """Return the rows that begin outages, by time, and when the node is up again, nan if unknown.

    Rows of a node that fail one after the other are one outage, which ends with the next that
    doesn't.
    """
    rows = pd.DataFrame({"node": nodes, "time_s": times_s, "bad": failing})
    rows = rows.sort_values(["node", "time_s"])
    good_s = rows.time_s.where(~rows.bad).groupby(rows.node).bfill()
    begins = rows.bad & ~rows.groupby("node").bad.shift(fill_value=False)
    found = good_s[begins].sort_index()
    return found.index.to_numpy(), found.to_numpy()


def watch_of(every: FailureLog, failing: Flags) -> Watch | None:
    """Return the watch of nodes that have rows at regular times; None where they have not.

    A row stands for the time until the next one is due.
    """
    rows = pd.DataFrame({"node": every.machines, "time_s": every.times_s, "bad": failing})
    rows = rows.sort_values(["node", "time_s"])
    by_node = rows.groupby("node")
    steps = by_node.time_s.diff().dropna().round(3)
    if steps.empty or (by_node.bad.shift() == rows.bad)[steps.index].mean() < _SAME:
        return None
    counts = steps.value_counts()
    step_s = float(counts.index[counts == counts.max()].min())
    if not step_s or counts.max() < _REGULAR * len(steps):
        return None
    ends = by_node.time_s.agg(["first", "last"]).reindex(range(int(every.machines.max()) + 1))
    ends = ends.fillna({"first": 0.0, "last": -step_s})
    return Watch(ends["first"].to_numpy(), ends["last"].to_numpy() + step_s)
