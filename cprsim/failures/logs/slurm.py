"""Slurm's record of nodes that were down or drained: what `sacctmgr list event` prints."""

import math
import re
from collections.abc import Iterator
from datetime import datetime

from cprsim.basics.tabular import Cells, LogPath, TableRow, is_unknown, joined, table
from cprsim.failures.logs.log import Epoch, FailureLog, Rows
from cprsim.failures.logs.outages import NodeOutages
from cprsim.failures.logs.planned import planned_word
from cprsim.failures.logs.rules import Rules

#: In this order where the file has no line with their names: what sacctmgr prints by itself.
COLUMNS = ("Cluster", "NodeName", "TimeStart", "TimeEnd", "State", "Reason", "User")
_NEEDED = ("NodeName", "TimeStart", "TimeEnd", "State", "Reason")
#: States of a node that has failed, as sacctmgr writes them short or long.
FAILED = ("DOWN", "DRAIN", "DRAINED", "DRAINING", "DRNG", "ERROR", "FAIL", "FAILG", "FAILING")
#: States that only a fault gives, whatever the reason says.
FAULTS = ("ERROR", "FAIL", "FAILG", "FAILING")
#: What a row may have more cells of than its header: its users' own words.
FREE_TEXT = "reason"
# Flags behind a state: * doesn't respond; others are of power saving, reboots and maintenance.
_STATE = re.compile(rf"({'|'.join(FAILED)})(\+(NOT_RESPONDING|{'|'.join(FAILED)}))*\*?")
_DRAINED = re.compile(r"(IDLE|MIXED|ALLOCATED)\*?\+(?=DRAIN)")
_FAULT = re.compile(rf"\b({'|'.join(FAULTS)})\b")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
_EPOCH = datetime(2000, 1, 1)
_NO_RULES = Rules()


def read_slurm(path: LogPath, rules: Rules = _NO_RULES) -> FailureLog:
    """Failures of the nodes of a Slurm cluster, as `sacctmgr -P list event` prints them.

    Cells stand between `|`, which a Reason may hold too. The first line names the columns; where
    there is none (`-n`), they are those of `COLUMNS`, in that order. Needed are NodeName,
    TimeStart, TimeEnd, State and Reason; nodes of several clusters are told apart by Cluster. Rows
    may come in any order.

    Parameters
    ----------
    path
        The file; plain, or compressed with a name that ends in `.gz` or `.xz`.
    rules
        Which reasons are of planned outages, as the owner says it.

    Returns
    -------
    FailureLog
        A failure for each time that a node is in a state of `FAILED`. Rows of a node that touch or
        overlap (drained, then down) are one outage, with the reason of the first. One whose end is
        unknown has no known repair. Time 0 is the first failure; nodes are watched until the last
        instant of the file. The times are local and carry no zone, so two gaps a year are an hour
        off. Left out and counted are rows of whole clusters, of other states, and of outages that
        were planned by their first reason (see `cprsim.failures.logs.planned`) and state (not
        those of `FAULTS`): these are in `planned`.

    Raises
    ------
    LogError
        If the file can't be read, lacks a column, or none of its rows is a failure.

    References
    ----------
    sacctmgr(1) and sinfo(1), "NODE STATE CODES", of Slurm; https://slurm.schedmd.com.
    """
    outages, until_s, read = NodeOutages(), -math.inf, 0
    for row in table(path, _NEEDED, optional=("Cluster",), split=_cells):
        start_s, end_s = _time_s(row, "TimeStart"), _time_s(row, "TimeEnd")
        until_s = max(until_s, start_s, end_s)  # a time of nan is later than nothing
        read += 1
        why = _left_out(row, start_s)
        if why is not None:
            outages.dropped[why] += 1
            continue
        node, reason = row["NodeName"], row["Reason"]
        if "Cluster" in row.columns:
            node = f"{row['Cluster']}/{node}"
        is_fault = _FAULT.search(_state(row)) is not None
        planned = planned_word(reason, rules, by_words=not is_fault)
        outages.add(node, start_s, end_s, None if is_unknown(reason) else reason, planned)
    return outages.log(
        path,
        "it has no row",
        until_s,
        touching_are_one=True,
        epoch=Epoch((_EPOCH - datetime(1970, 1, 1)).total_seconds(), zoned=False),
        rows=Rows("rows", read, len(outages)),
    )


def _state(row: TableRow) -> str:
    return _DRAINED.sub("", row["State"].upper())


def _left_out(row: TableRow, start_s: float) -> str | None:
    """Why a row is no outage of a node; None if it is."""
    if not row["NodeName"]:
        return "rows of whole clusters"
    if not row["State"]:
        raise row.bad("State", f"; it needs a state of a node, e.g. {FAILED[0]}")
    if not _STATE.fullmatch(_state(row)):
        return f"rows of state {row['State']}"
    return "rows without a start" if math.isnan(start_s) else None


def _time_s(row: TableRow, column: str) -> float:
    """Seconds from `_EPOCH` to a local time; nan where it isn't known."""
    text = row[column]
    if is_unknown(text):
        return math.nan
    try:
        if _TIME.fullmatch(text):
            return (datetime.fromisoformat(text) - _EPOCH).total_seconds()
    except ValueError:  # 2024-02-30
        pass
    raise row.bad(column, ", not a time like 2024-01-31T12:00:00, or Unknown")


def _cells(_path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """The names of the columns, then the rows.

    Without the `|` at the end that `-p` writes where no line has the names.
    """
    names, has_end = list[str](), False
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        cells = line.rstrip("\r\n").split("|")
        if not names:
            # A row has no cell that is a column's name: these are no names of nodes, nor reasons.
            names = [cell.strip() for cell in cells]
            if not {*names} & {"NodeName", "TimeStart", "State"}:
                names, has_end = list(COLUMNS), len(cells) > len(COLUMNS) and not cells[-1]
                yield number, names
        yield number, joined(names, cells[: len(cells) - has_end], "|", (FREE_TEXT,))
