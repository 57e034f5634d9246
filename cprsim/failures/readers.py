"""Readers of failure logs; a new one is a function over `_table` and a line in `READERS`.

Files are read line by line: one time and one node a failure is all that stays in memory. Every
fault is a `LogError` of one line, `path:line: what is wrong`.
"""

import codecs
import csv
import gzip
import lzma
import math
import re
import zlib
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from io import BufferedReader
from itertools import islice
from os import PathLike
from pathlib import Path
from reprlib import Repr
from typing import Any

import numpy as np

from cprsim.errors import LogError
from cprsim.failures.log import FailureLog

LogPath = str | PathLike[str]

_KINDS = {"parameter_server": "parameter_server", "ps": "parameter_server", "trainer": "trainer"}
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_LONGEST_LINE = 2**20  # bytes; a file without line ends must not fill the memory
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")  # 18 digits fit in an int64
_START = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4}) +([0-9]{1,2}):([0-9]{2})")
_EPOCH = datetime(1990, 1, 1)  # before any LANL failure; only differences from it are used


def read_log(path: LogPath, reader: str, system: int | None = None) -> FailureLog:
    """Failures of a log in one of the known formats.

    Parameters
    ----------
    path
        The log; plain, or compressed with a name that ends in `.gz` or `.xz`.
    reader
        Name of the format, a key of `READERS`.
    system
        Number of the system to read, for the formats that hold more than one (lanl).

    Raises
    ------
    LogError
        If the reader is unknown, lacks its system, or can't read the log.
    """
    if reader not in READERS:
        raise LogError(f"unknown reader {_shown(reader)}; known readers: {', '.join(READERS)}")
    if reader not in _SYSTEMS:
        if system is not None:
            raise LogError(f"reader '{reader}' knows no systems; leave out system = {system}")
        return READERS[reader](path)
    if system is None:
        raise LogError(f"reader '{reader}' needs system = N ({_SYSTEMS[reader]})")
    return READERS[reader](path, system)


def read_csv(path: LogPath) -> FailureLog:
    """Failures of cprsim's own format: columns time_s, node and, if the log has it, kind.

    `time_s` is in seconds, 0 or later, in order (ties allowed); `node` an index from 0; `kind`
    parameter_server (or ps) or trainer. Other columns are ignored. The observation lasts from the
    first failure to the last.

    Raises
    ------
    LogError
        If the file can't be read, a value is none of these, or there is no failure.
    """
    times, nodes, kinds = array("d"), array("q"), list[str]()
    for row in _table(path, ("time_s", "node"), optional=("kind",)):
        time = row.seconds("time_s")
        if times and time < times[-1]:
            raise row.fault(f"time_s {time} comes after {times[-1]}; sort the log by time_s")
        times.append(time)
        nodes.append(row.index("node"))
        if "kind" in row.columns:
            kinds.append(row.kind("kind"))
    return FailureLog(
        times_s=np.array(times),
        nodes=np.array(nodes),
        start_s=times[0],
        span_s=times[-1] - times[0],
        kinds=tuple(kinds) or None,
    )


def read_lanl(path: LogPath, system: int) -> FailureLog:
    """Failures of one system of the raw LANL data, LA-UR-05-7318.

    Times count from the system's first failure. Its local times carry no zone, so two gaps a year
    are an hour off. A title line before the header is skipped. Rows without a start time, or of
    nodes that the system doesn't have, are dropped and counted.

    Raises
    ------
    LogError
        If the file can't be read, has no such system, or none of its rows can be used.

    References
    ----------
    B. Schroeder and G. A. Gibson, "A large-scale study of failures in high-performance computing
    systems", DSN 2006.
    """
    times, nodes, undated, population, systems = array("d"), array("q"), 0, 0, set[int]()
    for row in _table(path, ("System", "nodes", "nodenumz", "Prob Started"), title_lines=5):
        systems.add(number := row.integer("System"))
        if number != system:
            continue
        population = max(population, row.index("nodes"))
        if not row["Prob Started"]:
            undated += 1
            continue
        times.append(row.started("Prob Started"))
        nodes.append(row.integer("nodenumz"))
    if system not in systems:
        known = ", ".join(map(str, sorted(systems)))
        raise LogError(f"{path}: has no failures of system {system}; it has {known}")

    where = np.array(nodes)
    inside = (where >= 0) & (where < population)
    counts = {
        "without a start time": undated,
        "outside the nodes of the system": len(where) - int(inside.sum()),
    }
    dropped = {reason: count for reason, count in counts.items() if count}
    if not inside.any():
        why = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        raise LogError(f"{path}: has no usable failure of system {system}: {why}")
    when, where = np.array(times)[inside], where[inside]
    # The raw rows go node by node; by node within a minute, the order doesn't hang on the file's.
    order = np.lexsort((where, when))
    when = when[order] - when.min()
    return FailureLog(when, where[order], 0.0, float(when[-1]), None, population, dropped)


READERS: dict[str, Callable[..., FailureLog]] = {"csv": read_csv, "lanl": read_lanl}
_SYSTEMS = {"lanl": "the LANL system number"}  # what `system` means to the readers that need one


