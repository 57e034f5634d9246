"""How AUC falls with the portion of lost samples: a line through the origin, that may bend."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.runs.summaries import half_width

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Slope:
    """AUC lost for each unit of PLS, with its 95 % interval.

    `pls_up_to`: the largest mean PLS of the points it was fitted to; `points`, `seeds`: how many.
    """

    auc_drop_per_pls: float
    low: float
    high: float
    pls_up_to: float
    points: int
    seeds: int


def fit_slope(pls: Floats, drops: Floats) -> Slope:
    """Fit drop = slope x PLS; arguments as those of `seed_slopes`.

    Points of one seed share its run without failures, and so aren't independent; seeds are. So the
    slope is the mean of the seeds', and Student's t gives its interval.

    Raises
    ------
    UsageError
        For fewer than two seeds, or where no samples are lost.
    """
    seeds, points = pls.shape
    if seeds < 2:
        raise UsageError("a slope takes two seeds at least")
    slopes = seed_slopes(pls, drops)
    mean, half = float(slopes.mean()), float(half_width(slopes))
    return Slope(mean, mean - half, mean + half, float(pls.mean(axis=0).max()), points, seeds)


def seed_slopes(pls: Floats, drops: Floats) -> Floats:
    """A slope of each seed, by least squares.

    Without lost samples nothing is lost, so the line goes through the origin: the slope is
    sum(PLS x drop) / sum(PLS^2).

    `pls`, `drops`: shape (seeds, points): of a seed's run at a point the portion of lost samples,
    and the AUC of that seed's run without failures less its own.

    Raises
    ------
    UsageError
        Where a seed loses no samples.
    """
    squares = np.square(pls).sum(axis=1)
    if not squares.all():
        raise UsageError("a slope takes lost samples, in every seed")
    return np.asarray((pls * drops).sum(axis=1) / squares)


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


def measured_ranges(pls: Floats, starts: Sequence[float]) -> tuple[float, ...]:
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


def bent_slopes(pls: Floats, drops: Floats, starts: Sequence[float]) -> Floats:
    """Slopes of each seed, shape (seeds, ranges), by least squares.

    Of the continuous line from the origin that bends at the starts of ranges alone; with one range
    it is that of `seed_slopes`.

    `pls`, `drops`: shape (seeds, points), as `seed_slopes` takes them. `starts`: of the ranges, 0
    first, as `measured_ranges` has them, so that each slope can be told.
    """
    parts = zip(_parts(pls, starts), drops, strict=True)
    return np.array([np.linalg.lstsq(a, b)[0] for a, b in parts])


def _parts(pls: Floats, starts: Sequence[float]) -> Floats:
    """How much of each PLS lies in each range, shape (seeds, points, ranges)."""
    widths = np.diff([*starts, np.inf])
    return np.asarray(np.clip(pls[..., np.newaxis] - np.asarray(starts), 0, widths))


def range_slopes(pls: Floats, slopes: Floats, starts: Sequence[float]) -> list[RangeSlope]:
    """Means over the seeds of what `bent_slopes` found, with intervals by Student's t."""
    means, halves = slopes.mean(axis=0), half_width(np.ascontiguousarray(slopes.T))
    ends = (*starts[1:], float(pls.mean(axis=0).max()))
    return [
        RangeSlope(start, end, float(mean), float(mean - half), float(mean + half))
        for start, end, mean, half in zip(starts, ends, means, halves, strict=True)
    ]
