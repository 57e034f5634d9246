"""The raw failure data of Los Alamos National Laboratory, LA-UR-05-7318."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
import pandas as pd

from cprsim.basics.tabular import Cells, LogPath, csv_cells
from cprsim.errors import LogError
from cprsim.failures.logs.log import Epoch, FailureLog, Rows
from cprsim.failures.logs.outages import outages_log
from cprsim.failures.logs.table import OTHERS, read_table, several

_FORM, _LANL_TIME = "%m/%d/%Y %H:%M", r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4} +[0-9]{1,2}:[0-9]{2}"
_TITLES = 5  # lines that may stand before the names of the columns
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
    needed = ("System", "nodes", "nodenumz", _STARTED)
    optional = (_FIXED, _DECOMMISSIONED, *_CAUSES)
    every = read_table(path, lambda _: (needed, optional), _cells)
    numbers, unknown = every.integers("System"), np.full(len(every), math.nan)
    counts = Counter(numbers.tolist())
    if system is not None and system not in counts:
        known = ", ".join(map(str, sorted(counts)))
        raise LogError(f"{path}: has no failures of system {system}; it has {known}")
    times_s = {
        column: every.local_s(column, _LANL_TIME, _FORM) if column in every else unknown
        for column in (_STARTED, _FIXED)
    }
    if system is None and len(counts) > 1:
        dated = Counter(numbers[~np.isnan(times_s[_STARTED])].tolist())
        raise several(path, {each: dated[each] for each in counts})
    chosen = min(counts) if system is None else system
    mine = numbers == chosen
    rows, (start_s, fixed_s) = every.of_rows(mine), (each[mine] for each in times_s.values())
    for column, each in ((_STARTED, start_s), (_FIXED, fixed_s)):
        if column in rows:
            wrong = np.isnan(each) & (rows[column] != "")
            rows.refuse(column, wrong, ", not a time like 9/26/2003 16:40 (m/d/Y H:M)")
    populations = rows.integers("nodes")
    rows.refuse("nodes", populations < 0, "; it can't be negative")
    population, undated = int(populations.max()), np.isnan(start_s)
    nodes = np.full(len(rows), -1)
    nodes[~undated] = rows.of_rows(~undated).integers("nodenumz")
    inside = (nodes >= 0) & (nodes < population)
    left_out = {
        "rows without a start time": int(undated.sum()),
        "rows outside the nodes of the system": int((~undated & ~inside).sum()),
        OTHERS: len(every) - len(rows),
    }
    dropped = {reason: count for reason, count in left_out.items() if count}
    if not inside.any():
        dropped.pop(OTHERS, None)
        why = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        raise LogError(f"{path}: has no usable failure of system {chosen}: {why}")
    is_current = _DECOMMISSIONED not in rows or (rows[_DECOMMISSIONED] == "current").all()
    watched = slice(None) if is_current else mine
    told = [rows[column] for column in _CAUSES if column in rows]
    causes = [next(filter(None, each), None) for each in zip(*told, strict=True)]
    found = pd.DataFrame({"node": nodes, "start_s": start_s, "end_s": fixed_s})
    if told:
        found["cause"] = causes
    return outages_log(
        path,
        found[inside],
        "",
        float(np.nanmax([each[watched] for each in times_s.values()], initial=-math.inf)),
        population=population,
        ends=_FIXED in rows,
        epoch=Epoch(0.0, zoned=False),
        rows=Rows("rows", len(every), int(inside.sum())),
        dropped=dropped,
    )


def _cells(path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """Rows from the names of the columns on; all, where the first few aren't these."""
    rows = csv_cells(path, text)
    top = list(islice(rows, _TITLES + 1))
    names = [place for place, (_, cells) in enumerate(top) if "System" in map(str.strip, cells)]
    return chain(top[names[0] if names else 0 :], rows)
