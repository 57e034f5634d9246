"""Tables of jobs, as a scheduler keeps them: a row a job with its nodes, its time and its state.

As `sacct --parsable2 --duplicates --truncate` writes them; docs/failures.md has the whole command.
"""

import csv
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.tabular import (
    Cells,
    LogPath,
    csv_cells,
    delimiter_of,
    header_cells,
    is_unknown,
    shown,
    with_header,
)
from cprsim.basics.units import counted
from cprsim.errors import LogError, UnitError, UsageError
from cprsim.failures.logs.clock import LogClock
from cprsim.failures.logs.columns import Columns, known_by, plain
from cprsim.failures.logs.job_records import JobRecords
from cprsim.failures.logs.lives import seconds_of
from cprsim.failures.logs.rules import Cell, Rules
from cprsim.failures.logs.table import LogTable, read_table

#: By what names columns go; small and capital letters are alike, and so are blanks, `-` and `_`.
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "job": ("jobid", "job_id", "jobidraw", "job", "slurm_job_id"),
    "state": ("state", "job_state", "status", "exit_state", "final_state"),
    "nodes": (
        *("nnodes", "num_nodes", "n_nodes", "node_num", "nodes", "node_count", "allocnodes"),
        *("alloc_nodes", "nodes_alloc"),
    ),
    "elapsed": (
        *("elapsedraw", "elapsed", "elapsed_s", "duration", "duration_s", "runtime", "run_time"),
        *("run_time_s", "wall_time"),
    ),
    "start": ("start", "start_time", "started", "started_at"),
    "end": ("end", "end_time", "ended", "ended_at", "finished_at"),
}
#: What Slurm calls a job that lost a node.
NODE_FAIL: Final = "NODE_FAIL"
_HOUR_S: Final = 3600.0
#: What Slurm calls a step: of a job, of one of an array, or of a part of a job.
_STEP: Final = re.compile(r"(.+)\.(batch|extern|interactive|[0-9]+)")
_NODES: Final = r"[0-9]{1,9}(\.0)?"
#: Why rows are left out, in the order in which they are told.
_AGAIN: Final = "told again"
_OF_STEPS: Final = "of steps of a job"
_WITHOUT_NODES: Final = "of jobs without nodes"
_NEVER_RAN: Final = "of jobs that never ran, or whose end is unknown"


def are_jobs(header: str) -> bool:
    """Return whether the header of a table is that of a table of jobs, and not of nodes."""
    names = header_cells(header)
    found = columns_of(names)
    return "job" in found and not missing_of(found) and "node" not in Columns().found(names)


def missing_of(found: dict[str, str]) -> str:
    """Say what a table of jobs needs and this one lacks; empty if it has all."""
    for column in ("state", "nodes"):
        if column not in found:
            return f"has no column of {column}, such as {COLUMNS[column][0]}"
    if "elapsed" in found or {"start", "end"} <= found.keys():
        return ""
    return "has no column elapsed, nor start and end"


def columns_of(names: list[str]) -> dict[str, str]:
    """The name in the header of each column that is known."""
    return known_by(names, COLUMNS)


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
    rules = Rules.of({"failure_when": failure_when, "time_unit": time_unit})
    table = read_table(path, choose=_choose, split=_cells)
    of, failing = columns_of(table.names), _failing(table, rules.failing)
    rows = pd.DataFrame(
        {
            "state": table[of["state"]].map(_first),
            "nodes": _nodes(table, of["nodes"]),
            "hours": _elapsed_s(path, table, of, rules.unit_s) / _HOUR_S,
            "interrupted": [
                failing.holds(cell) or failing.holds(_first(cell)) for cell in table[failing.column]
            ],
        }
    )
    rows["job"], runs = "", pd.Series(range(len(rows)), rows.index).astype(str)
    if "job" in of:  # what tells runs of jobs apart: the start of each, where that is known
        rows["job"] = table[of["job"]]
        told = [of["job"], of["start"]] if "start" in of else table.names
        runs = runs.where(rows.job == "", table.cells[told].agg("\n".join, axis=1))
    jobs = rows[~runs.duplicated(keep="last")]
    if rules.failing is not None and not jobs.interrupted.any():
        raise UsageError(
            f"--failure-when {rules.failing}: no row of {path} has it; jobs ended as "
            f"{', '.join(jobs.state.unique())}"
        )
    ids = {*jobs.job}
    reasons = (_OF_STEPS, _WITHOUT_NODES, _NEVER_RAN)
    is_step = jobs.job.map(lambda job: _is_step(job, ids))
    why = np.select([is_step, jobs.nodes == 0, ~(jobs.hours > 0)], reasons, "")
    kept, counts = jobs[why == ""], Counter(why.tolist()) + Counter({_AGAIN: len(rows) - len(jobs)})
    dropped = {each: counts[each] for each in (_AGAIN, *reasons) if counts[each]}
    if kept.empty:
        left_out = ", ".join(f"{count:,} {each}" for each, count in dropped.items())
        raise LogError(
            f"{path}: none of its {counted(len(rows), 'row')} is of a job that ran: {left_out}"
        )
    return JobRecords(
        os.fspath(path),
        kept[["nodes", "hours", "interrupted"]].reset_index(drop=True),
        str(failing),
        dict(Counter(kept.state).most_common()),
        dropped,
        # Slurm's own word for nodes, and no job with two runs.
        plain(of["nodes"]) == "nnodes" and kept.job.is_unique,
    )


