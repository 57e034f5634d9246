"""Which nodes a failure of the job takes down."""

import numpy as np

from cprsim.failures.hit import Hit
from cprsim.failures.spec import Hits
from cprsim.platform import Cluster
from cprsim.streams import Cause, stream


class Victims:
    """The nodes that the nth failure hits, chosen at random, drawn as they are asked for."""

    def __init__(self, hits: Hits, cluster: Cluster, seed: int, replication: int) -> None:
        self._nodes = (cluster.parameter_servers, cluster.trainers)
        self._counts = hits.counts(cluster)
        self._server_share = hits.server_share()
        self._one_kind = hits.weights is not None
        self._key = (seed, replication)
        self._rng: np.random.Generator | None = None
        self._hits: list[Hit] = []

    def __getitem__(self, index: int) -> Hit:
        while index >= len(self._hits):
            self._hits.append(self._draw())
        return self._hits[index]

    def _draw(self) -> Hit:
        if self._rng is None:
            self._rng = stream(*self._key, Cause.VICTIM)
        servers, trainers = self._counts
        if self._one_kind:
            if self._rng.random() < self._server_share:
                trainers = 0
            else:
                servers = 0
        return Hit(self._choose(servers, 0), self._choose(trainers, 1))

    def _choose(self, count: int, kind: int) -> tuple[int, ...]:
        if count == 0:
            return ()
        assert self._rng is not None
        if count == 1:
            return (int(self._rng.integers(self._nodes[kind])),)
        chosen = self._rng.choice(self._nodes[kind], count, replace=False)
        return tuple(sorted(chosen.tolist()))
