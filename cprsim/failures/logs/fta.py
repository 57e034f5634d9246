"""The Failure Trace Archive's event traces: when each node was up, and when down."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from cprsim.basics.tabular import Cells, LogPath
from cprsim.errors import LogError
from cprsim.failures.logs.log import Epoch, FailureLog, Rows, unix
from cprsim.failures.logs.outages import UNSEEN, merged, outages_log
from cprsim.failures.logs.table import OTHERS, read_table, seconds, several

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
    every = read_table(path, lambda _: (_NEEDED, ()), _cells)
    platforms = every.integers("platform_id")
    known = np.unique(platforms).tolist()
    mine = platforms == system if system is not None else np.ones(len(every), np.bool_)
    if not mine.any():
        raise LogError(
            f"{path}: has no nodes of system {system}; it has {', '.join(map(str, known))}"
        )
    table = every.of_rows(mine)
    numbers, nodes = np.unique(
        np.stack([platforms[mine], table.integers("node_id")]), axis=1, return_inverse=True
    )
    kinds = table["event_type"]
    table.refuse("event_type", ~kinds.isin(("0", "1")), "; known types: 1 (up), 0 (down)")
    rows = pd.DataFrame(
        {
            "node": nodes,
            "down": kinds.to_numpy() == "0",
            "start_s": table.parsed("event_start_time", seconds, may_lack=True),
            "end_s": table.parsed("event_stop_time", seconds, may_lack=True),
        }
    )
    dropped = {
        OTHERS: len(every) - len(table),
        "rows without a start": int(rows.start_s.isna().sum()),
        "rows that stop before they start": int((rows.end_s < rows.start_s).sum()),
    }
    rows = rows[rows.start_s.notna() & ~(rows.end_s < rows.start_s)]
    # A node without a stop is still up.
    last = rows.end_s.fillna(rows.start_s.where(rows.down, math.inf)).groupby(rows.node).max()
    down = rows[rows.down]
    begins, ends_s = merged(down.node.to_numpy(), down.start_s.to_numpy(), down.end_s.to_numpy())
    outages = down.iloc[begins].assign(end_s=ends_s)
    outages.loc[ends_s == last[outages.node].to_numpy(), "end_s"] = math.nan
    seen = outages.start_s > rows.groupby("node").start_s.min()[outages.node].to_numpy()
    if not seen.any():
        raise LogError(f"{path}: holds no failure: no node is seen to go down")
    start_s = float(rows.start_s.min())
    log = outages_log(
        path,
        outages[seen],
        "",
        float(np.nanmax(rows[["start_s", "end_s"]])),
        zero_s=start_s,
        population=numbers.shape[1],
        epoch=unix(start_s) and Epoch(0.0, zoned=True),
        rows=Rows("rows", len(every), len(rows)),
        dropped={why: count for why, count in dropped.items() if count},
        unused={UNSEEN: int((~seen).sum())} if not seen.all() else None,
    )
    if system is None and len(known) > 1:
        failures = Counter(numbers[0, log.nodes].tolist())
        raise several(path, {each: failures[each] for each in known})
    return log


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
