"""Logs that sites and researchers have published: LANL, the Failure Trace Archive, spot, StepFun.

Each reader takes the path of a file, plain or compressed with a name that ends in `.gz` or `.xz`,
and raises `LogError` if it can't be read or holds no failure.
"""

import json
import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from itertools import chain, islice
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from cprsim.basics.tabular import Cells, LogPath, csv_cells
from cprsim.errors import LogError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.outages import UNSEEN, merged, outages_log
from cprsim.failures.logs.table import (
    OTHERS,
    integers,
    local_s,
    parsed,
    read_json,
    read_table,
    refuse,
    seconds,
    several,
)

# --- LANL ----------------------------------------------------------------------------------------

_FORM, _LANL_TIME = "%m/%d/%Y %H:%M", r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4} +[0-9]{1,2}:[0-9]{2}"
_TITLES = 5  # lines before the names of the columns, at most
_STARTED, _FIXED, _DECOMMISSIONED = "Prob Started", "Prob Fixed", "node decom"
_CAUSES = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")


def read_lanl(path: LogPath, system: int | None = None) -> FailureLog:
    """Failures of one system of the raw LANL data, LA-UR-05-7318.

    Times count from the system's first failure. They are local and carry no zone, so two gaps a
    year are an hour off. A system whose nodes are all current was watched until the last record of
    any system in the file; one with nodes that were taken out of service, until its own last
    record.

    References
    ----------
    B. Schroeder and G. A. Gibson, "A large-scale study of failures in high-performance computing
    systems", DSN 2006.
    """
    needed = ("System", "nodes", "nodenumz", _STARTED)
    optional = (_FIXED, _DECOMMISSIONED, *_CAUSES)
    every = read_table(path, lambda _: (needed, optional), _lanl_cells)
    cells = every.reindex(columns=[_STARTED, _FIXED], fill_value="")
    times_s = cells.apply(local_s, args=(_LANL_TIME, _FORM))
    numbers = integers(every, "System")
    counts = Counter(numbers.tolist())
    if system is not None and system not in counts:
        known = ", ".join(map(str, sorted(counts)))
        raise LogError(f"{path}: has no failures of system {system}; it has {known}")
    if system is None and len(counts) > 1:
        dated = Counter(numbers[times_s[_STARTED].notna()].tolist())
        raise several(path, {each: dated[each] for each in counts})
    chosen = min(counts) if system is None else system
    mine = numbers == chosen
    rows, mine_s = every[mine], times_s[mine]
    for column in (each for each in (_STARTED, _FIXED) if each in rows):
        wrong = mine_s[column].isna() & (rows[column] != "")
        refuse(rows, column, wrong, ", not a time like 9/26/2003 16:40 (m/d/Y H:M)")
    populations = integers(rows, "nodes")
    refuse(rows, "nodes", populations < 0, "; it can't be negative")
    population, dated_rows = int(populations.max()), rows[mine_s[_STARTED].notna()]
    found = pd.DataFrame({"node": integers(dated_rows, "nodenumz")}, dated_rows.index)
    found = found[found.node.between(0, population, inclusive="left")]
    dropped = {
        "rows without a start time": len(rows) - len(dated_rows),
        "rows outside the nodes of the system": len(dated_rows) - len(found),
    }
    if found.empty:
        why = ", ".join(f"{count} {reason}" for reason, count in dropped.items() if count)
        raise LogError(f"{path}: has no usable failure of system {chosen}: {why}")
    notes = rows.reindex(columns=[*_CAUSES], fill_value="").replace("", None).bfill(axis=1)
    is_current = _DECOMMISSIONED not in rows or (rows[_DECOMMISSIONED] == "current").all()
    return outages_log(
        path,
        found.assign(start_s=mine_s[_STARTED], end_s=mine_s[_FIXED], cause=notes.iloc[:, 0]),
        float((times_s if is_current else mine_s).max().max()),
        population=population,
        ends=_FIXED in rows,
        rows=("rows", len(every)),
        dropped=dropped | {OTHERS: len(every) - len(rows)},
    )


