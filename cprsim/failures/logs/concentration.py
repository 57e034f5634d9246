"""How unevenly failures are spread over the nodes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_time import never_seen

Floats = NDArray[np.float64]

_DRAWS = 400
_SEED = 0


@dataclass(frozen=True, eq=False)
class Concentration:
    """Failures of each node.

    Parameters
    ----------
    counts
        Failures of each node, most first, those that never failed too; shape (nodes,).
    unseen
        How many of these nodes are an estimate (A. Chao, Scand. J. Statist. 11, 1984), since the
        log doesn't tell how many there are.
    """

    counts: NDArray[np.int64]
    unseen: int

    @property
    def shares(self) -> Floats:
        """Share of the failures on the worst 0, 1, ... nodes, shape (nodes + 1,)."""
        return _cumulated(self.counts)

    def of_worst(self, share: float) -> float:
        """Share of the failures on that share of the nodes."""
        return float(np.interp(share * len(self.counts), np.arange(len(self.shares)), self.shares))

    def by_chance(self) -> tuple[Floats, Floats, Floats]:
        """As `shares` if all nodes were alike: the mean, and where 95 % of draws are.

        As many failures, each on any node: Poisson counts of which the sum is known.
        """
        rng, nodes = np.random.default_rng(_SEED), len(self.counts)
        drawn = rng.multinomial(int(self.counts.sum()), np.full(nodes, 1 / nodes), _DRAWS)
        every = _cumulated(-np.sort(-drawn, axis=1))
        low, high = np.quantile(every, (0.025, 0.975), axis=0)
        return every.mean(axis=0), low, high


def concentration(log: FailureLog) -> Concentration:
    """That of a log."""
    failing = np.unique(log.machines, return_counts=True)[1]
    unseen = never_seen(failing) if log.population is None else 0
    others = unseen if log.population is None else max(log.population - len(failing), 0)
    counts = np.concatenate([-np.sort(-failing), np.zeros(others, np.int64)])
    return Concentration(counts, unseen)


def _cumulated(counts: NDArray[np.int64]) -> Floats:
    """Shares of the sum on the first 0, 1, ... of the last axis."""
    total = np.cumsum(counts, axis=-1)
    shares = total / total[..., -1:]
    return np.concatenate([np.zeros((*shares.shape[:-1], 1)), shares], axis=-1)
