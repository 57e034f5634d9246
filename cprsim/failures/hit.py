"""Nodes that a failure takes down."""

import math
from collections.abc import Collection
from typing import NamedTuple

from cprsim.job.severity import Severity


class Hit(NamedTuple):
    """Nodes that one failure takes down, by index, and what is left of their memory."""

    servers: tuple[int, ...]
    trainers: tuple[int, ...]
    severity: Severity = "node"

    @classmethod
    def of(cls, nodes: Collection[int], servers: int) -> "Hit":
        """Make a hit of nodes by number, of which those below `servers` are servers."""
        return cls(
            tuple([node for node in nodes if node < servers]),
            tuple([node - servers for node in nodes if node >= servers]),
        )

    def nodes(self, servers: int) -> list[int]:
        """Their numbers, where there are so many servers; as `of` takes them."""
        return [*self.servers, *(servers + trainer for trainer in self.trainers)]


class MeanHit(NamedTuple):
    """Mean numbers of servers and of trainers that a failure takes down.

    `server_share`: the share of failures that take down a server.
    """

    servers: float
    trainers: float
    server_share: float


def none_of(marked: int, nodes: int, chosen: int) -> float:
    """Probability that none of `marked` among `nodes` is chosen: C(n - s, k) / C(n, k)."""
    fewer, more = sorted((marked, chosen))  # the two are symmetric
    return math.prod((nodes - more - i) / (nodes - i) for i in range(fewer))
