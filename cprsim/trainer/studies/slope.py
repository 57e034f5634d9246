"""The fall of AUC with the portion of lost samples: a line through the origin, that may bend."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.runs.summaries import half_width

Floats: TypeAlias = NDArray[np.float64]
#: Where the line may bend. Chosen: CPR's targets (0.02 to 0.1) and what a few failures cost lie
#: below the first, what the policies are compared at above the last.
RANGE_STARTS: Final = (0.3, 0.8)


class Slope(NamedTuple):
    """AUC lost for each further unit of PLS between `above` and `up_to`, with its 95 % interval.

    `up_to`: at the last range the largest mean PLS of the points that it was fitted to.
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


def fit_slopes(pls: Floats, drops: Floats, starts: Sequence[float] = (0.0,)) -> list[Slope]:
    """Return the slope of each range; arguments as those of `seed_slopes`, which raises.

    Points of one seed share its run without failures, and so aren't independent; seeds are. So the
    slope is the mean of the seeds', and Student's t gives its interval.
    """
    by_seed = seed_slopes(pls, drops, starts)
    means, halves = by_seed.mean(axis=0), half_width(np.ascontiguousarray(by_seed.T))
    ends = (*starts[1:], float(pls.mean(axis=0).max()))
    return [
        Slope(start, end, float(mean), float(mean - half), float(mean + half))
        for start, end, mean, half in zip(starts, ends, means, halves, strict=True)
    ]


def seed_slopes(pls: Floats, drops: Floats, starts: Sequence[float] = (0.0,)) -> Floats:
    """Return slopes of each seed, shape (seeds, ranges), by least squares.

    Without lost samples nothing is lost, so the line goes through the origin; it is continuous, and
    bends at the starts of ranges alone.

    `pls`, `drops`: shape (seeds, points): of a seed's run at a point the portion of lost samples,
    and the AUC of that seed's run without failures less its own. `starts`: of the ranges, 0 first,
    as `measured_ranges` has them, so that the slopes can be distinguished; by default one range.

    Raises
    ------
    UsageError
        For fewer than two seeds, or where a seed loses no samples.
    """
    if len(pls) < 2:
        raise UsageError("a slope takes two seeds at least")
    if not pls.any(axis=1).all():
        raise UsageError("a slope takes lost samples, in every seed")
    parts = zip(_parts(pls, starts), drops, strict=True)
    return np.array([np.linalg.lstsq(a, b)[0] for a, b in parts])


def measured_ranges(pls: Floats) -> tuple[float, ...]:
    """The starts of ranges, 0 first, in each of which a point has its mean PLS.

    Where none has, the range extends into the next one, or into that before it if it is the last.
    So it does where the points of some seed can't distinguish the slopes. `pls`: see `seed_slopes`.
    """
    means, edges = pls.mean(axis=0), [0.0, *RANGE_STARTS, np.inf]
    filled = [((means > start) & (means <= end)).any() for start, end in pairwise(edges)]
    for number in reversed(np.flatnonzero(np.logical_not(filled))):
        if len(edges) > 2:
            del edges[number + 1 if number + 2 < len(edges) else number]
    while len(edges) > 2 and np.linalg.matrix_rank(_parts(pls, edges[:-1])).min() < len(edges) - 1:
        del edges[-2]
    return tuple(edges[:-1])


def _parts(pls: Floats, starts: Sequence[float]) -> Floats:
    """Return the part of each PLS in each range, shape (seeds, points, ranges)."""
    widths = np.diff([*starts, np.inf])
    return np.asarray(np.clip(pls[..., np.newaxis] - np.asarray(starts), 0, widths))
