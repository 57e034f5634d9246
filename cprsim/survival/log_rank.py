"""Whether durations of several groups are of one law."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.survival.sample import Floats, Sample

#: As likely by chance as three standard errors.
_SURE = 0.0027


@dataclass(frozen=True)
class LogRank:
    """The log-rank test of several samples.

    Parameters
    ----------
    chi2
        Its statistic: how far the groups' ends are from what each would have if all were alike.
    freedom
        Its degrees of freedom: one less than there are groups.
    p
        Chance of at least as much if all are of one law.

    References
    ----------
    R. Peto and J. Peto, "Asymptotically efficient rank invariant test procedures", J. R. Statist.
    Soc. A 135 (1972); J. P. Klein and M. L. Moeschberger, "Survival analysis" (2003), section 7.3.
    """

    chi2: float
    freedom: int
    p: float

    @property
    def is_sure(self) -> bool:
        """Whether the samples differ beyond chance, as by three standard errors."""
        return self.p < _SURE


def log_rank(samples: Sequence[Sample]) -> LogRank | None:
    """Compare samples of independent durations, cut short or seen from a later age on.

    None where there are less than two, or nothing tells them apart: none ends while durations of
    two of them go on.
    """
    if len(samples) < 2:
        return None
    ends = np.unique(np.concatenate([each.durations_s[each.observed] for each in samples]))
    # Shape (k, times): how many of each group are watched then, and how many end.
    at_risk = np.array([each.at_risk(ends) for each in samples])
    ended = np.array([_counts(each, ends) for each in samples])
    every, all_ended = at_risk.sum(axis=0), ended.sum(axis=0)
    share = at_risk / every
    apart = (ended - share * all_ended).sum(axis=1)
    # Of all that are at risk those that end then, drawn without putting back.
    weight = all_ended * (every - all_ended) / np.maximum(every - 1, 1)
    variance = np.diag(share @ weight) - (share * weight) @ share.T
    # Less where a group has none left when the first duration of another ends.
    freedom = int(np.linalg.matrix_rank(variance, hermitian=True))
    if not freedom:
        return None
    chi2 = float(apart @ np.linalg.pinv(variance, hermitian=True) @ apart)
    from scipy.stats import chi2 as law  # noqa: PLC0415  (slow to import)

    return LogRank(chi2, freedom, float(law.sf(chi2, freedom)))


def _counts(sample: Sample, ends: Floats) -> NDArray[np.int64]:
    """How many durations of a sample end at each of these times."""
    places = np.searchsorted(ends, sample.durations_s[sample.observed])
    return np.bincount(places, minlength=len(ends))
