"""Files that say how popular rows are: a concentration curve, or a log of accesses."""

from array import array
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath, csv_cells, lines, number
from cprsim.errors import LogError, shown

#: Columns of a concentration curve.
CURVE_HEADER = ["rows_share", "accesses_share"]
_BUFFER = 1 << 20  # accesses counted together
_MOST_ROWS = 10**8


def read_curve(path: LogPath) -> list[tuple[float, float]]:
    """Points of a concentration curve: CSV with the header `rows_share,accesses_share`.

    Both are shares from 0 to 1, not percentages: `0.01,0.46` says that the most popular 1 % of the
    rows get 46 % of the accesses. The file may be packed (`.gz`, `.xz`).

    Raises
    ------
    LogError
        If the file can't be read, has another header, holds no point, or one that is no pair of
        shares; whether they make a curve is checked by `concentration`.
    """
    points, header = [], True
    with closing(lines(path)) as text:
        for line, cells in csv_cells(path, text):
            names = [cell.strip() for cell in cells]
            if header and names != CURVE_HEADER:
                raise LogError(
                    f"{path}:{line}: the header is {shown(','.join(names))}; "
                    f"it must be {','.join(CURVE_HEADER)}"
                )
            if not header:
                points.append(_point(path, line, names))
            header = False
    if not points:
        raise LogError(f"{path}: holds no point; write {','.join(CURVE_HEADER)} and shares below")
    return points


def _point(path: LogPath, line: int, cells: list[str]) -> tuple[float, float]:
    if len(cells) != len(CURVE_HEADER):
        raise LogError(f"{path}:{line}: the row has {len(cells)} cells, the header has 2")
    shares = []
    for name, cell in zip(CURVE_HEADER, cells, strict=True):
        share = number(cell)
        if share is None:
            raise LogError(f"{path}:{line}: {name} is {shown(cell)}, not a number")
        if not 0 <= share <= 1:
            raise LogError(
                f"{path}:{line}: {name} is {shown(cell)}; shares go from 0 to 1, so write 0.01 "
                f"for 1 %"
            )
        shares.append(share)
    return shares[0], shares[1]


def read_accesses(path: LogPath) -> NDArray[np.int64]:
    """Return how often a log of accesses names each row, shape (largest id + 1,).

    Either one id a line, or a user and the ids that this user accessed, as recommendation data sets
    come (`0 17 4 4 99`: user 0 accessed row 4 twice); the first line says which. Ids are whole
    numbers from 0 with blanks between. The file is read line by line and may be packed (`.gz`,
    `.xz`).

    Raises
    ------
    LogError
        If the file can't be read, names no row, or has a line of another form.
    """
    counts, buffer, users = np.zeros(0, dtype=np.int64), array("q"), None
    with closing(lines(path)) as text:
        for line, words in enumerate(map(str.split, text), 1):
            if not words:
                continue
            if users is None:
                users = len(words) > 1
            if not users and len(words) > 1:
                raise LogError(
                    f"{path}:{line}: has {len(words)} ids, the first line has one: give either one "
                    f"a line, or a user and ids"
                )
            for word in words[users:]:
                buffer.append(_row(path, line, word))
            if len(buffer) >= _BUFFER:
                counts, buffer = _added(counts, buffer), array("q")
    counts = _added(counts, buffer)
    if not len(counts):
        raise LogError(f"{path}: names no row")
    return counts


def _row(path: LogPath, line: int, word: str) -> int:
    # isdecimal() alone would take digits of other scripts.
    if not (word.isascii() and word.isdecimal()):
        raise LogError(f"{path}:{line}: {shown(word)} is not the number of a row, 0 or more")
    row = int(word) if len(word) < 20 else _MOST_ROWS
    if row >= _MOST_ROWS:
        raise LogError(f"{path}:{line}: row {word[:30]} is beyond 1e9; number the rows from 0 on")
    return row


def _added(counts: NDArray[np.int64], buffer: "array[int]") -> NDArray[np.int64]:
    ids = np.array(buffer, dtype=np.int64)
    if ids.size and ids.max() >= len(counts):
        counts = np.concatenate([counts, np.zeros(ids.max() + 1 - len(counts), dtype=np.int64)])
    np.add.at(counts, ids, 1)
    return counts
