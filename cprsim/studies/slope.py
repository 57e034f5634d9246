"""How AUC falls with the portion of lost samples: a line through the origin."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.runs.summaries import half_width


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


def fit_slope(pls: NDArray[np.float64], drops: NDArray[np.float64]) -> Slope:
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


def seed_slopes(pls: NDArray[np.float64], drops: NDArray[np.float64]) -> NDArray[np.float64]:
    """A slope of each seed, by least squares.

    Without lost samples nothing is lost, so the line goes through the origin: the slope is
    sum(PLS x drop) / sum(PLS^2).

    Parameters
    ----------
    pls, drops
        Shape (seeds, points): of a seed's run at a point the portion of lost samples, and the AUC
        of that seed's run without failures less its own.

    Raises
    ------
    UsageError
        Where a seed loses no samples.
    """
    squares = np.square(pls).sum(axis=1)
    if not squares.all():
        raise UsageError("a slope takes lost samples, in every seed")
    found: NDArray[np.float64] = (pls * drops).sum(axis=1) / squares
    return found
