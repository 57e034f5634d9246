"""A log of accesses to the rows of one table: its popularity, and what saving by priority loses."""

import os
from array import array
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.row_loss import curves, skews_of
from cprsim.basics.tabular import LogPath, lines
from cprsim.errors import LogError, shown
from cprsim.rows.meanfield import TRACKERS, MeanField
from cprsim.rows.popularity import Popularity, counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: CPR's choice of the fraction (MLSys 2021).
CPR_FRACTION = 1 / 8
_FEWEST_ROWS = 64  # of which the smallest fraction takes one
_BUFFER = 1 << 20  # accesses counted together
_MOST_ROWS = 10**8


@dataclass(frozen=True, eq=False)
class AccessLog:
    """Popularity of the rows of one table, counted from a log of accesses.

    `popularity`: of its rows; `accesses`: how many the log has, taken for those of one interval.
    """

    path: str
    popularity: Popularity
    accesses: int

    @property
    def concentration(self) -> dict[float, float]:
        """Share of the accesses that the most popular share of the rows gets."""
        return {each: self.popularity.top_share(each) for each in (0.001, 0.01, 0.05, 0.125, 0.2)}

    @property
    def relative(self) -> dict[str, float]:
        """Long-run loss of each tracker at CPR's fraction, relative to CPR-vanilla."""
        field = MeanField(self.popularity, self.accesses, CPR_FRACTION)
        return {tracker: field.long_run(tracker) for tracker in TRACKERS}

    @property
    def notes(self) -> list[str]:
        """A sentence on how the losses were worked out."""
        return [
            f"The {self.accesses:,} accesses are taken for those of one interval; an eighth of the "
            "rows is saved every eighth of it."
        ]

    def document(self) -> dict[str, Any]:
        """Return the document of `cprsim rows --from --json`."""
        return {
            "log": self.path,
            "rows": self.popularity.size,
            "accesses": self.accesses,
            "concentration": {f"{key:g}": value for key, value in self.concentration.items()},
            "fraction": CPR_FRACTION,
            "policies": {
                name: {"updates_lost_relative": value} for name, value in self.relative.items()
            },
        }

    def figure(self) -> "Figure":
        """Lost share against the fraction of a save, for this log and two other skews."""
        from cprsim.figures.measured import lost_rows  # noqa: PLC0415

        size = self.popularity.size
        skews = {
            os.path.basename(self.path): self.popularity,  # noqa: PTH119  (a name, not a path)
            **skews_of(size),
        }
        return lost_rows(
            curves(skews, self.accesses, None), f"{self.path}: {size:,} rows, in the long run"
        )


def access_log(path: str | os.PathLike[str]) -> AccessLog:
    """Count the accesses of a log; raise `LogError` where it can't be read."""
    found = read_accesses(path)
    if len(found) < _FEWEST_ROWS:
        raise LogError(f"{os.fspath(path)}: has {len(found)} rows; {_FEWEST_ROWS} are needed")
    return AccessLog(os.fspath(path), counts(found), int(found.sum()))


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
    found, buffer, users = np.zeros(0, dtype=np.int64), array("q"), None
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
                found, buffer = _with(found, buffer), array("q")
    found = _with(found, buffer)
    if not len(found):
        raise LogError(f"{path}: names no row")
    return found


def _row(path: LogPath, line: int, word: str) -> int:
    # isdecimal() alone would take digits of other scripts.
    if not (word.isascii() and word.isdecimal()):
        raise LogError(f"{path}:{line}: {shown(word)} is not the number of a row, 0 or more")
    row = int(word) if len(word) < 20 else _MOST_ROWS
    if row >= _MOST_ROWS:
        raise LogError(f"{path}:{line}: row {word[:30]} is beyond 1e8; number the rows from 0 on")
    return row


def _with(found: NDArray[np.int64], buffer: "array[int]") -> NDArray[np.int64]:
    more = np.bincount(np.array(buffer, dtype=np.int64), minlength=len(found))
    more[: len(found)] += found
    return more
