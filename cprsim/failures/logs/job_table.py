"""Tables of jobs, as a scheduler keeps them: a row a job with its nodes, its time and its state.

As `sacct --parsable2 --duplicates --truncate` writes them; docs/failures.md has the whole command.
"""

import csv
import math
import os
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from cprsim.basics.tabular import (
    Cells,
    LogPath,
    TableRow,
    csv_cells,
    delimiter_of,
    is_unknown,
    shown,
    table,
    with_header,
)
from cprsim.basics.units import counted
from cprsim.errors import LogError, UnitError, UsageError
from cprsim.failures.logs.clock import LogClock
from cprsim.failures.logs.columns import plain
from cprsim.failures.logs.durations import seconds_of
from cprsim.failures.logs.job_columns import columns_of, missing_of
from cprsim.failures.logs.job_records import JobRecords
from cprsim.failures.logs.rules import Cell, Rules

#: What Slurm calls a job that lost a node.
NODE_FAIL: Final = "NODE_FAIL"
_HOUR_S: Final = 3600.0
#: What Slurm calls a step: of a job, of one of an array, or of a part of a job.
_STEP: Final = re.compile(r"(.+)\.(batch|extern|interactive|[0-9]+)")
_NODES: Final = re.compile(r"[0-9]{1,9}(\.0)?")


#: Why rows are left out, in the order in which they are told.
_AGAIN: Final = "told again"
_OF_STEPS: Final = "of steps of a job"
_WITHOUT_NODES: Final = "of jobs without nodes"
_NEVER_RAN: Final = "of jobs that never ran, or whose end is unknown"


class _Job(NamedTuple):
    """A row: how long it ran is NaN where its start and end say it, until these are in one unit.

    `run`: what tells runs of jobs apart, the start of each, where that is known.
    """

    run: object
    job: str
    state: str
    nodes: int
    elapsed_s: float
    interrupted: bool


def read_jobs(
    path: LogPath, failure_when: str | None = None, time_unit: str | None = None
) -> JobRecords:
    """Read a table of jobs.

    Of rows of one job with one start the last counts.

    Parameters
    ----------
    path
        A table with a header, its cells parted by a comma, `;`, a tab or `|`; packed ones too.
    failure_when
        COLUMN=VALUE, the jobs that were interrupted; the state `NODE_FAIL` if not given. Of a cell
        of several words the first counts, too.
    time_unit
        Of times that are numbers, as in `cprsim.failures.logs.rules.Rules`.

    Raises
    ------
    LogError
        If the file can't be read, lacks a column, or holds no job that ran.
    UsageError
        If `failure_when` or `time_unit` make no sense, or no job ended as `failure_when` says.
    """
    reader = _Reader(Rules.of({"failure_when": failure_when, "time_unit": time_unit}))
    for row in table(path, choose=reader.choose, split=_cells):
        reader.add(row)
    try:
        return reader.records(os.fspath(path))
    except LogError as error:
        raise LogError(f"{path}: {error}") from None


