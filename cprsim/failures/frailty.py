"""Nodes that fail at rates of their own: a gamma factor on each node's."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT, Cause
from cprsim.failures.shared import CohortStreams

if TYPE_CHECKING:
    from cprsim.failures.spec import Stays


@dataclass(frozen=True)
class Frailty:
    """Lives of a node are those of the law over its factor, gamma with mean 1 and `variance`.

    So nodes together fail at the rate of the law, some far more often than others, as long as who
    replaces a node has its factor: the shared frailty of D. G. Clayton (Biometrika 65, 1978), on
    the pace of a life rather than its hazard, which for exponential lives is the same.

    Parameters
    ----------
    variance
        Of the factors; 0 makes all nodes alike.
    stays
        `"place"`: who replaces a node has its factor, as a machine that was repaired does;
        `"machine"`: each replacement has another, so that bad machines leave and the job
        fails ever less often. Those that it starts with are of the whole fleet either way.
    excluded
        Nodes left out of those that there were, the ones with the largest factors.
    """

    variance: float
    stays: "Stays"
    excluded: int

    def factors(self, nodes: int, generation: int, streams: CohortStreams) -> NDArray[np.float64]:
        """Return the factors of the nodes of a generation, shape (COHORT, nodes)."""
        entity = generation if self.stays == "machine" else 0
        size = COHORT, nodes + self.excluded

        def drawn() -> NDArray[np.float64]:
            factors = self.quantile(streams.stream(Cause.FRAILTY, entity).random(size))
            return _smallest(factors, nodes)

        return streams.kept((Cause.FRAILTY, entity, size, self), drawn, COHORT * nodes)

    def quantile(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Factors that a share of all nodes stay below; any shape."""
        from scipy.special import gammaincinv  # noqa: PLC0415  (scipy is slow to import)

        return np.asarray(self.variance * gammaincinv(1 / self.variance, share))

    def mean(self, nodes: int) -> float:
        """Mean factor of the nodes that are kept, the smallest of those that there were.

        Of m gamma factors the one at share u is among the n smallest with the probability that
        fewer than n of the m - 1 others are smaller, a binomial one (H. A. David and
        H. N. Nagaraja, "Order statistics", 2003, section 2.1).
        """
        if not self.excluded:
            return 1.0
        from scipy.integrate import quad  # noqa: PLC0415
        from scipy.special import bdtr  # noqa: PLC0415

        count = nodes + self.excluded

        def kept(share: float) -> float:
            return float(self.quantile(np.array(share)) * bdtr(nodes - 1, count - 1, share))

        edge, width = nodes / count, math.sqrt(nodes * self.excluded / count**3)
        around = [edge + each * width for each in (-6, -2, 0, 2, 6)]
        places = [0.0, *(each for each in around if 0 < each < 1), 1.0]
        parts = (quad(kept, *ends, epsrel=1e-8)[0] for ends in pairwise(places))
        return count / nodes * math.fsum(parts)

    def worst(self, nodes: int) -> float:
        """The factor that the worst of so many nodes has about."""
        return float(self.quantile(np.array(1 - 1 / (nodes + 1))))


def _smallest(factors: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return so many of each row, the smallest in their order."""
    if factors.shape[1] == count:
        return factors
    kept = np.sort(np.argpartition(factors, count - 1, axis=1)[:, :count], axis=1)
    return np.take_along_axis(factors, kept, axis=1)
