"""How unevenly failures are spread over the nodes."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import LogError, UsageError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_time import never_seen
from cprsim.failures.logs.views import nodes_of

Floats = NDArray[np.float64]

#: Why `without_worst` leaves failures out.
OF_WORST = "failures of the worst nodes"
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
        return worst_share(self.counts, share)

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
    counts = failures_per_node(log)
    unseen = never_seen(counts) if log.population is None else 0
    counts = np.concatenate([-np.sort(-counts), np.zeros(unseen, np.int64)])
    return Concentration(counts, unseen)


def failures_per_node(log: FailureLog) -> NDArray[np.int64]:
    """How often each node of `views.nodes_of` fails, those that never fail last, shape (nodes,)."""
    _, failing = np.unique(log.machines, return_inverse=True)
    return np.bincount(failing, minlength=nodes_of(log))


def worst_share(counts: NDArray[np.int64], tenth: float = 0.1) -> float:
    """Share of all failures that the worst tenth of nodes has, from 0 to 1.

    Where a tenth is no whole number of nodes, a part of the next worst one counts, in proportion:
    a point of the Lorenz curve, which is linear between nodes.

    Parameters
    ----------
    counts
        Failures of each node, those that never failed included as 0, in any order, shape (nodes,).
    tenth
        Share of the nodes that are the worst, from 0 to 1.

    Raises
    ------
    UsageError
        If `tenth` is outside 0 to 1, or there is no failure to share out.

    References
    ----------
    M. O. Lorenz, "Methods of measuring the concentration of wealth", Publications of the American
    Statistical Association 9, 1905.
    """
    if not 0 <= tenth <= 1:
        raise UsageError(f"the share of the worst nodes is {tenth:g}; it is from 0 to 1")
    if not counts.sum() > 0:
        raise UsageError("no node fails: there is nothing that the worst ones have a share of")
    curve = _cumulated(-np.sort(-counts))
    return float(np.interp(tenth * len(counts), np.arange(len(curve)), curve))


def without_worst(log: FailureLog, count: int) -> FailureLog:
    """The log of the other nodes, had the `count` that fail most often not been there.

    Of nodes that fail alike, those with the smaller number go first. Who is left out is known by
    hindsight, so the others failed less than they will: a node that failed often was also unlucky.

    Raises
    ------
    LogError
        If no more nodes than that fail.
    """
    machines = log.machines
    failing, failures = np.unique(machines, return_counts=True)
    if count >= len(failing):
        raise LogError(
            f"exclude_worst is {count}, and {len(failing)} nodes fail in the log; leave out fewer"
        )
    worst = np.sort(failing[np.argsort(-failures, kind="stable")[:count]])
    rows = np.flatnonzero(~np.isin(machines, worst))
    rest = log.only(rows)
    # Nodes are numbered by kind: those of one close the gaps that it has.
    before = np.searchsorted(worst, machines) - np.searchsorted(worst, machines - log.nodes)
    population = None if log.population is None else log.population - count
    came_s, left_s = (
        None if each is None else np.delete(each, worst) for each in (log.came_s, log.left_s)
    )
    gone = {OF_WORST: len(log) - len(rows)}
    return replace(
        rest,
        nodes=rest.nodes - before[rows],
        population=population,
        unused={**log.unused, **gone},
        came_s=came_s,
        left_s=left_s,
    )


def _cumulated(counts: NDArray[np.int64]) -> Floats:
    """Shares of the sum on the first 0, 1, ... of the last axis."""
    total = np.cumsum(counts, axis=-1)
    shares = total / total[..., -1:]
    return np.concatenate([np.zeros((*shares.shape[:-1], 1)), shares], axis=-1)
