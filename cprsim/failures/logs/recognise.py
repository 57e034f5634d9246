"""Which format a log is in, by its first lines."""

import csv
import re
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from cprsim.basics.tabular import LogPath, delimiter_of, opened
from cprsim.errors import LogError
from cprsim.failures.logs.columns import Columns
from cprsim.failures.logs.readers import READERS

_HEAD = 2**18  # bytes that are looked at
_DURATION = re.compile(
    r"[0-9][0-9.e+-]*\s*(ms|s|min|h|d)?([,\s]\s*(1|0|true|false|yes|no|censored|failed))?",
    re.IGNORECASE,
)
_DURATIONS = 50  # lines that are looked at


def _is_table(head: str) -> bool:
    """Whether the first line is a header with times or nodes under a known name."""
    line = head.partition("\n")[0]
    names = next(csv.reader([line], delimiter=delimiter_of(line)))
    return bool({"time", "node"} & Columns().found([name.strip() for name in names]).keys())


def _are_durations(head: str) -> bool:
    """Whether each line is one duration, with or without a flag."""
    texts = map(str.strip, head.splitlines())
    first, *others = islice((line for line in texts if line and line[0] != "#"), _DURATIONS)
    if first.lower().startswith("duration_s"):
        return True
    return all(map(_DURATION.fullmatch, (first, *others)))


def _like(pattern: str) -> Callable[[str], object]:
    return partial(re.compile(pattern, re.DOTALL).search)


#: Whether the beginning of a file, without white space around it, is that of a log; in the order in
#: which it is asked. Formats that aren't in `READERS` count for nothing.
LOOKS: Final[dict[str, Callable[[str], object]]] = {
    "spot": _like(r'\A\{.*"gap_seconds"\s*:'),
    "prometheus": _like(r'\A\{.*"resultType"\s*:\s*"matrix"'),
    "stepfun": _like(r'\A\[.*"fault_start"'),
    "lanl": _like(r"\A([^\n]*\n){0,5}[^\n]*\bnodenumz\b[^\n]*\bProb Started\b"),
    "fta": _like(
        r"\A(#[^\n]*\n\s*)*"
        r"([^\n]*\bevent_start_time\b|\d+\s+\d+\s+\d+\s+\d+\s+[^\n]+\s[01]\s+\d+\s+(\d+|NULL)\b)"
    ),
    "slurm": _like(r"\A[^\n|]+\|[^\n|]*\|"),
    "csv": _is_table,
    "xid": _like("NVRM: Xid"),
    "intervals": _are_durations,
}


def recognised(path: LogPath) -> str:
    """The reader of a log.

    Raises
    ------
    LogError
        If the log can't be read, or looks like none that is known.
    """
    if Path(path).is_fifo() or Path(path).is_char_device():
        return "csv"  # can be read but once
    try:
        with opened(path) as file:
            raw = file.read(_HEAD)
    except EOFError:
        return "csv"  # cut short; where, its reader says
    head = raw.decode("utf-8-sig", "replace")
    # What was cut in the midst of a line tells less than nothing.
    head = head.rpartition("\n")[0] or head if len(raw) == _HEAD else head
    head = head.strip()
    if not head:
        raise LogError(f"{path}: holds no failure")
    known = (*READERS, "intervals")
    for reader, looks in LOOKS.items():
        if reader in known and looks(head):
            return reader
    raise LogError(
        f"{path}: looks like none of the logs that are known: {', '.join(known)}; say which with "
        "--reader, or name the columns of a table with --time-column and --node-column"
    )
