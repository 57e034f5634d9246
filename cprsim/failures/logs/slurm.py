"""Slurm's record of nodes that were down or drained: what `sacctmgr list event` prints."""

import math
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from cprsim.basics.tabular import Cells, LogPath, is_unknown, joined
from cprsim.failures.logs.log import Epoch, FailureLog, Rows
from cprsim.failures.logs.outages import outages_log
from cprsim.failures.logs.planned import planned_word
from cprsim.failures.logs.rules import Rules
from cprsim.failures.logs.table import read_table

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
_FAULT = re.compile(rf"\b(?:{'|'.join(FAULTS)})\b")
_FORM, _TIME = "%Y-%m-%dT%H:%M:%S", r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
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
    rows = read_table(path, lambda _: (_NEEDED, ("Cluster",)), _cells)
    start_s, end_s = (rows.local_s(column, _TIME, _FORM) for column in ("TimeStart", "TimeEnd"))
    for column, each in (("TimeStart", start_s), ("TimeEnd", end_s)):
        wrong = np.isnan(each) & ~rows[column].map(is_unknown)
        rows.refuse(column, wrong, ", not a time like 2024-01-31T12:00:00, or Unknown")
    names = rows["NodeName"]
    states = rows["State"].str.upper().str.replace(_DRAINED, "", regex=True)
    rows.refuse(
        "State",
        (names != "") & (states == ""),
        f"; it needs a state of a node, e.g. {FAILED[0]}",
    )
    why = np.select(
        [names == "", ~states.str.fullmatch(_STATE), np.isnan(start_s)],
        ["rows of whole clusters", "rows of state " + rows["State"], "rows without a start"],
        "",
    )
    reasons, is_fault = rows["Reason"], states.str.contains(_FAULT)
    found = pd.DataFrame(
        {
            "node": rows["Cluster"] + "/" + names if "Cluster" in rows else names,
            "start_s": start_s,
            "end_s": end_s,
            "cause": [None if is_unknown(reason) else reason for reason in reasons],
            "planned": [
                planned_word(reason, rules, by_words=not fault)
                for reason, fault in zip(reasons, is_fault, strict=True)
            ],
        }
    )[why == ""]
    return outages_log(
        path,
        found,
        "it has no row",
        float(np.nanmax([start_s, end_s], initial=-math.inf)),
        touching_are_one=True,
        epoch=Epoch(0.0, zoned=False),
        rows=Rows("rows", len(rows), len(found)),
        dropped=Counter(why[why != ""].tolist()),
    )


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
