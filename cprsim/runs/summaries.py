"""Replications made into numbers: tables of them, means with intervals, percentiles."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.periods import ROUNDING
from cprsim.contract.ledger import CAUSES
from cprsim.runs.measures import Basis, measured, measures_of
from cprsim.runs.selection.intervals import students_t

_MISS = 0.05  # of a 95 % interval
#: An event that no replication met happens in fewer than 3 / n of them, with 95 % (Hanley and
#: Lippman-Hand, JAMA 249, 1983).
_RULE_OF_THREE = 3.0
#: Measures that lost computation adds to, shares of the useful time.
IN_TIME = ("overhead", "overhead_retrained", "machine_overhead")


def tidy(
    names: Sequence[str],
    values: NDArray[np.float64],
    columns: Sequence[str],
    bases: Sequence[Basis],
) -> pd.DataFrame:
    """A row a policy and replication, from values of shape (replications, policies, columns).

    `bases`: of each policy what its runs are measured against.
    """
    count = len(values)
    table = pd.DataFrame(
        {
            "policy": np.repeat(np.asarray(names, dtype=object), count),
            "replication": np.tile(np.arange(count), len(names)),
            **columns_of(values, columns, bases),
        }
    )
    return table.astype(dict.fromkeys(("failures", "absorbed", "saves", "corrupt"), "int64"))


def columns_of(
    values: NDArray[np.float64], columns: Sequence[str], bases: Sequence[Basis]
) -> dict[str, NDArray[np.float64]]:
    """Columns of a table by name, policy by policy, with all measures; of the same values."""
    flat = values.transpose(1, 0, 2).reshape(-1, len(columns))
    seconds = {*CAUSES, "wall"}
    found = {f"{c}_s" if c in seconds else c: flat[:, i] for i, c in enumerate(columns)}
    measures = [
        measured(dict(zip(columns, own.T, strict=True)), basis)
        for own, basis in zip(values.swapaxes(0, 1), bases, strict=True)
    ]
    for name in measures_of(bases[0]):
        if name not in found:
            found[name] = np.concatenate([each[name] for each in measures])
    return found


def statistics(values: NDArray[np.float64], measures: Sequence[str]) -> dict[str, Any]:
    """Columns of a summary, from values of shape (len(measures), replications).

    Of shape (len(measures), rows, replications): of so many rows.
    """
    values = np.ascontiguousarray(values)  # sums of rows, whose order is that of the replications
    mean, half = values.mean(axis=-1), half_width(values)
    median, p95 = np.quantile(values, (0.5, 0.95), axis=-1)
    return in_columns(measures, mean, half, median, p95)


def in_columns(
    measures: Sequence[str],
    mean: NDArray[np.float64],
    half: NDArray[np.float64],
    median: NDArray[np.float64],
    p95: NDArray[np.float64],
) -> dict[str, Any]:
    """Columns of a summary, from those of measures; `half`: of the width of the interval."""
    columns = {"": mean, "_low": mean - half, "_high": mean + half, "_p50": median, "_p95": p95}
    return {
        f"{measure}{suffix}": float(column[i]) if column.ndim == 1 else column[i]
        for i, measure in enumerate(measures)
        for suffix, column in columns.items()
    }


def half_width(values: NDArray[np.float64]) -> Any:
    """Half the 95 % confidence interval of the mean, along the last axis.

    Student's t times the standard error; not a number for a single value.
    """
    n = values.shape[-1]
    if n == 1:
        return np.full(values.shape[:-1], math.nan)
    std, size = values.std(axis=-1, ddof=1), np.abs(values).max(axis=-1)
    # Deviations of equal values are the rounding of their sums.
    return half_width_of(np.where(std > ROUNDING * size, std, 0.0), n)


def ratio_of_sums(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> tuple[float, float]:
    """The sum of one over that of the other, and half its 95 % confidence interval.

    That of a ratio estimator (W. G. Cochran, Sampling Techniques, 1977, section 6.3).
    """
    ratio = float(parts.sum()) / float(wholes.sum())
    return ratio, float(half_width(parts - ratio * wholes)) / float(wholes.mean())


def allowance(lost: NDArray[np.float64], unmet: float) -> float:
    """Return what a mean may lack for a loss that none of its replications met, with 95 %.

    `lost`: lost computation of each replication, a share of the useful time. `unmet`: what the loss
    takes back, likewise.
    """
    is_met = lost.max() - np.median(lost) > unmet / 2  # as every other one takes back
    return 0.0 if is_met else _RULE_OF_THREE / len(lost) * unmet


def half_width_of(std: Any, n: int) -> Any:
    """The same from the standard deviation of n values."""
    return students_t(n - 1, _MISS) * std / math.sqrt(n)


class Mean(NamedTuple):
    """A mean and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> "Mean":
        """That of replications, shape (replications,)."""
        return cls.around(float(values.mean()), float(half_width(values)))

    @classmethod
    def around(cls, mean: float, half: float) -> "Mean":
        """With an interval of twice `half`."""
        return cls(mean, mean - half, mean + half)

    def or_more(self, much: float) -> "Mean":
        """With an interval that ends so much later."""
        return self._replace(high=self.high + much)

    def columns(self, name: str) -> dict[str, float]:
        """Return its columns of a table: under that name, and its ends, `_low` and `_high`."""
        return {name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high}

    def document(self) -> dict[str, Any]:
        """Return its entry of a JSON document."""
        return {"mean": finite(self.mean), "ci95": [finite(self.low), finite(self.high)]}


def finite(value: float) -> float | None:
    """The number; None where it is none that JSON has."""
    return float(value) if math.isfinite(value) else None
