"""Nodes that a failure takes down, and the tables that say how many."""

import math
from collections.abc import Collection, Mapping
from typing import Annotated, NamedTuple, Self, TypeVar

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from cprsim.basics import units
from cprsim.basics.schema import Section
from cprsim.job.platform import Cluster
from cprsim.job.severity import Severity

_Kind = TypeVar("_Kind")


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


def shares_of(weights: Mapping[_Kind, float]) -> dict[_Kind, float]:
    """Return weights as shares, which add up to 1."""
    most = max(weights.values())  # weights may be too large to be added up
    of_most = {kind: weight / most for kind, weight in weights.items()}
    total = math.fsum(of_most.values())
    return {kind: weight / total for kind, weight in of_most.items()}


def _parse_share_or_count(value: object) -> int | float:
    if isinstance(value, str):
        return units.parse_share(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f'{value!r} is neither a number of nodes (>= 0) nor a share such as "25%"')
    return value


ShareOrCount = Annotated[
    int | float,
    BeforeValidator(_parse_share_or_count),
    PlainSerializer(lambda v: v if isinstance(v, int) else units.format_share(v)),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "%\\s*$"}],
            "x-unit": "nodes, or percent of them",
            "examples": [1, "25%"],
        }
    ),
]


class Weights(Section):
    """Weights of each kind of node to be the one that fails; only the ratio counts.

    `parameter_servers`, `trainers`: the weight of that kind.
    """

    parameter_servers: Annotated[float, Field(ge=0)] = 0.0
    trainers: Annotated[float, Field(ge=0)] = 0.0

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if self.parameter_servers + self.trainers == 0:
            raise ValueError("at least one must be > 0")
        return self


class Hits(Section):
    """Nodes that fail together in one failure.

    `parameter_servers` and `trainers`: how many, or what share (`"25%"`, rounded, at least one).
    `weights`: a failure hits one kind, chosen by weight, and takes that kind's number (one, where
    none is given); without weights both kinds fail in every failure.
    """

    parameter_servers: ShareOrCount | None = None
    trainers: ShareOrCount | None = None
    weights: (
        Annotated[Weights, Field(examples=[{"parameter_servers": 3, "trainers": 1}])] | None
    ) = None

    def counts(self, cluster: Cluster) -> tuple[int, int]:
        """Numbers of parameter servers and of trainers that fail together."""
        if self.weights is not None:
            default = (int(self.weights.parameter_servers > 0), int(self.weights.trainers > 0))
        else:
            default = (1 if self.trainers is None else 0, 0)
        return (
            _count(self.parameter_servers, cluster.parameter_servers, default[0]),
            _count(self.trainers, cluster.trainers, default[1]),
        )

    def server_share(self) -> float:
        """Share of failures that hit parameter servers, where weights decide."""
        if self.weights is None:
            return 1.0
        total = self.weights.parameter_servers + self.weights.trainers
        return self.weights.parameter_servers / total


def _count(value: int | float | None, nodes: int, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, int):
        return value
    return max(1, math.floor(value * nodes + 0.5)) if value > 0 else 0
