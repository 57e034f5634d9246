"""Which format a log is in, by its first lines."""

import re
from itertools import islice
from pathlib import Path

from cprsim.basics.tabular import LogPath, header_cells, opened
from cprsim.errors import LogError
from cprsim.failures.logs.columns import Columns
from cprsim.failures.logs.intervals import is_line
from cprsim.failures.logs.job_table import are_jobs
from cprsim.failures.logs.lives import are_lives
from cprsim.failures.logs.readers import READERS

_HEAD = 2**18  # bytes that are looked at
_DURATIONS = 50  # lines that are looked at, without a header


def recognised(path: LogPath) -> str:
    """The reader of a log: a key of `READERS`, `"intervals"` or `"jobs"`.

    A table of jobs, with their nodes and how they ended, is `"jobs"`. One of lives, with a column
    that says which were cut short, is `"intervals"`. One whose header has times and nodes under
    known names is CSV, whatever its cells hold; then count the looks of `READERS`; then a header
    with either.

    Raises
    ------
    LogError
        If the log can't be read, or looks like none that is known.
    """
    if Path(path).is_fifo() or Path(path).is_char_device():
        return "csv"  # can be read but once
    try:
        head = _head(path)
    except EOFError:
        return "csv"  # cut short; where, its reader says
    if not head:
        raise LogError(f"{path}: holds no failure")
    of_jobs = are_jobs(head.partition("\n")[0])
    if of_jobs or are_lives(head):
        return "jobs" if of_jobs else "intervals"
    columns = _columns(head)
    if len(columns) == 2:
        return "csv"
    for name, reader in READERS.items():
        if reader.looks and re.search(reader.looks, head, re.DOTALL):
            return name
    if columns or _are_durations(head):
        return "csv" if columns else "intervals"
    raise LogError(
        f"{path}: looks like none of the logs that are known: {', '.join(READERS)}, intervals; say "
        "which with --reader, or name the columns of a table with --time-column and --node-column"
    )


def _head(path: LogPath) -> str:
    """The beginning of a file, without white space around it; whole lines, if it has some."""
    with opened(path) as file:
        raw = file.read(_HEAD)
    if len(raw) == _HEAD:
        raw = raw[: raw.rfind(b"\n") + 1] or raw
    return raw.decode("utf-8-sig", "replace").strip()


def _columns(head: str) -> set[str]:
    """Which of times and nodes the first line has as columns under known names."""
    names = header_cells(head.partition("\n")[0])
    return {"time", "node"} & Columns().found(names).keys()


def _are_durations(head: str) -> bool:
    """Whether each line is one duration, with or without a flag."""
    texts = map(str.strip, head.splitlines())
    lines = list(islice((line for line in texts if line and line[0] != "#"), _DURATIONS))
    header = lines[:1] and lines[0].lower().startswith("duration_s")
    return bool(header or (lines and all(map(is_line, lines))))
