"""What of a log was left out of a fit and why, and what changes that."""

from collections.abc import Mapping
from typing import Final

from cprsim.failures.logs.concentration import OF_WORST
from cprsim.failures.logs.log import OUTSIDE, Rows
from cprsim.failures.logs.table import OTHERS
from cprsim.failures.logs.views import ZERO
from cprsim.fitting.repair_causes import count_lines

#: Failures that are no gaps of their own.
COALESCED: Final = "failures coalesced with the one before them"
#: What is somebody's choice: the option that changes it.
_OPTIONS: Final = {
    OTHERS: "--system",
    OUTSIDE: "--window",
    OF_WORST: "--exclude-worst",
    COALESCED: "--coalesce",
    ZERO: "--ties keep",
}


def left_out_lines(rows: Rows | None, left_out: Mapping[str, int]) -> list[str]:
    """How many rows were read and kept, and what was left out, a line each."""
    told = []
    if rows is not None:
        count = rows.kept - sum(left_out.get(why, 0) for why in (OUTSIDE, OF_WORST))
        kept = "all of them" if count == rows.read else f"{count:,}"
        told.append(f"Read {rows.read:,} {rows.what}, kept {kept}.")
    if left_out:
        told.append("Left out:")
    return [
        *([" ".join(told)] if told else []),
        *count_lines((count, _with_option(why)) for why, count in left_out.items()),
    ]


def _with_option(why: str) -> str:
    return f"{why} ({_OPTIONS[why]})" if why in _OPTIONS else why


def too_little(path: str, rows: Rows | None, left_out: Mapping[str, int], why: str) -> str:
    """Return the fault of a log with too little left: first what was read, kept and left out."""
    if not path or rows is None:
        return why
    every = ", ".join(f"{count:,} {_with_option(each)}" for each, count in left_out.items())
    gone = f"; left out {every}" if left_out else ""
    return f"{path}: of {rows.read:,} {rows.what} kept {rows.kept:,}{gone}: {why}"
