"""What a failure takes down."""

import math
from typing import NamedTuple


class Hit(NamedTuple):
    """Nodes that one failure takes down, by index."""

    servers: tuple[int, ...]
    trainers: tuple[int, ...]


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
