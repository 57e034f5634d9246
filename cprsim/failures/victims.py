"""The nodes that a failure of the job takes down."""

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT, Cause, stream
from cprsim.failures.hit import Hit
from cprsim.failures.hits import Hits
from cprsim.failures.severity import SeverityRows
from cprsim.failures.shared import SharedDraws
from cprsim.job.platform import Cluster


def victim_rows(
    hits: Hits, cluster: Cluster, seed: int, cohort: int, shared: SharedDraws | None = None
) -> "VictimRows":
    """The victims of a cohort; those of all scenarios that draw the same ones, if `shared`."""
    if shared is None:
        return VictimRows(hits, cluster, seed, cohort)
    counts, share = hits.counts(cluster), hits.server_share()
    nodes = cluster.parameter_servers, cluster.trainers
    # Of a kind that loses none, nothing is drawn.
    drawn_of = tuple((k, n) if k else (0, 0) for k, n in zip(counts, nodes, strict=True))
    key = "victims", seed, cohort, drawn_of, hits.weights is not None, share
    numbers = COHORT * VictimRows.FIRST * (1 + sum(counts))
    return shared.kept(key, lambda: VictimRows(hits, cluster, seed, cohort), numbers)


class VictimRows:
    """The nodes that each failure hits, chosen at random, for the replications of a cohort.

    Failure j of row i takes down `servers[i, j]` and `trainers[i, j]`, different ones in order.
    Where kinds are drawn by weight, it is one kind or the other, as `of_servers[i, j]` says.
    """

    FIRST = 8

    def __init__(
        self, hits: Hits, cluster: Cluster, seed: int, cohort: int, entity: int = 0
    ) -> None:
        self._nodes = (cluster.parameter_servers, cluster.trainers)
        self.counts = hits.counts(cluster)
        self._server_share = hits.server_share()
        self._key, self._entity = (seed, cohort), entity
        self._rng: np.random.Generator | None = None
        self.of_servers: NDArray[np.bool_] | None = None
        if hits.weights is not None:
            self.of_servers = np.empty((COHORT, 0), np.bool_)
        self.servers, self.trainers = (np.empty((COHORT, 0, k), np.int32) for k in self.counts)

    def upto(self, failures: int) -> "VictimRows":
        """Return itself, with at least so many failures of each replication drawn."""
        while self.servers.shape[1] < failures:
            if self._rng is None:
                self._rng = stream(*self._key, Cause.VICTIM, self._entity)
            more = max(self.FIRST, self.servers.shape[1])
            if self.of_servers is not None:
                kinds = self._rng.random((COHORT, more)) < self._server_share
                self.of_servers = np.concatenate([self.of_servers, kinds], axis=1)
            servers, trainers = (
                _chosen(self._rng, nodes, count, (COHORT, more))
                for nodes, count in zip(self._nodes, self.counts, strict=True)
            )
            self.servers = np.concatenate([self.servers, servers], axis=1)
            self.trainers = np.concatenate([self.trainers, trainers], axis=1)
        return self

    def hit(self, row: int, index: int) -> Hit:
        """Return the nodes that the `index`-th failure of a replication takes down."""
        self.upto(index + 1)
        servers, trainers = self.servers[row, index], self.trainers[row, index]
        if self.of_servers is None:
            return Hit(tuple(servers.tolist()), tuple(trainers.tolist()))
        if self.of_servers[row, index]:
            return Hit(tuple(servers.tolist()), ())
        return Hit((), tuple(trainers.tolist()))


class CauseVictimRows:
    """The nodes that each failure hits, where some causes say whom they take down."""

    def __init__(self, hits: Hits, severities: SeverityRows, seed: int, cohort: int) -> None:
        self._severities = severities
        self._rows = [
            VictimRows(kind.hits or hits, severities.cluster, seed, cohort, 1 + place)
            for place, kind in enumerate(severities.kinds)
        ]

    def hits(self, row: int, count: int) -> list[Hit]:
        """Return the nodes that each of the first failures of a replication takes down."""
        (causes,) = self._severities.causes(np.array([row]), count).tolist()
        return [self._rows[cause].hit(row, index) for index, cause in enumerate(causes)]


def _chosen(
    rng: np.random.Generator, nodes: int, count: int, shape: tuple[int, int]
) -> NDArray[np.int32]:
    """`count` different numbers below `nodes`, in order, for each place of `shape`.

    Each set is equally likely (R. W. Floyd's algorithm; Bentley and Floyd, CACM 30:9, 1987).
    """
    chosen = np.empty((*shape, count), np.int32)
    for i in range(count):
        last = nodes - count + i
        one = rng.integers(last + 1, size=shape, dtype=np.int32)
        taken = (chosen[..., :i] == one[..., np.newaxis]).any(axis=-1)
        chosen[..., i] = np.where(taken, last, one)
    chosen.sort(axis=-1)
    return chosen
