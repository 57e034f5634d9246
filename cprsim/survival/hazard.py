"""Failure rate by age, with no law assumed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.survival.sample import Floats, Sample

_PER_BIN = 25  # failures: the band is then about 40 % either way
_MOST_BINS = 20
_MISS = (1 - 0.95) / 2


@dataclass(frozen=True, eq=False)
class Hazard:
    """Failure rate, taken as constant within each of b bins of age.

    Parameters
    ----------
    edges_s
        Ages at which the bins start and end, seconds, from the least age that was watched to the
        longest duration, shape (b + 1,). A failure at an edge belongs to the bin that ends there.
    failures
        Failures in each bin, shape (b,).
    exposure_s
        Time watched at such ages of all durations together, seconds.
    rate
        Failures / exposure, 1/s.
    lower, upper
        The exact Poisson 95 % band of each rate, 1/s; pointwise.
    """

    edges_s: Floats
    failures: NDArray[np.int64]
    exposure_s: Floats
    rate: Floats
    lower: Floats
    upper: Floats


def hazard(sample: Sample, bins: int | None = None) -> Hazard:
    """Failure rate in bins that hold about as many failures each.

    Parameters
    ----------
    sample
        Durations, censored ones included: they add exposure until they were cut, and those that
        came into sight late from there. Some ended in a failure.
    bins
        How many, no more than failures; if not given, one for 25 failures, but 1 to 20. Ties can
        leave fewer.

    Notes
    -----
    The band is Garwood's, from the chi-squared law (F. Garwood, Biometrika 28, 1936), as if the
    edges had been chosen before the failures were seen; being quantiles of them, they make the
    band a little too wide.
    """
    failed = sample.durations_s[sample.observed]
    if bins is None:
        bins = min(max(len(failed) // _PER_BIN, 1), _MOST_BINS)
    edges = _edges(failed, bins, float(sample.entered_s.min()), float(sample.durations_s.max()))
    bin_of = np.searchsorted(edges, failed) - 1
    failures = np.bincount(bin_of, minlength=len(edges) - 1)
    watched = [
        np.minimum(sample.durations_s, edge).sum() - np.minimum(sample.entered_s, edge).sum()
        for edge in edges
    ]
    exposure = np.diff(watched)
    lower, upper = poisson_band(failures)
    return Hazard(
        edges_s=edges,
        failures=failures,
        exposure_s=exposure,
        rate=failures / exposure,
        lower=lower / exposure,
        upper=upper / exposure,
    )


def poisson_band(counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The exact 95 % band (Garwood 1936) of the expected number of events, for each count."""
    from scipy.special import gammaincinv  # noqa: PLC0415  (scipy is slow to import)

    few = np.where(counts > 0, gammaincinv(np.maximum(counts, 1), _MISS), 0.0)
    return few, np.asarray(gammaincinv(counts + 1, 1 - _MISS), dtype=np.float64)


def _edges(failed: Floats, bins: int, from_s: float, last_s: float) -> Floats:
    """The least age, quantiles of the failures that happened, and the longest duration."""
    shares = np.arange(1, bins) / bins
    inner = np.quantile(failed, shares, method="inverted_cdf")
    return np.unique(np.concatenate(([from_s], inner[inner < last_s], [last_s])))
