"""Logs of tables where some rows are failures; others show how long nodes were watched, or left."""

from dataclasses import replace

import numpy as np
import pandas as pd

from cprsim.errors import LogError
from cprsim.failures.logs.failing_rows import FailingRows, Few, Flags, is_flag, values_of
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.outages import REPEATED, UNSEEN, outages_of_rows
from cprsim.failures.logs.words import NO, YES
from cprsim.survival.sample import Integers

#: Share of the times between rows of a node that are alike in a table of regular rows, and of rows
#: that say the same as the one before: a log of changes has none.
_REGULAR, _SAME = 0.8, 0.5
_HALF = 0.5


def rarest_rows(every: FailureLog, few: Few, order: Integers) -> FailingRows | None:
    """Return the rows with the rarer value of the one flag of a table of regular rows."""
    names = [name for name in few if is_flag(values_of(few, name))]
    if len(names) != 1 or not every.of_nodes:
        return None
    yes = few[names[0]].isin(YES).to_numpy()
    failing, said = (yes, YES) if yes.mean() < _HALF else (~yes, NO)
    if _watch_of(every, failing[order]) is None:
        return None
    by = f"{names[0]}={min({*values_of(few, names[0])} & said)}"
    return FailingRows(failing, by, lasting=False, guessed=True)


def failures_among(every: FailureLog, flagged: FailingRows, failing: Flags) -> FailureLog:
    """Return those of all rows of a table, `every`, that are failures.

    Of a table in which nodes have rows at regular times, from the first to the last of each node
    it was watched. Where a row is of a state that lasts, rows in a row are one outage, and a node
    that is down in the first of the table's regular rows has not failed.
    """
    if not failing.any():
        raise LogError(f"holds no failure: no row has {flagged.by}")
    watch = _watch_of(every, failing) if every.kinds is None and every.of_nodes else None
    rows, repaired_s = np.flatnonzero(failing), every.repaired_s
    out, unused = {f"rows without {flagged.by}": len(failing) - len(rows)}, dict(every.unused)
    if flagged.lasting and every.of_nodes:
        count = len(rows)
        rows, ends_s = outages_of_rows(every.times_s, every.machines, failing)
        out[REPEATED] = count - len(rows)
        if watch is not None:
            unseen = every.times_s[rows] == watch.came_s.to_numpy()[every.machines[rows]]
            if unseen.any():
                unused[UNSEEN] = int(unseen.sum())
            rows, ends_s = rows[~unseen], ends_s[~unseen]
        if repaired_s is None:
            repaired_s = np.full(len(every), np.nan)
            repaired_s[rows] = ends_s
    if not len(rows):
        raise LogError("holds no failure: nodes are down from their first row on")
    log = replace(every, repaired_s=repaired_s, unused=unused).leaving_out(rows, out)
    if watch is None:  # rows of changes: watched from the first failure to the last
        first_s, last_s = float(log.times_s[0]), float(log.times_s[-1])
        return replace(log, start_s=first_s, span_s=last_s - first_s)
    came_s, left_s = watch.came_s.to_numpy(), watch.left_s.to_numpy()
    return replace(log, came_s=came_s, left_s=left_s, population=len(watch))


def without_leaving(log: FailureLog, every: FailureLog, leaving: Flags) -> FailureLog:
    """Return the log with nodes that left by some rows of its table, which are no failures.

    `every`: all rows of the table. `leaving`: by which of them nodes leave, shape (n,).
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


def _watch_of(every: FailureLog, failing: Flags) -> pd.DataFrame | None:
    """Return when nodes that have rows at regular times came and left; None where they have not.

    A row a node, by its number. A row is valid until the next one is due.
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
    ends = pd.DataFrame({"came_s": by_node.time_s.first(), "left_s": by_node.time_s.last()})
    ends = ends.reindex(range(int(every.machines.max()) + 1))
    ends = ends.fillna({"came_s": 0.0, "left_s": -step_s})
    ends["left_s"] += step_s
    return ends
