"""The axis of a map: cells around values that were chosen, as people write them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.units import format_bytes
from cprsim.figures.parts.texts import duration, number, short

Floats = NDArray[np.float64]

#: Keys of a scenario in words; others are called as they are.
_WORDS: Final = {
    "failures.mean": "mean time between failures",
    "failures.exactly": "failures in the job",
    "cluster.parameter_servers": "parameter servers",
    "cluster.trainers": "trainers",
    "cluster.spares": "spare machines",
    "costs.save": "time of a save",
    "costs.load": "time of a load",
    "costs.reschedule": "time to replace a machine",
    "costs.detect": "time to detect a failure",
    "storage.write": "write bandwidth of the store",
    "storage.read": "read bandwidth of the store",
    "cluster.nic": "network bandwidth of a node",
    "job.useful_time": "useful time of the job",
}
#: How a value is written, by how its column's name ends.
_WRITE: Final[dict[str, Callable[[float], str]]] = {
    "_s": duration,
    "_bytes": format_bytes,
    "_bytes_per_s": lambda value: f"{format_bytes(value)}/s",
    "_share": lambda value: f"{number(100 * value)} %",
}
_LONGEST: Final = 22  # letters of a text beside an axis


@dataclass(frozen=True)
class Scale:
    """Distinct values of a column in order, each in the middle of a cell.

    Parameters
    ----------
    key
        What the axis shows.
    at
        Where each value stands; texts at 0, 1, 2, ...
    texts
        How each value is written.
    place
        Of each row of the table, which of the values it has.
    logarithmic
        Whether the values are spread more evenly over their logarithms.
    """

    key: str
    at: Floats
    texts: list[str]
    place: NDArray[np.intp]
    logarithmic: bool

    @classmethod
    def from_column(cls, key: str, column: "pd.Series[Any]") -> "Scale":
        """The scale of a column of quantities, numbers or texts; its name says which."""
        if not pd.api.types.is_numeric_dtype(column):
            place, names = pd.factorize(column)
            at = np.arange(len(names), dtype=np.float64)
            return cls(key, at, [short(str(name), _LONGEST) for name in names], place, False)
        at, place = np.unique(column.to_numpy(dtype=np.float64), return_inverse=True)
        write = _WRITE.get(str(column.name).removeprefix(key), number)
        return cls(key, at, [write(value) for value in at.tolist()], place, _is_logarithmic(at))

    @property
    def words(self) -> str:
        """Of the axis, for people."""
        return _WORDS.get(self.key, self.key)

    @property
    def name(self) -> str:
        """Of the scale, for matplotlib."""
        return "log" if self.logarithmic else "linear"

    @property
    def edges(self) -> Floats:
        """Of the cells, one more than there are values: halfway between them on the axis."""
        if len(self.at) == 1:
            return np.array([-0.5, 0.5]) + self.at
        at = np.log(self.at) if self.logarithmic else self.at
        inner = (at[:-1] + at[1:]) / 2
        edges = np.concatenate(([2 * at[0] - inner[0]], inner, [2 * at[-1] - inner[-1]]))
        return np.asarray(np.exp(edges) if self.logarithmic else edges)

    @property
    def named(self) -> dict[float, str]:
        """How each value is written."""
        return dict(zip(self.at.tolist(), self.texts, strict=True))

    @property
    def narrowest(self) -> float:
        """Width of the narrowest cell, as a share of the axis."""
        widths = np.diff(np.log(self.edges) if self.logarithmic else self.edges)
        return float(widths.min() / widths.sum())


def _is_logarithmic(at: Floats) -> bool:
    if len(at) < 3 or at[0] <= 0:
        return False
    return _unevenness(np.log(at)) < _unevenness(at)


def _unevenness(at: Floats) -> float:
    gaps = np.diff(at)
    return float(gaps.std() / gaps.mean())
