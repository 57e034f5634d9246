"""Lines and rows of a user's file, read one at a time; a fault of one is a `LogError`.

Every fault is one line, `path:line: what is wrong`.
"""

import codecs
import csv
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from io import BufferedReader
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from cprsim.basics.files import absent, open_to_read
from cprsim.errors import LogError

LogPath = str | PathLike[str]
#: A row's cells, and the number of its first line.
Cells = tuple[int, list[str]]

UNPACKERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_ARCHIVE = re.compile(r"\.(tar(\.\w+)?|tgz|txz|zip)", re.IGNORECASE)
_LONGEST_LINE = 2**20  # bytes; a file without line ends must not fill the memory


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
            BufferedReader(UNPACKERS[suffix](packed)) if suffix in UNPACKERS else packed as file,
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


def number(text: str) -> float | None:
    """A number as Python writes it, inf and nan included; None where the text is none."""
    try:
        # float() alone would take 1_000 and digits of other scripts.
        return float(text if text.isascii() and "_" not in text else "")
    except ValueError:
        return None


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