class _Reader:
    """Takes rows, and makes jobs of them."""

    def __init__(self, rules: Rules) -> None:
        self._unit_s = rules.unit_s
        self._clock = LogClock(plain=False, unit_s=rules.unit_s)
        self._given = rules.failing
        self._failing = Cell("", "")
        self._of: dict[str, str] = {}
        self._jobs = list[_Job]()
        self._starts, self._ends, self._timed = array("d"), array("d"), list[int]()

    def choose(self, names: list[str]) -> tuple[list[str], list[str]]:
        """The columns to read."""
        self._of = columns_of(names)
        lacks = missing_of(self._of)
        if lacks:
            raise LookupError(f"{lacks}; the header is {shown(','.join(names))}")
        self._failing = Cell(self._of["state"], NODE_FAIL)
        if self._given is not None:
            by_plain = {plain(name): name for name in names}
            column = by_plain.get(plain(self._given.column))
            if column is None:
                known = ", ".join(filter(None, names))
                raise UsageError(f"--failure-when {self._given}: the columns are {known}")
            self._failing = Cell(column, self._given.value)
        return list(dict.fromkeys((*self._of.values(), self._failing.column))), []

    def add(self, row: TableRow) -> None:
        """Take a row."""
        of, cell = self._of, row[self._failing.column]
        job = row[of["job"]] if "job" in of else ""
        interrupted = self._failing.holds(cell) or self._failing.holds(_first(cell))
        state, nodes = _first(row[of["state"]]), _nodes(row, of["nodes"])
        elapsed_s = self._elapsed_s(row)
        if "elapsed" not in of and not any(is_unknown(row[of[each]]) for each in ("start", "end")):
            self._timed.append(len(self._jobs))
            self._starts.append(self._clock.read(row, of["start"]))
            self._ends.append(self._clock.read(row, of["end"]))
        self._jobs.append(_Job(self._run(row, job), job, state, nodes, elapsed_s, interrupted))

    def _run(self, row: TableRow, job: str) -> object:
        """What tells runs of jobs apart: the start of each, where that is known."""
        if not job:
            return len(self._jobs)
        return (job, row[self._of["start"]]) if "start" in self._of else tuple(row.cells)

    def _elapsed_s(self, row: TableRow) -> float:
        if "elapsed" not in self._of or is_unknown(row[self._of["elapsed"]]):
            return math.nan
        try:
            return seconds_of(row[self._of["elapsed"]], self._unit_s or 1.0)
        except UnitError as error:
            raise row.fault(f"{self._of['elapsed']}: {error}") from None

    def records(self, path: str) -> JobRecords:
        """What was read."""
        rows = pd.DataFrame(self._jobs, columns=list(_Job._fields))
        if self._timed:
            when_s, until_s, *_ = self._clock.placed(self._starts, self._ends)
            rows.loc[self._timed, "elapsed_s"] = until_s - when_s
        jobs = rows.drop_duplicates("run", keep="last")
        if self._given is not None and not jobs.interrupted.any():
            raise UsageError(
                f"--failure-when {self._given}: no row of {path} has it; jobs ended as "
                f"{', '.join(jobs.state.unique())}"
            )
        ids, hours = {*jobs.job}, jobs.elapsed_s / _HOUR_S
        why = np.select(
            [jobs.job.map(lambda job: _is_step(job, ids)), jobs.nodes == 0, ~(hours > 0)],
            [_OF_STEPS, _WITHOUT_NODES, _NEVER_RAN],
            "",
        )
        kept = jobs.assign(hours=hours)[why == ""]
        left_out = {_AGAIN: len(rows) - len(jobs)}
        left_out |= {
            each: int((why == each).sum()) for each in (_OF_STEPS, _WITHOUT_NODES, _NEVER_RAN)
        }
        dropped = {why: count for why, count in left_out.items() if count}
        if kept.empty:
            told = ", ".join(f"{count:,} {each}" for each, count in dropped.items())
            raise LogError(f"none of its {counted(len(rows), 'row')} is of a job that ran: {told}")
        return JobRecords(
            path,
            kept[["nodes", "hours", "interrupted"]].reset_index(drop=True),
            str(self._failing),
            dict(Counter(kept.state).most_common()),
            dropped,
            # Slurm's own word for nodes, and no job with two runs.
            plain(self._of["nodes"]) == "nnodes" and kept.job.is_unique,
        )


def _cells(path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """Rows of a table, without headers within it; where `|` parts cells nothing is quoted."""
    header, text = with_header(text)
    mark, rest = delimiter_of(header), _told_once(header, text)
    if mark != "|":
        yield from csv_cells(path, rest, mark)
        return
    rows = csv.reader(rest, delimiter=mark, quoting=csv.QUOTE_NONE)
    yield from ((line, cells) for line, cells in enumerate(rows, 1) if any(cells))


def _told_once(header: str, text: Iterator[str]) -> Iterator[str]:
    """The lines, with a blank one for each header but the first: of several tables in one file."""
    told = False
    for line in text:
        yield "\n" if told and line == header else line
        told = told or line == header


def _nodes(row: TableRow, column: str) -> int:
    text = row[column].replace(",", "")
    if is_unknown(text):
        return 0
    if not _NODES.fullmatch(text):
        raise row.bad(
            column, ", not a number of nodes; of sacct, print NNodes, and with --noconvert"
        )
    return int(float(text))


def _is_step(job: str, jobs: set[str]) -> bool:
    """Whether an id is that of a step: `7.batch`, or `7.0` where there is a job 7."""
    found = _STEP.fullmatch(job)
    return found is not None and (not found[2].isdigit() or found[1] in jobs)


def _first(cell: str) -> str:
    """The first word of a state: Slurm writes `CANCELLED by 1001`."""
    return next(iter(cell.split()), "(none)")
