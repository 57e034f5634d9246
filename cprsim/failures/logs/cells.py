"""Rows of a log: what parts its cells, what its header names, and how many there are."""

import csv
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from cprsim.basics.tabular import UNPACKERS, LogPath, opened
from cprsim.errors import LogError

#: Lines of a table, at most: each is a row that is kept, and takes 30 µs or so to read.
_MOST_LINES = 10_000_000
_PIECE = 2**20  # bytes in which lines are counted
#: What tools write where they don't know a time, a number or a reason; in small letters.
_UNKNOWN = frozenset(("", "-", "invalid", "n/a", "na", "nan", "nat", "none", "null", "unknown"))


def check_length(path: LogPath) -> None:
    """Raise `LogError` for a table of too many lines, by a count that makes no rows.

    A packed file of a few MB may hold as many. A pipe can be read but once, and isn't counted.
    """
    file = Path(path)
    if not file.is_file() or (file.suffix.lower() not in UNPACKERS and _fits(file)):
        return
    count = 0
    with opened(path) as text, suppress(EOFError):  # cut short: its reader says so
        while (piece := text.read(_PIECE)) and count <= _MOST_LINES:
            count += piece.count(b"\n")
    if count > _MOST_LINES:
        raise LogError(
            f"{path}: has more than {_MOST_LINES:,} lines; cut it into parts, e.g. of fewer years"
        )


def _fits(file: Path) -> bool:
    """Return whether a plain file has too few bytes for so many lines."""
    return file.stat().st_size <= _MOST_LINES


def is_unknown(text: str) -> bool:
    """Return whether a cell is empty, or says that what it should hold isn't known."""
    return text.lower() in _UNKNOWN


def delimiter_of(header: str) -> str:
    """Return what parts cells: a comma or, where the header has none, `;`, a tab or `|`."""
    return next((mark for mark in ",;\t|" if mark in header), ",")


def header_cells(line: str) -> list[str]:
    """Names of the columns that a line has as a header; none of a line that is no CSV."""
    try:
        cells = next(csv.reader([line], delimiter=delimiter_of(line)), [])
    except csv.Error:  # a line of a megabyte that is no header
        return []
    return [cell.strip() for cell in cells]


def with_header(text: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the first line that isn't blank, and all lines, as if none had been read."""
    blank, header = list[str](), ""
    for header in text:
        if header.strip():
            break
        blank.append(header)
    return header, chain(blank, [header], text)


def joined(
    names: Sequence[str], cells: list[str], delimiter: str, free_text: Container[str]
) -> list[str]:
    """Return the cells of a row, those that its one column of free text has too many made one.

    The row as it is where the header has no such column, or several of which any may hold them.
    """
    surplus = len(cells) - len(names)
    free = [
        place
        for place, name in enumerate(names)
        if name.strip().lower().replace(" ", "_") in free_text
    ]
    if surplus <= 0 or len(free) != 1:
        return cells
    first, last = free[0], free[0] + surplus + 1
    return [*cells[:first], delimiter.join(cells[first:last]), *cells[last:]]
