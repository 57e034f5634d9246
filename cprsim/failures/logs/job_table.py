"""Tables of jobs, as a scheduler keeps them: a row a job with its nodes, its time and its state.

As `sacct --parsable2 --duplicates --format=JobID,State,NNodes,Start,End,Elapsed` writes them.
"""

import csv
import math
import os
from collections.abc import Iterator, Mapping
from typing import Final

import pandas as pd

from cprsim.basics.tabular import LogPath, check_length, delimiter_of, lines, shown
from cprsim.basics.units import counted
from cprsim.errors import LogError, UnitError, UsageError
from cprsim.failures.logs.durations import seconds_of
from cprsim.failures.logs.job_columns import COLUMNS, columns_of, names_of
from cprsim.failures.logs.job_records import JobRecords
from cprsim.failures.logs.rules import UNITS_S, Cell

#: What Slurm calls a job that lost a node.
NODE_FAIL: Final = "NODE_FAIL"
_HOUR_S: Final = 3600.0
#: What Slurm calls a step of a job, of an array or of several parts too.
_STEP: Final = r"[0-9]+(?:[_+][0-9]+)?\.(?:batch|extern|interactive|[0-9]+)"
_UNKNOWN: Final = ("", "unknown", "invalid", "none", "nan", "n/a")


def read_jobs(path: LogPath, failure_when: str | None = None, time_unit: str = "s") -> JobRecords:
    """Read a table of jobs.

    Parameters
    ----------
    path
        A table with a header, its cells parted by a comma, `;`, a tab or `|`; packed ones too.
    failure_when
        COLUMN=VALUE, the jobs that were interrupted; the state `NODE_FAIL` if not given. Of a cell
        of several words the first counts, too.
    time_unit
        Of times that are numbers: a key of `cprsim.failures.logs.rules.UNITS_S`.

    Raises
    ------
    LogError
        If the file can't be read, lacks a column, or holds no job that ran.
    UsageError
        If `failure_when` is none.
    """
    check_length(path)
    text = lines(path)
    header = next(text, "")
    names = names_of(header)
    of = columns_of(names)
    for column in ("state", "nodes"):
        if column not in of:
            raise LogError(
                f"{path}: has no column of {column}, such as {COLUMNS[column][0]}; the header is "
                f"{shown(header.strip())}"
            )
    if "elapsed" not in of and not {"start", "end"} <= of.keys():
        raise LogError(f"{path}: has no column elapsed, nor start and end; it has {names}")
    table = _table(path, text, names, delimiter_of(header))
    failing = _failing(failure_when, of["state"], names)
    rows = len(table)
    dropped: dict[str, int] = {}

    def keep(wanted: "pd.Series[bool]", why: str) -> None:
        nonlocal table
        if lost := int((~wanted).sum()):
            dropped[why] = lost
        table = table[wanted]

    if "job" in of:
        keep(~table[of["job"]].str.fullmatch(_STEP), "of steps of a job")
    table = table.assign(_nodes=pd.to_numeric(table[of["nodes"]], errors="coerce").fillna(0))
    table = table.assign(_s=_elapsed_s(path, table, of, UNITS_S[time_unit]))
    keep(table["_nodes"] > 0, "of jobs without nodes")
    keep(table["_s"] > 0, "of jobs that never ran, or whose end is unknown")
    if table.empty:
        raise LogError(f"{path}: none of its {counted(rows, 'row')} is of a job that ran")
    cells = table[failing.column]
    jobs = pd.DataFrame(
        {
            "nodes": table["_nodes"],
            "hours": table["_s"] / _HOUR_S,
            "interrupted": [failing.holds(each) or failing.holds(_first(each)) for each in cells],
        }
    ).reset_index(drop=True)
    ended = table[of["state"]].map(_first).value_counts()
    repeated = "job" in of and bool(table[of["job"]].duplicated().any())
    told = {str(name): int(count) for name, count in ended.items()}
    return JobRecords(os.fspath(path), jobs, str(failing), told, dropped, repeated)


def _table(path: LogPath, text: Iterator[str], names: list[str], delimiter: str) -> pd.DataFrame:
    """All cells as text; rows of too few or too many cells are a `LogError`."""
    rows = []
    for line, cells in enumerate(csv.reader(text, delimiter=delimiter), 2):
        if not any(cells):
            continue
        if len(cells) != len(names):
            raise LogError(
                f"{path}:{line}: the row has {len(cells)} cells, the header {len(names)}; of "
                "sacct, print with --parsable2"
            )
        rows.append([each.strip() for each in cells])
    return pd.DataFrame(rows, columns=names, dtype=str)


def _elapsed_s(
    path: LogPath, table: pd.DataFrame, of: Mapping[str, str], unit_s: float
) -> "pd.Series[float]":
    """How long each job ran, s; NaN where that is unknown."""
    if "elapsed" not in of:
        start, end = (_instants(table[of[each]], unit_s) for each in ("start", "end"))
        return (end - start).dt.total_seconds()
    cells = table[of["elapsed"]]
    try:
        told = {
            text: math.nan if text.lower() in _UNKNOWN else seconds_of(text, unit_s)
            for text in set(cells)
        }
    except UnitError as error:
        raise LogError(f"{path}: in {of['elapsed']}, {error}") from None
    return cells.map(told)


def _instants(cells: "pd.Series[str]", unit_s: float) -> "pd.Series[pd.Timestamp]":
    numbers = pd.to_numeric(cells, errors="coerce")
    if numbers.notna().any():
        return pd.to_datetime(unit_s * numbers, unit="s", utc=True)
    return pd.to_datetime(cells, errors="coerce", format="mixed", utc=True)


def _failing(given: str | None, state: str, names: list[str]) -> Cell:
    """What cell says that a job was interrupted."""
    if given is None:
        return Cell(state, NODE_FAIL)
    column, mark, value = given.partition("=")
    if not mark or column not in names:
        known = ", ".join(names)
        raise UsageError(f"--failure-when {given}: is COLUMN=VALUE; columns: {known}")
    return Cell(column, value)


def _first(cell: str) -> str:
    """The first word of a state: Slurm writes `CANCELLED by 1001`."""
    return next(iter(cell.split()), "(none)")
