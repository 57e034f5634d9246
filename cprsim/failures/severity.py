"""How much of the memory of the nodes hit survives a failure: by weights, or told by a log."""

import bisect
import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from cprsim.failures.hit import SEVERITIES, Hit, MeanHit, Severity
from cprsim.platform import Cluster
from cprsim.schema import Section
from cprsim.streams import Cause, stream

Weight = Annotated[float, Field(ge=0)]


class SeverityWeights(Section):
    """How often a failure is of which severity; only the ratios count.

    `process`: the processes of the nodes hit die, the memory of their hosts survives. `node`: the
    hosts' memory is lost, too. `cluster`: all servers and trainers are hit and lose everything.
    See docs/semantics.md.
    """

    process: Weight = 0.0
    node: Weight = 0.0
    cluster: Weight = 0.0

    @model_validator(mode="before")
    @classmethod
    def _is_a_table(cls, value: object) -> object:
        if not isinstance(value, dict | cls):
            raise ValueError(
                f"{value!r} is not a table; write e.g. {{ process = 0.6, node = 0.4 }}"
            )
        return value

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if not any(self._weights()):
            raise ValueError(f"at least one of {', '.join(SEVERITIES)} must be > 0")
        return self

    def _weights(self) -> tuple[float, ...]:
        return (self.process, self.node, self.cluster)

    def shares(self) -> dict[Severity, float]:
        """The share of failures of each severity; they add up to 1."""
        most = max(self._weights())  # weights may be too large to be added up
        weights = [weight / most for weight in self._weights()]
        total = math.fsum(weights)
        return {name: weight / total for name, weight in zip(SEVERITIES, weights, strict=True)}


class SeverityDraws:
    """The severity of the nth failure of a replication, drawn as it is asked for."""

    def __init__(
        self, weights: SeverityWeights, cluster: Cluster, seed: int, replication: int
    ) -> None:
        self._below = list(itertools.accumulate(weights.shares().values()))
        self._cluster = cluster
        self._key = (seed, replication)
        self._rng: np.random.Generator | None = None
        self._drawn: list[Severity] = []

    def __getitem__(self, index: int) -> Severity:
        if self._rng is None:
            self._rng = stream(*self._key, Cause.SEVERITY)
        while index >= len(self._drawn):
            # Rounding may leave the last share a little below one.
            at = self._rng.random() * self._below[-1]
            self._drawn.append(SEVERITIES[bisect.bisect(self._below, at)])
        return self._drawn[index]

    def grade(self, hit: Hit, index: int) -> Hit:
        """The hit of the `index`-th failure, with its severity."""
        return graded(hit, self[index], self._cluster)


@dataclass(frozen=True)
class Severities:
    """The severities of the failures of one job; all are `node` without weights."""

    weights: SeverityWeights | None
    cluster: Cluster

    def draws(self, seed: int, replication: int) -> SeverityDraws | None:
        """Those of one replication; None where there is nothing to draw."""
        if self.weights is None:
            return None
        return SeverityDraws(self.weights, self.cluster, seed, replication)

    def shares(self) -> dict[Severity, float]:
        """The share of failures of each severity; they add up to 1."""
        return (self.weights or SeverityWeights(node=1.0)).shares()

    def mean_hit(self, alone: MeanHit) -> MeanHit:
        """What a failure takes down on average: `alone`, or all that there is; exact."""
        share = self.shares()["cluster"]
        everything = MeanHit(self.cluster.parameter_servers, self.cluster.trainers, 1.0)
        # No rounding may lead beyond all that there is.
        mixed = (min(a + share * (b - a), b) for a, b in zip(alone, everything, strict=True))
        return MeanHit(*mixed)


def graded(hit: Hit, severity: Severity, cluster: Cluster) -> Hit:
    """The hit with that severity; one of the cluster takes down every node."""
    if severity != "cluster":
        return hit._replace(severity=severity)
    return Hit(tuple(range(cluster.parameter_servers)), tuple(range(cluster.trainers)), severity)


def worst(severities: Iterable[Severity]) -> Severity:
    """The severity of failures that are one."""
    return max(severities, key=SEVERITIES.index)


def counted(hits: Iterable[Hit]) -> dict[Severity, float]:
    """The share of each severity among these failures."""
    counts = Counter(hit.severity for hit in hits)
    return {severity: counts[severity] / counts.total() for severity in SEVERITIES}
