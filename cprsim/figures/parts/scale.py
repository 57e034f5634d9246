"""The axis of a map: cells around values that were chosen, as people write them."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

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


class Scale(NamedTuple):
    """Distinct values of a column in order, each in the middle of a cell.

    `words`: what the axis shows. `named`: how each value is written, texts at 0, 1, 2, ... `place`:
    of each row of the table, which of the values it has. `name`: `"log"` where the values are
    spread more evenly over their logarithms, else `"linear"`. `edges`: of the cells, one more than
    there are values, halfway between them on the axis. `narrowest`: the width of the narrowest
    cell, as a share of the axis.
    """

    words: str
    named: dict[float, str]
    place: NDArray[np.intp]
    name: str
    edges: Floats
    narrowest: float

    @classmethod
    def from_column(cls, key: str, column: "pd.Series[Any]") -> "Scale":
        """Return the scale of a column of quantities, numbers or texts; its name says which."""
        if pd.api.types.is_numeric_dtype(column):
            at, place = np.unique(column.to_numpy(dtype=np.float64), return_inverse=True)
            write = _WRITE.get(str(column.name).removeprefix(key), number)
            texts = [write(value) for value in at.tolist()]
        else:
            place, names = pd.factorize(column)
            at = np.arange(len(names), dtype=np.float64)
            texts = [short(str(name), _LONGEST) for name in names]
        log = len(at) >= 3 and at[0] > 0 and _unevenness(np.log(at)) < _unevenness(at)
        along = np.log(at) if log else at
        inner = (along[:-1] + along[1:]) / 2
        if len(at) == 1:
            edges = np.array([-0.5, 0.5]) + along
        else:
            edges = np.concatenate((2 * along[:1] - inner[:1], inner, 2 * along[-1:] - inner[-1:]))
        return cls(
            _WORDS.get(key, key),
            dict(zip(at.tolist(), texts, strict=True)),
            place,
            "log" if log else "linear",
            np.exp(edges) if log else edges,
            float(np.diff(edges).min() / (edges[-1] - edges[0])),
        )

    @property
    def at(self) -> Floats:
        """Where each value is."""
        return np.array([*self.named])


def _unevenness(at: Floats) -> float:
    gaps = np.diff(at)
    return float(gaps.std() / gaps.mean())
