"""What many failures take down."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.batch.lanes import Integers, Mask
from cprsim.failures.hit import SEVERITIES
from cprsim.job.platform import Cluster

Nodes = NDArray[np.int32]
NODE, CLUSTER = SEVERITIES.index("node"), SEVERITIES.index("cluster")


class HitRows(NamedTuple):
    """Failures, a row each: nodes by index, -1 for none, and places in `SEVERITIES`.

    Of shape (failures, most servers), (failures, most trainers) and (failures,).
    """

    servers: Nodes
    trainers: Nodes
    severity: Integers

    @classmethod
    def none(cls, count: int) -> "HitRows":
        """So many that take down nothing."""
        nobody = np.empty((count, 0), np.int32)
        return cls(nobody, nobody, np.full(count, NODE))

    @classmethod
    def from_marked(cls, down: Mask, servers: int, severity: Integers) -> "HitRows":
        """From a column for each node, trainers after the servers, True where it is down."""
        return cls(_numbers(down[:, :servers]), _numbers(down[:, servers:]), severity)

    @property
    def nodes(self) -> Integers:
        """How many nodes each takes down."""
        return np.asarray(self.server_count + (self.trainers >= 0).sum(axis=1))

    @property
    def server_count(self) -> Integers:
        """How many servers each takes down."""
        return np.asarray((self.servers >= 0).sum(axis=1))

    def take(self, which: Mask | Integers) -> "HitRows":
        """Some of them."""
        return HitRows(self.servers[which], self.trainers[which], self.severity[which])

    def put(self, which: Integers, others: "HitRows") -> "HitRows":
        """These with others in the places `which`."""
        severity = self.severity.copy()
        severity[which] = others.severity
        return HitRows(
            _put(self.servers, which, others.servers),
            _put(self.trainers, which, others.trainers),
            severity,
        )

    def only_servers(self) -> "HitRows":
        """The servers of them."""
        return self._replace(trainers=self.trainers[:, :0])

    def only_trainers(self) -> "HitRows":
        """The trainers of them."""
        return self._replace(servers=self.servers[:, :0])

    def marked(self, servers: int, trainers: int) -> Mask:
        """A column for each node, True where it is down: what `from_marked` takes."""
        down = np.zeros((len(self.severity), servers + trainers), np.bool_)
        for nodes, first in ((self.servers, 0), (self.trainers, servers)):
            row, place = np.nonzero(nodes >= 0)
            down[row, nodes[row, place] + first] = True
        return down

    def graded(self, severity: Integers, cluster: Cluster) -> "HitRows":
        """With these severities; those of the cluster take down every node."""
        # As `failures.severity.graded`: who was drawn doesn't matter where all are hit.
        every = np.flatnonzero(severity == CLUSTER)
        hits = self._replace(severity=severity)
        if not every.size:
            return hits
        nodes = (np.arange(k) for k in (cluster.parameter_servers, cluster.trainers))
        servers, trainers = (np.tile(each.astype(np.int32), (every.size, 1)) for each in nodes)
        return hits.put(every, HitRows(servers, trainers, severity[every]))


def padded(lists: Sequence[Sequence[int]]) -> Nodes:
    """A row each, -1 where there is none."""
    widest = max(map(len, lists), default=0)
    table = np.full((len(lists), widest), -1, np.int32)
    for row, each in zip(table, lists, strict=True):
        row[: len(each)] = each
    return table


def _put(nodes: Nodes, which: Integers, others: Nodes) -> Nodes:
    width = max(nodes.shape[1], others.shape[1])
    # -1 is nobody everywhere, so rows of unlike many nodes lie in one array, and places that are
    # left over must be cleared: a row that is overwritten may have been longer.
    wide = np.full((len(nodes), width), -1, np.int32)
    wide[:, : nodes.shape[1]] = nodes
    wide[which] = -1
    wide[which, : others.shape[1]] = others
    return wide


def _numbers(down: Mask) -> Nodes:
    """Places that are set in each row, in order."""
    count = down.sum(axis=1)
    most = int(count.max(initial=0))
    # Most failures take down one node; the sort would then be most of the work.
    if most == 1:
        return np.where(count > 0, down.argmax(axis=1), -1).astype(np.int32)[:, np.newaxis]
    # Stable, so that the nodes of a row stand in ascending order, as in a `Hit`.
    order = np.argsort(~down, axis=1, kind="stable")[:, :most].astype(np.int32)
    return np.where(np.arange(most) < count[:, np.newaxis], order, np.int32(-1))
