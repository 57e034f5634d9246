"""The table that a log is: a frame of cells as text, by the line of each row; or a JSON value.

The path of the file is in the `attrs` of the frame, for faults.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pydantic import TypeAdapter, ValidationError

from cprsim.basics.tabular import Cells, LogPath, csv_cells, lines, number, opened
from cprsim.basics.units import counted
from cprsim.errors import LogError, UnitError, shown
from cprsim.failures.logs.cells import check_length, delimiter_of, is_unknown, joined, with_header
from cprsim.failures.logs.words import WORDS, plain

#: From the names of the columns to those needed and the optional ones.
Choose = Callable[[list[str]], tuple[Sequence[str], Sequence[str]]]
#: Columns of free text, which may hold what parts cells.
_FREE_TEXT: Final = frozenset((*WORDS["columns"]["cause"], *WORDS["text"]["free"]))
_INTEGER = r"[+-]?[0-9]{1,18}"  # 18 digits fit in an int64
#: Why rows of a log that holds several systems are left out.
OTHERS = "rows of other systems"
#: Of a JSON value; what it takes to parse is some ten times as much.
_MOST_BYTES = 2**28
_Kind = TypeVar("_Kind")


def read_table(
    path: LogPath,
    choose: Choose,
    split: Callable[[LogPath, Iterator[str]], Iterator[Cells]] = csv_cells,
    what: str = "failure",
) -> pd.DataFrame:
    """Read a file whose first row names the columns.

    Parameters
    ----------
    path
        The file; plain, or compressed with a name that ends in `.gz` or `.xz`.
    choose
        Columns needed and optional ones, by the names that there are; it raises a `LookupError`
        that says what is wrong with them. Others are read too.
    split
        Rows of the file's lines, that with the names included.
    what
        What a row is of, for the fault of a file that has none.

    Raises
    ------
    LogError
        If the file can't be read, is too long, lacks a column, or holds no row.
    """
    check_length(path)
    with closing(lines(path)) as text:
        rows = split(path, text)
        names, chosen = _header(path, rows, choose)
        places = {name: names.index(name) for name in names if name}
        least, width = 1 + max(places[name] for name in chosen), len(names)
        numbers, kept = list[int](), [list[str]() for _ in places]
        for line, cells in rows:
            if len(cells) < least or (len(cells) > width and any(cells[width:])):
                raise LogError(
                    f"{path}:{line}: the row has {len(cells)} cells, the header has {width}"
                )
            numbers.append(line)
            for column, place in zip(kept, places.values(), strict=True):
                column.append(cells[place].strip() if place < len(cells) else "")
    if not numbers:
        raise LogError(f"{path}: holds no {what}")
    table = pd.DataFrame(dict(zip(places, kept, strict=True)), index=numbers, dtype=object)
    table.attrs["path"] = path
    return table


def _header(path: LogPath, rows: Iterator[Cells], choose: Choose) -> tuple[list[str], list[str]]:
    """Names of the columns, and those that are needed or optional and there."""
    line, cells = next(rows, (0, None))
    if cells is None:
        raise LogError(f"{path}: holds no failure")
    names = [cell.strip() for cell in cells]
    try:
        needed, optional = choose(names)
    except LookupError as error:
        raise LogError(f"{path}:{line}: {error}") from None
    for name in (*needed, *optional):
        if name in needed and name not in names:
            what = f"has no column {name}"
        elif names.count(name) > 1:
            what = f"has column {name} twice"
        else:
            continue
        raise LogError(f"{path}:{line}: {what}; the header is {shown(','.join(names))}")
    return names, [name for name in (*needed, *optional) if name in names]


def cells_of(path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """Yield rows; the first line that isn't blank has the delimiter."""
    header, text = with_header(text)
    mark = delimiter_of(header)
    names = list[str]()
    for line, cells in csv_cells(path, text, mark):
        names = names or cells
        surplus = any(map(str.strip, cells[len(names) :]))
        yield line, joined(names, cells, mark, _FREE_TEXT) if surplus else cells


def bad(table: pd.DataFrame, line: int, column: str, text: str) -> LogError:
    """Return the fault of one cell, which is shown, for the caller to raise."""
    cell = shown(str(table.at[line, column]))
    return LogError(f"{table.attrs['path']}:{line}: {column} is {cell}{text}")


def refuse(table: pd.DataFrame, column: str, wrong: ArrayLike, text: str) -> None:
    """Raise `LogError` for the first cell of a column that is wrong, by a flag each."""
    found = table.index[np.asarray(wrong, np.bool_)]
    if len(found):
        raise bad(table, found.min(), column, text)


