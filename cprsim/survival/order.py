"""Dependence of durations on the one before, and trends of failures over a log."""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from cprsim.survival.sample import Floats

#: Standard errors beyond which it isn't chance: independent gaps are taken for clustered once in
#: 740, an even rate for a trend once in 370.
_SURE: Final = 3.0
#: Gaps below which a trend can't be distinguished from chance.
FEWEST: Final = 20


class Dependence(NamedTuple):
    """Rank correlation of each duration with the next one (Spearman's, -1 to 1).

    0 for independent durations; above it short ones follow short ones. `z`: the same in its
    standard errors, 1 / sqrt(n), if the durations are independent (A. Wald and J. Wolfowitz, "An
    exact test for randomness in the non-parametric case based on serial correlation", Annals of
    Mathematical Statistics 14, 1943).
    """

    correlation: float
    z: float

    @property
    def clustered(self) -> bool:
        """Return whether failures come in clusters, beyond what chance explains."""
        return self.z > _SURE

    def document(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {"rank_correlation": self.correlation, "z": self.z, "clustered": self.clustered}


def dependence(sequences: Sequence[Floats], n: int | None = None) -> Dependence | None:
    """Return how durations depend on the one before; None where there are too few.

    `sequences`: durations in the order in which they came, seconds, an array for each job. `n`: how
    many pairs are independent of each other, where the sequences share failures; all of them if not
    given.
    """
    from scipy.stats import rankdata  # noqa: PLC0415  (scipy is slow to import)

    lengths = [len(sequence) for sequence in sequences]
    if sum(max(length - 1, 0) for length in lengths) < 2:
        return None
    ranks = np.split(rankdata(np.concatenate(sequences)), np.cumsum(lengths)[:-1])
    former = np.concatenate([each[:-1] for each in ranks])
    latter = np.concatenate([each[1:] for each in ranks])
    if np.ptp(former) == 0 or np.ptp(latter) == 0:
        return None
    correlation = float(np.corrcoef(former, latter)[0, 1])
    return Dependence(correlation, correlation * math.sqrt(len(former) if n is None else n))


class Trend(NamedTuple):
    """A trend of failure times over the time that they were watched.

    `z`: Lewis and Robinson's statistic: that of Laplace over the coefficient of variation of the
    gaps, so that gaps of any law aren't taken for a trend; clusters that last may be. Normal
    without either; below 0 failures become rarer. `shape`: of Crow's power law (Crow-AMSAA): the
    rate of failures goes with time to `shape` - 1. `shape_interval`: its 95 % interval for failures
    that come one by one; too narrow for those that cluster.

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
        """Return whether it is beyond chance, by three standard errors."""
        return abs(self.z) > _SURE


def trend(
    times_s: Floats,
    watched_s: float,
    came_s: Floats | None = None,
    left_s: Floats | None = None,
    start_s: float = 0.0,
) -> Trend | None:
    """The trend of failures of all nodes together, seconds, ascending, shape (n,).

    The watch began at `start_s` and lasted `watched_s`. None where there are fewer than 20 gaps, or
    they are all alike. `came_s`, `left_s`: when each node came into sight and went out of it, on
    the clock of `times_s`, shape (nodes,). The trend is then that of a node's rate of failures:
    more nodes that fail alike are none. Without them as many nodes are in sight all the time.
    """
    times_s = times_s - start_s
    if came_s is not None and left_s is not None:
        came_s, left_s = (np.clip(each - start_s, 0.0, watched_s) for each in (came_s, left_s))
        times_s, watched_s = _node_time(times_s, came_s, left_s), float(np.sum(left_s - came_s))
    # A failure with which a log starts or ends is no evidence.
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
