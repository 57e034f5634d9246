"""Lines and rows of a log, read one at a time; what is wrong with one is a `LogError`.

Every fault is one line, `path:line: what is wrong`.
"""

import codecs
import csv
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from cprsim.basics.files import absent, open_to_read
from cprsim.errors import LogError

LogPath = str | PathLike[str]
#: A row's cells, and the number of its first line.
Cells = tuple[int, list[str]]

_UNPACKERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_ARCHIVE = re.compile(r"\.(tar(\.\w+)?|tgz|txz|zip)", re.IGNORECASE)
_LONGEST_LINE = 2**20  # bytes; a file without line ends must not fill the memory
#: Lines of a table, at most: each is a row that is kept, and takes 30 µs or so to read.
_MOST_LINES = 10_000_000
#: What tools write where they don't know a time, a number or a reason; in small letters.
_UNKNOWN = frozenset(("", "-", "invalid", "n/a", "na", "nan", "nat", "none", "null", "unknown"))


@contextmanager
def opened(path: LogPath) -> Iterator[BinaryIO]:
    """The bytes of a log, unpacked by its suffix (`.gz`, `.xz`).

    Raises
    ------
    LogError
        Whatever goes wrong, but for a packed file that is cut short: that is an `EOFError`, as
        only the caller knows how far it came.
    """
    suffix = Path(path).suffix.lower()
    try:
        # The buffer's readline is C; gzip's and lzma's own are Python, several times as slow.
        with (
            open_to_read(path) as packed,
            BufferedReader(_UNPACKERS[suffix](packed)) if suffix in _UNPACKERS else packed as file,
        ):
            if _ARCHIVE.search(Path(path).name):
                raise LogError(f"{path}: is an archive; unpack it and name one of its files")
            yield file
    except FileNotFoundError:
        raise LogError(f"{path}: {absent(Path(path))}") from None
    except IsADirectoryError:
        raise LogError(f"{path}: is a directory, not a log") from None
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise LogError(f"{path}: is not a sound {suffix} file: {error}") from None
    except OSError as error:
        raise LogError(f"{path}: can't be read: {error.strerror}") from None


def lines(path: LogPath) -> Generator[str, None, None]:
    """Lines of a UTF-8 file, plain or packed; whatever goes wrong is a `LogError`."""
    number = 0
    with opened(path) as file:
        try:
            while raw := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(raw) > _LONGEST_LINE:
                    raise LogError(f"{path}:{number}: is longer than {_LONGEST_LINE} bytes")
                yield (raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw).decode()
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise LogError(
                f"{path}:{number}: is not UTF-8: byte 0x{byte:02x}; give it as UTF-8 text"
            ) from None
        except EOFError:
            raise LogError(f"{path}: is cut short after line {number}; copy it again") from None


def check_length(path: LogPath) -> None:
    """Raise `LogError` for a table of too many lines, by a count that makes no rows.

    A packed file of a few MB may hold as many. A pipe can be read but once, and isn't counted.
    """
    file = Path(path)
    if not file.is_file() or (file.suffix.lower() not in _UNPACKERS and _fits(file)):
        return
    count = 0
    with opened(path) as text, suppress(EOFError):  # cut short: its reader says so
        while (piece := text.read(_LONGEST_LINE)) and count <= _MOST_LINES:
            count += piece.count(b"\n")
    if count > _MOST_LINES:
        raise LogError(
            f"{path}: has more than {_MOST_LINES:,} lines; cut it into parts, e.g. of fewer years"
        )


def _fits(file: Path) -> bool:
    """Return whether a plain file has too few bytes for so many lines."""
    return file.stat().st_size <= _MOST_LINES


def number(text: str) -> float | None:
    """A number as Python writes it, inf and nan included; None where the text is none."""
    try:
        # float() alone would take 1_000 and digits of other scripts.
        return float(text if text.isascii() and "_" not in text else "")
    except ValueError:
        return None


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


def csv_cells(path: LogPath, text: Iterator[str], delimiter: str = ",") -> Iterator[Cells]:
    """Rows of CSV lines; one of nothing but empty cells counts as a blank line."""
    # strict: a quote left open is a fault, not a cell
    reader = csv.reader(text, strict=True, delimiter=delimiter)
    line = 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise LogError(f"{path}:{line}: is not CSV: {error}") from None


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
