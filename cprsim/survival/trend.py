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


def trend(
    times_s: Floats,
    watched_s: float,
    came_s: Floats | None = None,
    left_s: Floats | None = None,
) -> Trend | None:
    """The trend of failures at these times after the watch began, seconds, ascending.

    None where there are fewer than 20 gaps, or they are all alike.

    Parameters
    ----------
    times_s
        Failures of all nodes together, shape (n,).
    watched_s
        How long the watch lasted.
    came_s, left_s
        When each node came into sight and went out of it, on the clock of `times_s`, as far as the
        watch goes, shape (nodes,). The trend is then that of a node's rate of failures: more nodes
        that fail alike are none. Without them as many nodes are in sight all the time.
    """
    if came_s is not None and left_s is not None:
        came_s, left_s = (np.clip(each, 0.0, watched_s) for each in (came_s, left_s))
        times_s, watched_s = _node_time(times_s, came_s, left_s), float(np.sum(left_s - came_s))
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


def _node_time(times_s: Floats, came_s: Floats, left_s: Floats) -> Floats:
    """Time watched of all nodes together up to each of these times, seconds."""
    came, left = np.sort(came_s), np.sort(left_s)
    began, over = (np.append(0.0, np.cumsum(each)) for each in (came, left))
    here, gone = (np.searchsorted(each, times_s, side="right") for each in (came, left))
    watched: Floats = (here - gone) * times_s - began[here] + over[gone]
    return watched