def _lanl_cells(path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """Rows from the names of the columns on; all, where the first few aren't these."""
    rows = csv_cells(path, text)
    top = list(islice(rows, _TITLES + 1))
    names = [place for place, (_, cells) in enumerate(top) if "System" in map(str.strip, cells)]
    return chain(top[names[0] if names else 0 :], rows)


# --- The Failure Trace Archive -------------------------------------------------------------------

#: In this order where the file doesn't name them.
_FTA = (
    *("event_id", "component_id", "node_id", "platform_id", "node_name", "event_type"),
    *("event_start_time", "event_stop_time", "event_end_reason"),
)
_NEEDED = ("node_id", "platform_id", "event_type", "event_start_time", "event_stop_time")


def read_fta(path: LogPath, system: int | None = None) -> FailureLog:
    """Failures of the nodes of an event_trace of the Failure Trace Archive, of one `platform_id`.

    Tabs part cells, or white space where a line has no tab. An outage with which the
    record of its node begins is none, since nobody saw it start; one with which it ends, or without
    a stop, has no known repair. Nodes are numbered from 0 by platform_id, then node_id, those that
    never fail too. Times count from the first instant of what is read, until the last.

    References
    ----------
    D. Kondo, B. Javadi, A. Iosup and D. Epema, "The Failure Trace Archive: enabling comparative
    analysis of failures in diverse distributed systems", CCGrid 2010.
    """
    every = read_table(path, lambda _: (_NEEDED, ()), _fta_cells)
    platforms = integers(every, "platform_id")
    known = np.unique(platforms).tolist()
    mine = platforms == system if system is not None else np.ones(len(every), np.bool_)
    if not mine.any():
        raise LogError(
            f"{path}: has no nodes of system {system}; it has {', '.join(map(str, known))}"
        )
    table = every[mine]
    numbers, nodes = np.unique(
        np.stack([platforms[mine], integers(table, "node_id")]), axis=1, return_inverse=True
    )
    kinds = table["event_type"]
    refuse(table, "event_type", ~kinds.isin(("0", "1")), "; known types: 1 (up), 0 (down)")
    rows = pd.DataFrame(
        {
            "node": nodes,
            "down": kinds.to_numpy() == "0",
            "start_s": parsed(table, "event_start_time", seconds, may_lack=True),
            "end_s": parsed(table, "event_stop_time", seconds, may_lack=True),
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
        float(np.nanmax(rows[["start_s", "end_s"]])),
        zero_s=start_s,
        population=numbers.shape[1],
        rows=("rows", len(every)),
        dropped=dropped,
        unused={UNSEEN: int((~seen).sum())},
    )
    if system is None and len(known) > 1:
        failures = Counter(numbers[0, log.nodes].tolist())
        raise several(path, {each: failures[each] for each in known})
    return log


def _fta_cells(_path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """The names of the columns, then the rows; other `#` lines are skipped."""
    named, width = False, None
    for number, line in enumerate(text, 1):
        words = [] if named else line.replace("#", " ", 1).split()
        if words and words[0] in _FTA:
            named = True
            yield number, words
        elif line.strip() and not line.lstrip().startswith("#"):
            if not named:
                named, width = True, len(_FTA)
                yield number, list(_FTA)
            yield number, (line.split("\t") if "\t" in line else line.split())[:width]


# --- Spot instances ------------------------------------------------------------------------------

_MOST_NODES = 999_999  # a typing error must not fill the memory


class _Metadata(BaseModel):
    gap_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]


class _Trace(BaseModel):
    metadata: _Metadata
    data: Annotated[list[Annotated[StrictInt, Field(ge=0, le=_MOST_NODES)]], Field(min_length=1)]


def read_spot(path: LogPath) -> FailureLog:
    """Failures of the nodes of a spot trace: one JSON object with metadata.gap_seconds and data.

    Which node it is, is a convention (last come, first gone), since such a trace only counts. The
    population is the largest number; nodes that aren't there at the first tick have not failed, and
    are watched from the tick at which they come. Time 0 is the first tick; the last one is watched
    for as long as the others.

    References
    ----------
    Z. Wu et al., "Can't be late: optimizing spot instance savings under deadlines", NSDI 2024;
    https://github.com/skypilot-org/spot-traces.
    """
    trace = read_json(path, _Trace, "a spot trace")
    gap_s, counts = trace.metadata.gap_seconds, np.array(trace.data)
    before, end_s = np.append(0, counts[:-1]), len(counts) * gap_s
    falls, rises = _changes(counts, before), _changes(before, counts)
    if falls.empty:
        raise LogError(f"{path}: holds no failure: the number of nodes in data never falls")
    rises["back_s"] = rises.tick * gap_s
    falls = pd.merge_asof(falls, rises, on="tick", by="node", direction="forward")
    return FailureLog(
        times_s=falls.tick.to_numpy() * gap_s,
        nodes=falls.node.to_numpy(),
        start_s=0.0,
        span_s=end_s,
        population=int(counts.max()),
        repaired_s=falls.back_s.to_numpy(),
        until_s=end_s,
        rows=("ticks", len(counts)),
        came_s=rises.groupby("node").back_s.min().to_numpy(),
        left_s=np.full(counts.max(), end_s),
    )


def _changes(low: NDArray[np.int64], high: NDArray[np.int64]) -> pd.DataFrame:
    """Return a row for each tick and node from `low` to below `high` there, both by tick."""
    sizes = np.maximum(high - low, 0)
    first = np.repeat(low - (np.cumsum(sizes) - sizes), sizes)
    tick = np.repeat(np.arange(len(sizes)), sizes)
    return pd.DataFrame({"tick": tick, "node": first + np.arange(len(first))})


# --- StepFun -------------------------------------------------------------------------------------

_DAY_S = 86_400.0
_MOST_DAYS = 100_000  # centuries: a time in seconds is none in days
_Text = Annotated[str, Field(min_length=1, strict=True)]


class _Fault(BaseModel):
    model_config = ConfigDict(extra="allow")

    cause: _Text = Field(alias="Class")


class _Event(BaseModel):
    node_id: _Text
    event_time: Annotated[float, Field(ge=0, le=_MOST_DAYS, allow_inf_nan=False, strict=True)]
    event_type: Literal["fault_start", "fault_end"]
    fault_type: _Fault

    @property
    def fault(self) -> tuple[str, str]:
        """The node, and all attributes of the fault."""
        return self.node_id, json.dumps(self.fault_type.model_dump(), sort_keys=True)


def read_stepfun(path: LogPath) -> FailureLog:
    """Faults of a JSON list of events: `node_id`, `event_time`, `event_type`, `fault_type`.

    Times are in days from the start of the trace; the observation lasts from there to the last
    event. The cause is the `Class` of the fault type.

    References
    ----------
    C. Shou et al., "InfiniteHBD: building datacenter-scale high-bandwidth domain for LLM with
    optical circuit switching transceivers", SIGCOMM 2025;
    https://github.com/stepfun-ai/InfiniteHBD-Trace.
    """
    events = read_json(path, list[_Event], "a list of StepFun faults")
    events.sort(key=lambda event: event.event_time)  # those at one instant stay in order
    outages, opened, early = list[list[Any]](), defaultdict[Any, deque[list[Any]]](deque), 0
    for event in events:
        faults, at_s = opened[event.fault], event.event_time * _DAY_S
        if event.event_type == "fault_start":
            outages.append([event.node_id, at_s, math.nan, event.fault_type.cause])
            faults.append(outages[-1])
        elif faults:
            faults.popleft()[2] = at_s
        else:
            early += 1
    return outages_log(
        path,
        pd.DataFrame(outages, columns=["node", "start_s", "end_s", "cause"]),
        events[-1].event_time * _DAY_S if events else 0.0,
        nothing="no event is a fault_start",
        zero_s=0.0,
        rows=("events", len(events)),
        dropped={"ends of faults that are not open": early},
    )
