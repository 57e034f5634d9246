"""What was seen of nodes that fail and come back, and the law of their lives if all are alike.

A node is of any age at the start of the watch: what is left of its first life has the density
S / mean (D. R. Cox, "Renewal theory", 1962, ch. 5).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.laws import AGEING
from cprsim.basics.laws.ended import EndedLives, Floats
from cprsim.survival.fitted_laws import law_of

#: Logarithms of the mean over that of an exponential law, and of the shape or cv.
BOUNDS: Final = ((-3.0, 6.0), (math.log(0.05), math.log(100.0)))
#: How a search finds slopes: by one-sided differences it ends as far as 1e-4 from the top.
SLOPE: Final = "3-point"
#: Digits of what a search finds that are the same whatever a processor's last bit of a logarithm.
#: Simulations take no more: another bit is another random stream.
_AGREED: Final = 4


@dataclass(frozen=True, eq=False)
class Histories:
    """What was seen of each node from the start of a watch to its end.

    Parameters
    ----------
    first_s
        Time from the start to the first failure, or to when one stopped watching for it, of each
        node, seconds, shape (nodes,). A node is of any age at the start.
    failed
        Whether that ended in a failure, shape (nodes,).
    lasted_s
        Later lives of all nodes, each from its start, seconds > 0, shape (n,).
    observed
        Whether each ended in a failure, shape (n,).
    node
        Whose it is, a number below `nodes`, shape (n,).
    """

    first_s: Floats
    failed: NDArray[np.bool_]
    lasted_s: Floats
    observed: NDArray[np.bool_]
    node: NDArray[np.int64]

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.first_s)

    @cached_property
    def unit_s(self) -> float:
        """Time watched for each failure, seconds: the mean of exponential lives."""
        return float(self.first_s.sum() + self.lasted_s.sum()) / self.failures

    @property
    def failures(self) -> int:
        """How many lives ended in one."""
        return int(self.failed.sum() + self.observed.sum())

    @cached_property
    def complete(self) -> EndedLives:
        """Later lives that ended in a failure, in units."""
        lasted = self.lasted_s[self.observed] / self.unit_s
        return EndedLives(lasted, self.node[self.observed], self.nodes)

    @cached_property
    def ended(self) -> NDArray[np.int64]:
        """Failures of each node, shape (nodes,)."""
        return np.bincount(self.node[self.observed], minlength=self.nodes) + self.failed

    @cached_property
    def watched_s(self) -> Floats:
        """Up time of each node, seconds, shape (nodes,)."""
        return self.first_s + np.bincount(self.node, self.lasted_s, self.nodes)


class Alike(NamedTuple):
    """A law of lives, and its log-likelihood of durations in units of `Histories.unit_s`.

    `at`: the logarithms of its mean, in these units, and of its shape or cv.
    """

    law: Distribution
    at: tuple[float, float]
    log_likelihood: float


def fits_alike(data: Histories) -> dict[str, Alike]:
    """The Weibull, gamma and lognormal law that fit all nodes, by maximum likelihood, by name."""
    return {name: _fit(data, name) for name in AGEING}


def _fit(data: Histories, name: str) -> Alike:
    from scipy.optimize import minimize  # noqa: PLC0415  (scipy is slow to import)

    def lacking(at: Floats) -> float:
        return -log_likelihood(data, name, *np.exp(at).tolist())

    best = minimize(lacking, (0.0, 0.0), bounds=BOUNDS, jac=SLOPE)
    log_mean, log_spread = best.x.tolist()
    law = agreed_law(data, name, log_mean, log_spread)
    return Alike(law, (log_mean, log_spread), -float(best.fun))


def agreed_law(data: Histories, name: str, log_mean: float, log_spread: float) -> Distribution:
    """The law of these logarithms of its mean, in units, and of its shape or cv, as agreed."""
    return law_of(name, agreed(log_mean + math.log(data.unit_s)), agreed(log_spread))


def agreed(log: float) -> float:
    """What has that logarithm, to the digits that are the same on all machines."""
    return float(f"{math.exp(log):.{_AGREED}g}")


def log_likelihood(data: Histories, name: str, mean: float, spread: float) -> float:
    """Of a law with that mean, in units of `unit_s`, and that shape or cv."""
    law = AGEING[name](mean, spread)
    later, first = data.lasted_s / data.unit_s, data.first_s / data.unit_s
    ended = law.log_density(later[data.observed]).sum()
    lives = ended + law.log_survival(later[~data.observed]).sum()
    starts = law.log_survival(first[data.failed]) - math.log(mean)
    return float(lives + starts.sum() + law.log_left(first[~data.failed]).sum())
