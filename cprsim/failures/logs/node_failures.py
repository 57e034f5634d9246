"""Failures of the nodes of a log: how often they fail, and how unevenly."""

from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.units import rough_percent
from cprsim.failures.logs.coincidence import WITHIN_S, Joint
from cprsim.failures.logs.log import FailureLog
from cprsim.survival.sample import Floats, Integers

_DRAWS, _SEED = 400, 0
_DAY_S: Final = 86_400.0
_MANY: Final = 100.0


def never_seen(failures: NDArray[np.int64]) -> int:
    """Nodes that never failed, estimated from those that failed once and twice.

    References
    ----------
    A. Chao, Scand. J. Statist. 11, 1984.
    """
    once, twice = (int(np.count_nonzero(failures == count)) for count in (1, 2))
    return round(once * (once - 1) / (2 * (twice + 1)))


def worst_share(counts: NDArray[np.int64], tenth: float = 0.1) -> float:
    """Share of all failures on the worst tenth of nodes, from 0 to 1.

    Where a tenth is no whole number of nodes, a part of the next worst one counts, in proportion:
    a point of the Lorenz curve, which is linear between nodes (M. O. Lorenz, "Methods of measuring
    the concentration of wealth", Publications of the American Statistical Association 9, 1905).
    `counts`: failures of each node, those that never failed included as 0, in any order, shape
    (nodes,); some of them failed.
    """
    curve = _cumulated(-np.sort(-counts))
    return float(np.interp(tenth * len(counts), np.arange(len(curve)), curve))


def _cumulated(counts: NDArray[np.int64]) -> Floats:
    """Shares of the sum on the first 0, 1, ... of the last axis."""
    total = np.cumsum(counts, axis=-1)
    shares = total / total[..., -1:]
    return np.concatenate([np.zeros((*shares.shape[:-1], 1)), shares], axis=-1)


@dataclass(frozen=True, eq=False)
class NodeFailures:
    """Failures of the nodes of a log."""

    #: Of each node, most first, with nodes that never failed; shape (nodes,).
    counts: Integers
    #: Nodes among them that are estimated to have never failed, where the log lacks their number.
    unseen: int
    #: Whether the log has the number of nodes.
    is_counted: bool
    #: Days that nodes were watched, each from its first instant to its last.
    node_days: float
    bursts: Joint

    @property
    def shares(self) -> Floats:
        """Share of the failures on the worst 0, 1, ... nodes, shape (nodes + 1,)."""
        return _cumulated(self.counts)

    def by_chance(self) -> tuple[Floats, Floats, Floats]:
        """Return `shares` of nodes that are alike: the mean, and the ends of 95 % of draws.

        As many failures, each on any node: Poisson counts of which the sum is known.
        """
        rng, nodes = np.random.default_rng(_SEED), len(self.counts)
        drawn = rng.multinomial(int(self.counts.sum()), np.full(nodes, 1 / nodes), _DRAWS)
        every = _cumulated(-np.sort(-drawn, axis=1))
        low, high = np.quantile(every, (0.025, 0.975), axis=0)
        return every.mean(axis=0), low, high

    @property
    def per_1000_node_days(self) -> float:
        """Failures in 1,000 days of a node."""
        return 1000 * int(self.counts.sum()) / self.node_days

    @property
    def worst_tenth(self) -> float:
        """Share of all failures on the worst tenth of the nodes."""
        return worst_share(self.counts)

    @property
    def rate(self) -> str:
        """A sentence on the rate of failures of a node."""
        which = ""
        if not self.is_counted:
            never = f"{self.unseen:,} of them are estimated to have never failed; "
            which = f" ({never * (self.unseen > 0)}--population says how many there are)"
        often = self.per_1000_node_days
        rate = f"{often:,.0f}" if often >= _MANY else f"{often:.3g}"
        return f"{rate} failures per 1,000 node-days of {len(self.counts):,} nodes{which}."

    @property
    def worst(self) -> str:
        """A sentence on the worst nodes."""
        return (
            f"The worst tenth of these nodes has {rough_percent(self.worst_tenth)} of the failures."
        )

    def document(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {
            "nodes": len(self.counts),
            "nodes_counted": self.is_counted,
            "never_seen": self.unseen,
            "node_days": self.node_days,
            "per_1000_node_days": self.per_1000_node_days,
            "worst_tenth": self.worst_tenth,
            "bursts": asdict(self.bursts),
        }


def node_failures(log: FailureLog, within_s: float = WITHIN_S) -> NodeFailures | None:
    """Return those of a log; None where all strike at one instant, so that there is no rate."""
    if not log.watched_s > 0 or not log.of_nodes:
        return None
    _, failing = np.unique(log.machines, return_inverse=True)
    counts = -np.sort(-np.bincount(failing, minlength=log.system))
    unseen = never_seen(counts) if log.population is None else 0
    counts = np.append(counts, np.zeros(unseen, np.int64))
    return NodeFailures(
        counts=counts,
        unseen=unseen,
        is_counted=log.population is not None,
        node_days=log.node_s(len(counts)) / _DAY_S,
        bursts=Joint.of(log, counts, within_s),
    )
