"""Whether failures become rarer or more frequent over a log."""

import math
from dataclasses import dataclass

import numpy as np

from cprsim.survival.sample import Floats

#: Gaps below which a trend can't be told from chance.
FEWEST = 20
#: Standard errors from which on a trend is told.
_SURE = 3.0


@dataclass(frozen=True)
class Trend:
    """A trend of failure times over the time that they were watched.

    Parameters
    ----------
    z
        Lewis and Robinson's statistic: that of Laplace over the coefficient of variation of the
        gaps, so that gaps of any law aren't taken for a trend; clusters that last may be. Normal
        without either; below 0 failures become rarer.
    shape
        Of Crow's power law (Crow-AMSAA): the rate of failures goes with time to `shape` - 1; below
        1 they become rarer.
    shape_interval
        Its 95 % interval for failures that come one by one; too narrow for those that cluster.

    References
    ----------
    P. A. W. Lewis and D. W. Robinson, "Testing for a monotone trend in a modulated renewal
    process", 1974; L. H. Crow, "Reliability analysis for complex, repairable systems", 1974
    (MIL-HDBK-189, 1981, equations of its time-truncated test).
    """

    z: float
    shape: float
    shape_interval: tuple[float, float]

    @property
    def is_sure(self) -> bool:
        """Whether it is beyond chance, by three standard errors."""
        return abs(self.z) > _SURE


def trend(times_s: Floats, watched_s: float) -> Trend | None:
    """The trend of failures at these times after the watch began, seconds, ascending.

    None where there are fewer than 20 gaps, or they are all alike.
    """
    # A log that starts or ends with a failure tells nothing by that one.
    times = times_s[(times_s > 0) & (times_s < watched_s)]
    count, gaps = len(times), np.diff(times)
    if count <= FEWEST or not gaps.std():
        return None
    laplace = (float(times.mean()) / watched_s - 0.5) * math.sqrt(12 * count)
    shape = count / float(np.log(watched_s / times).sum())
    from scipy.stats import chi2  # noqa: PLC0415  (slow to import)

    low, high = (float(chi2.ppf(each, 2 * count)) for each in (0.025, 0.975))
    interval = shape * low / (2 * count), shape * high / (2 * count)
    return Trend(laplace * float(gaps.mean() / gaps.std(ddof=1)), shape, interval)