def _choose(names: list[str]) -> tuple[list[str], list[str]]:
    of = columns_of(names)
    lacks = missing_of(of)
    if lacks:
        raise LookupError(f"{lacks}; the header is {shown(','.join(names))}")
    return list(dict.fromkeys(of.values())), []


def _failing(table: LogTable, given: Cell | None) -> Cell:
    """The cell of jobs that were interrupted, its column as the table has it."""
    names = table.names
    if given is None:
        return Cell(columns_of(names)["state"], NODE_FAIL)
    found = next((name for name in names if plain(name) == plain(given.column)), None)
    if found is None:
        raise UsageError(f"--failure-when {given}: the columns are {', '.join(names)}")
    return Cell(found, given.value)


def _elapsed_s(
    path: LogPath, table: LogTable, of: dict[str, str], unit_s: float | None
) -> NDArray[np.float64]:
    """How long each job ran, nan where that isn't known."""
    if "elapsed" in of:

        def lasted(text: str) -> float:
            try:
                return seconds_of(text, unit_s or 1.0)
            except UnitError as error:
                raise UnitError(f"{of['elapsed']}: {error}") from None

        return table.parsed(of["elapsed"], lasted, may_lack=True)
    clock, elapsed_s = LogClock(plain=False, unit_s=unit_s), np.full(len(table), math.nan)
    ends = [~table[of[each]].map(is_unknown).to_numpy(np.bool_) for each in ("start", "end")]
    timed = ends[0] & ends[1]
    if timed.any():
        known = table.of_rows(timed)
        when, until = clock.read(known, of["start"]), clock.read(known, of["end"])
        try:
            placed = clock.placed(when, until)
        except LogError as error:
            raise LogError(f"{path}: {error}") from None
        elapsed_s[timed] = placed.ends_s - placed.times_s
    return elapsed_s


def _cells(path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """Rows of a table, without headers within it; where `|` parts cells nothing is quoted."""
    header, whole = with_header(text)
    mark = delimiter_of(header)
    names = header_cells(header)
    rows: Iterator[Cells] = csv_cells(path, whole, mark)
    if mark == "|":
        rows = enumerate(csv.reader(whole, delimiter=mark, quoting=csv.QUOTE_NONE), 1)
    first = True
    for line, cells in rows:  # several tables may be in one file
        if any(cells) and (first or [each.strip() for each in cells] != names):
            yield line, cells
            first = False


def _nodes(table: LogTable, column: str) -> NDArray[np.int64]:
    texts = table[column].str.replace(",", "")
    unknown = texts.map(is_unknown)
    wrong = ~texts.str.fullmatch(_NODES) & ~unknown
    table.refuse(
        column, wrong, ", not a number of nodes; of sacct, print NNodes, and with --noconvert"
    )
    return np.asarray(texts.where(~unknown, "0").astype(np.float64), np.int64)


def _is_step(job: str, jobs: set[str]) -> bool:
    """Whether an id is that of a step: `7.batch`, or `7.0` where there is a job 7."""
    found = _STEP.fullmatch(job)
    return found is not None and (not found[2].isdigit() or found[1] in jobs)


def _first(cell: str) -> str:
    """The first word of a state: Slurm writes `CANCELLED by 1001`."""
    return next(iter(cell.split()), "(none)")
