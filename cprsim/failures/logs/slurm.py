"""Slurm's events of nodes, as sacctmgr prints them."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd

from cprsim.basics.tabular import Cells, LogPath
from cprsim.failures.logs.cells import is_unknown, joined
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import Rules
from cprsim.failures.logs.outages import outages_log
from cprsim.failures.logs.table import local_s, read_table, refuse
from cprsim.failures.logs.words import WORDS, planned_word

_NO_RULES = Rules()

#: In this order where the file has no line with their names: what sacctmgr prints by itself.
_COLUMNS: Final = ("Cluster", "NodeName", "TimeStart", "TimeEnd", "State", "Reason", "User")
_NEEDED: Final = ("NodeName", "TimeStart", "TimeEnd", "State", "Reason")
#: States of a node that has failed, and those that only a fault gives, whatever the reason says.
FAILED: Final = tuple(WORDS["slurm"]["failed"])
FAULTS: Final = tuple(WORDS["slurm"]["faults"])
# Flags behind a state: * doesn't respond; others are of power saving, reboots and maintenance.
_STATE = re.compile(rf"({'|'.join(FAILED)})(\+(NOT_RESPONDING|{'|'.join(FAILED)}))*\*?")
_DRAINED = re.compile(r"(IDLE|MIXED|ALLOCATED)\*?\+(?=DRAIN)")
_FAULT = re.compile(rf"\b(?:{'|'.join(FAULTS)})\b")
_FORM, _TIME = "%Y-%m-%dT%H:%M:%S", r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"


def read_slurm(path: LogPath, rules: Rules = _NO_RULES) -> FailureLog:
    """Failures of the nodes of a Slurm cluster, as `sacctmgr -P list event` prints them.

    Nodes of several clusters differ by Cluster. Time 0 is the first failure; nodes are
    watched until the last instant of the file. `rules`: which reasons are of planned outages.
    Raises `LogError` if it can't be read or holds no failure.

    References
    ----------
    sacctmgr(1) and sinfo(1), "NODE STATE CODES", of Slurm; https://slurm.schedmd.com.
    """
    rows = read_table(path, lambda _: (_NEEDED, ("Cluster",)), _slurm_cells)
    start_s, end_s = (local_s(rows[column], _TIME, _FORM) for column in ("TimeStart", "TimeEnd"))
    for column, each in (("TimeStart", start_s), ("TimeEnd", end_s)):
        wrong = np.isnan(each) & ~rows[column].map(is_unknown)
        refuse(rows, column, wrong, ", not a time like 2024-01-31T12:00:00, or Unknown")
    names = rows["NodeName"]
    states = rows["State"].str.upper().str.replace(_DRAINED, "", regex=True)
    refuse(
        rows,
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
            "node": rows.get("Cluster", "") + "/" + names,
            "start_s": start_s,
            "end_s": end_s,
            "cause": reasons.mask(reasons.map(is_unknown)),
            "planned": [
                planned_word(reason, rules.planned, rules.not_planned, by_words=not fault)
                for reason, fault in zip(reasons, is_fault, strict=True)
            ],
        }
    )[why == ""]
    return outages_log(
        path,
        found,
        float(np.nanmax([start_s, end_s], initial=-math.inf)),
        nothing="it has no row",
        touching_are_one=True,
        rows=("rows", len(rows)),
        dropped=Counter(why[why != ""].tolist()),
    )


def _slurm_cells(_path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
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
                names, has_end = list(_COLUMNS), len(cells) > len(_COLUMNS) and not cells[-1]
                yield number, names
        yield number, joined(names, cells[: len(cells) - has_end], "|", ("reason",))
