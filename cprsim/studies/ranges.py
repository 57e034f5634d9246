"""How AUC falls with the portion of lost samples, range by range: a line that may bend."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cprsim.runs.summaries import half_width

#: Where the line may bend, where nobody says otherwise. Chosen: CPR's targets (0.02 to 0.1) and
#: what a few failures cost lie below the first, what the policies are compared at above the last.
RANGE_STARTS: Final = (0.3, 0.8)


@dataclass(frozen=True)
class RangeSlope:
    """AUC lost for each further unit of PLS between `above` and `up_to`, with its 95 % interval.

    `up_to`: at the last range the largest mean PLS that was measured.
    """

    above: float
    up_to: float
    auc_drop_per_pls: float
    low: float
    high: float

    @property
    def name(self) -> str:
        """The range, as tables have it."""
        return f"{self.above:g} to {self.up_to:.3g}"


def measured_ranges(pls: NDArray[np.float64], starts: Sequence[float]) -> tuple[float, ...]:
    """The starts of ranges, 0 first, in each of which a point has its mean PLS.

    Where none has, the range goes on into the next one, or into that before it if it is the last.
    So it does where the points of some seed can't tell the slopes apart. `pls` as in `bent_slopes`.
    """
    means, edges = pls.mean(axis=0), [0.0, *starts, np.inf]
    empty = [
        number
        for number, (start, end) in enumerate(pairwise(edges))
        if not ((means > start) & (means <= end)).any()
    ]
    for number in reversed(empty):
        if len(edges) > 2:
            del edges[number + 1 if number + 2 < len(edges) else number]
    while len(edges) > 2 and np.linalg.matrix_rank(_parts(pls, edges[:-1])).min() < len(edges) - 1:
        del edges[-2]
    return tuple(edges[:-1])


def bent_slopes(
    pls: NDArray[np.float64], drops: NDArray[np.float64], starts: Sequence[float]
) -> NDArray[np.float64]:
    """Slopes of each seed, shape (seeds, ranges), by least squares.

    Of the continuous line from the origin that bends at the starts of ranges alone; with one range
    it is that of `slope`.

    Parameters
    ----------
    pls, drops
        Shape (seeds, points), as `slope.seed_slopes` takes them.
    starts
        Of the ranges, 0 first, as `measured_ranges` has them, so that each slope can be told.
    """
    fits = [np.linalg.lstsq(a, b)[0] for a, b in zip(_parts(pls, starts), drops, strict=True)]
    found: NDArray[np.float64] = np.array(fits)
    return found


def _parts(pls: NDArray[np.float64], starts: Sequence[float]) -> NDArray[np.float64]:
    """How much of each PLS lies in each range, shape (seeds, points, ranges)."""
    widths = np.diff([*starts, np.inf])
    parts: NDArray[np.float64] = np.clip(pls[..., np.newaxis] - np.asarray(starts), 0, widths)
    return parts


def range_slopes(
    pls: NDArray[np.float64], slopes: NDArray[np.float64], starts: Sequence[float]
) -> list[RangeSlope]:
    """Means over the seeds of what `bent_slopes` found, with intervals by Student's t."""
    means, halves = slopes.mean(axis=0), half_width(np.ascontiguousarray(slopes.T))
    ends = (*starts[1:], float(pls.mean(axis=0).max()))
    return [
        RangeSlope(start, end, float(mean), float(mean - half), float(mean + half))
        for start, end, mean, half in zip(starts, ends, means, halves, strict=True)
    ]