@dataclass(slots=True)
class _Row:
    """One row, and where it stands, for its faults."""

    path: LogPath
    line: int
    columns: dict[str, int]
    cells: list[str]

    def __getitem__(self, column: str) -> str:
        return self.cells[self.columns[column]].strip()

    def fault(self, text: str) -> LogError:
        return LogError(f"{self.path}:{self.line}: {text}")

    def bad(self, column: str, text: str) -> LogError:
        return self.fault(f"{column} is {_shown(self[column])}{text}")

    def seconds(self, column: str) -> float:
        text = self[column]
        try:
            # float() alone would take 1_000 and digits of other scripts.
            value = float(text if text.isascii() and "_" not in text else "")
        except ValueError:
            raise self.bad(column, ", not a number of seconds") from None
        if not 0 <= value < math.inf:
            raise self.bad(column, "; times are finite and 0 s or later")
        return value

    def integer(self, column: str) -> int:
        text = self[column]
        # int() alone would take 1_000 and digits of other scripts.
        if not _INTEGER.fullmatch(text):
            raise self.bad(column, ", not an integer")
        return int(text)

    def index(self, column: str) -> int:
        value = self.integer(column)
        if value < 0:
            raise self.bad(column, "; it can't be negative")
        return value

    def kind(self, column: str) -> str:
        kind = _KINDS.get(self[column])
        if kind is None:
            raise self.bad(column, "; known kinds: parameter_server (or ps), trainer")
        return kind

    def started(self, column: str) -> float:
        """Seconds from `_EPOCH` to a local time like 9/26/2003 16:40."""
        match = _START.fullmatch(self[column])
        try:
            # By hand: strptime takes ten times as long.
            month, day, year, hour, minute = map(int, match.groups() if match else ())
            return (datetime(year, month, day, hour, minute) - _EPOCH).total_seconds()
        except ValueError:
            raise self.bad(column, ", not a time like 9/26/2003 16:40 (m/d/Y H:M)") from None


def _table(
    path: LogPath, needed: Sequence[str], optional: Sequence[str] = (), title_lines: int = 0
) -> Iterator[_Row]:
    """Rows of a CSV file with a header; a row of nothing but empty cells counts as a blank line."""
    with closing(_lines(path)) as lines:
        rows = _rows(path, lines)
        names = _header(path, rows, needed, optional, title_lines)
        columns = {name: names.index(name) for name in (*needed, *optional) if name in names}
        empty, least, width = True, 1 + max(columns.values()), len(names)
        for line, cells in rows:
            if len(cells) < least or (len(cells) > width and any(cells[width:])):
                raise LogError(
                    f"{path}:{line}: the row has {len(cells)} cells, the header has {width}"
                )
            empty = False
            yield _Row(path, line, columns, cells)
    if empty:
        raise LogError(f"{path}: holds no failure")


def _header(
    path: LogPath,
    rows: Iterator[tuple[int, list[str]]],
    needed: Sequence[str],
    optional: Sequence[str],
    title_lines: int,
) -> list[str]:
    """Names of the columns, from the first row that has the first column needed."""
    tops = []
    for line, cells in islice(rows, 1 + title_lines):
        names = [cell.strip() for cell in cells]
        tops.append((line, names))
        if needed[0] in names:
            break
    if not tops:
        raise LogError(f"{path}: holds no failure")
    # Where no row looks like a header, the first one is the one to show.
    line, names = tops[-1] if needed[0] in tops[-1][1] else tops[0]
    for name in (*needed, *optional):
        if name in needed and name not in names:
            what = f"has no column {name}"
        elif names.count(name) > 1:
            what = f"has column {name} twice"
        else:
            continue
        raise LogError(f"{path}:{line}: {what}; the header is {_shown(','.join(names))}")
    return names


def _rows(path: LogPath, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Rows that aren't blank, each with the number of its first line."""
    reader = csv.reader(lines, strict=True)  # strict: a quote left open is a fault, not a cell
    line = 1
    try:
        for row in reader:
            if any(map(str.strip, row)):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise LogError(f"{path}:{line}: is not CSV: {error}") from None


def _lines(path: LogPath) -> Generator[str, None, None]:
    """Lines of a UTF-8 file, unpacked by its suffix; whatever goes wrong is a `LogError`."""
    suffix, number = Path(path).suffix.lower(), 0
    try:
        # The buffer's readline is C; gzip's and lzma's own are Python, several times as slow.
        with BufferedReader(_OPENERS.get(suffix, open)(path, "rb")) as file:
            while raw := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(raw) > _LONGEST_LINE:
                    raise LogError(f"{path}:{number}: is longer than {_LONGEST_LINE} bytes")
                yield (raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw).decode()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise LogError(f"{path}:{number}: is not UTF-8: byte 0x{byte:02x}") from None
    except FileNotFoundError:
        raise LogError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise LogError(f"{path}: is a directory, not a log") from None
    except EOFError:
        raise LogError(f"{path}: is cut short after line {number}; copy it again") from None
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise LogError(f"{path}: is not a sound {suffix} file: {error}") from None
    except OSError as error:
        raise LogError(f"{path}: can't be read: {error.strerror}") from None


def _shown(text: str) -> str:
    """Text in quotes on one line; the middle of a stray field of a megabyte is left out."""
    short = Repr()
    short.maxstring = 80
    return short.repr(text)