def parsed(
    table: pd.DataFrame, column: str, parse: Callable[[str], float], *, may_lack: bool = False
) -> NDArray[np.float64]:
    """Return the number of each cell; nan where one that isn't known is allowed.

    `parse` makes a number of a text. Its `ValueError` says what is wrong, behind the cell; its
    `UnitError` has the cell.
    """
    numbers = np.full(len(table), math.nan)
    for row, (line, text) in enumerate(zip(table.index, table[column], strict=True)):
        if may_lack and is_unknown(text):
            continue
        try:
            numbers[row] = parse(text)
        except UnitError as error:
            raise LogError(f"{table.attrs['path']}:{line}: {error}") from None
        except ValueError as error:
            raise bad(table, line, column, str(error)) from None
    return numbers


def seconds(text: str) -> float:
    """Return a finite time, 0 s or later; raise `ValueError` of anything else."""
    value = number(text)
    if value is None:
        raise ValueError(", not a number of seconds")
    if not 0 <= value < math.inf:
        raise ValueError("; times are finite and 0 s or later")
    return value


def local_s(cells: "pd.Series[Any]", pattern: str, form: str) -> "pd.Series[float]":
    """Return seconds from 1970 to times without a zone; nan where a cell is none.

    Cells match the regular expression `pattern` as a whole; `form` is the same for `strptime`.
    """
    known = cells.where(cells.str.fullmatch(pattern))
    times = pd.to_datetime(known, format=form, errors="coerce")
    return (times - pd.Timestamp(0)) / pd.Timedelta("1s")


def integers(table: pd.DataFrame, column: str) -> NDArray[np.int64]:
    """Return whole numbers, positive or negative."""
    # int() alone would take 1_000 and digits of other scripts.
    refuse(table, column, ~table[column].str.fullmatch(_INTEGER), ", not an integer")
    return np.asarray(table[column].astype(np.int64))


def names_of(table: pd.DataFrame) -> list[str]:
    """Return its columns, in the order of the file."""
    return [str(name) for name in table]


def name_of(table: pd.DataFrame, column: str, rule: str) -> str:
    """Return the name of a column that a rule of the user names; raise `LogError` if none."""
    names = names_of(table)
    found = next((name for name in names if plain(name) == plain(column)), None)
    if found is None:
        raise LogError(
            f"{table.attrs['path']}: {rule} names column {shown(column)}, which the table lacks; "
            f"its columns are {shown(', '.join(names))}"
        )
    return found


def several(path: LogPath, failures: Mapping[int, int]) -> LogError:
    """That a log holds systems with so many failures each, and how to choose; for raising."""
    (first, count), *others = sorted(failures.items())
    listed = [
        f"{first} ({counted(count, 'failure')})",
        *(f"{each} ({n:,})" for each, n in others),
    ]
    return LogError(
        f"{path}: holds systems {', '.join(listed)}; choose one with --system "
        "(in a scenario: failures.system)"
    )


def read_json(path: LogPath, kind: type[_Kind], what: str) -> _Kind:
    """Return the value that a file of JSON holds.

    `kind`: its type, as pydantic checks it. `what` the file should be, for faults.

    Raises
    ------
    LogError
        If the file can't be read, isn't JSON, or holds another kind.
    """
    try:
        with opened(path) as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise LogError(f"{path}: is longer than {_MOST_BYTES:,} bytes; split it")
        return TypeAdapter(kind).validate_python(json.loads(content.decode("utf-8-sig")))
    except EOFError:
        raise LogError(f"{path}: is cut short; copy it again") from None
    except UnicodeDecodeError as error:
        line, byte = 1 + error.object.count(b"\n", 0, error.start), error.object[error.start]
        raise LogError(
            f"{path}:{line}: is not UTF-8: byte 0x{byte:02x}; give it as UTF-8 text"
        ) from None
    except json.JSONDecodeError as error:
        place = f"{error.msg} at column {error.colno}"
        raise LogError(f"{path}:{error.lineno}: is not JSON: {place}; copy it again") from None
    except ValidationError as error:
        raise LogError(f"{path}: is not {what}: {_fault(error)}") from None
    except (ValueError, RecursionError) as error:  # thousands of digits or brackets
        raise LogError(f"{path}: is not {what}: {error}") from None


def _fault(error: ValidationError) -> str:
    """Return the first fault: where it is, what is there, and what should be."""
    first: Any = error.errors()[0]
    place = ".".join(map(str, first["loc"])) or "it"
    if first["type"] == "missing":
        return f"{place} is missing"
    should = re.sub(r"^(Input|List|String)| or instance of \w+| after valid.*", "", first["msg"])
    return f"{place} is {shown(json.dumps(first['input'], default=str))}; it{should}"
