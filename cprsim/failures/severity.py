"""How much of the memory of the nodes hit survives a failure: by weights, or told by a log."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cprsim.basics.schema import Section
from cprsim.basics.shared import SharedDraws
from cprsim.basics.streams import COHORT, Cause, CohortDraws
from cprsim.failures.hit import SEVERITIES, Hit, MeanHit, Severity
from cprsim.job.platform import Cluster

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


#: Without weights.
_NODE_ALONE = SeverityWeights(node=1.0).shares()


class SeverityRows:
    """The severities of failures, for the replications of a cohort."""

    def __init__(
        self,
        weights: SeverityWeights,
        cluster: Cluster,
        seed: int,
        cohort: int,
        shared: SharedDraws | None = None,
    ) -> None:
        self._below = np.array(list(itertools.accumulate(weights.shares().values())))
        draws = CohortDraws(_uniform, seed, cohort, Cause.SEVERITY)
        if shared is not None:
            draws = shared.kept(("severities", seed, cohort), lambda: draws, COHORT * 8)
        self._uniform = draws
        self.cluster = cluster

    def upto(self, failures: int) -> NDArray[np.intp]:
        """Places in `SEVERITIES` of at least so many failures, shape (COHORT, >= failures)."""
        # Rounding may leave the last share a little below one.
        at = self._uniform.upto(failures) * self._below[-1]
        return np.asarray(np.searchsorted(self._below, at, side="right"))


def _uniform(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    return rng.random(size)


class SeverityDraws:
    """The severity of the nth failure of one replication."""

    def __init__(self, rows: SeverityRows, row: int) -> None:
        self.cluster = rows.cluster
        self._rows, self._row = rows, row
        self._drawn: list[int] = []

    def __getitem__(self, index: int) -> Severity:
        if index >= len(self._drawn):
            self._drawn = self._rows.upto(index + 1)[self._row].tolist()
        return SEVERITIES[self._drawn[index]]

    def grade(self, hit: Hit, index: int) -> Hit:
        """The hit of the `index`-th failure, with its severity."""
        return graded(hit, self[index], self.cluster)


@dataclass(frozen=True)
class Severities:
    """The severities of the failures of one job; all are `node` without weights."""

    weights: SeverityWeights | None
    cluster: Cluster

    def rows(
        self, seed: int, cohort: int, shared: SharedDraws | None = None
    ) -> SeverityRows | None:
        """Those of a cohort; None where there is nothing to draw."""
        if self.weights is None:
            return None
        return SeverityRows(self.weights, self.cluster, seed, cohort, shared)

    def shares(self) -> dict[Severity, float]:
        """The share of failures of each severity; they add up to 1."""
        return dict(_NODE_ALONE) if self.weights is None else self.weights.shares()

    def mean_hit(self, alone: MeanHit) -> MeanHit:
        """What a failure takes down on average: `alone`, or all that there is; exact."""
        everything = MeanHit(self.cluster.parameter_servers, self.cluster.trainers, 1.0)
        if self.weights is None:
            return MeanHit(*map(min, alone, everything))
        share = self.shares()["cluster"]
        # No rounding may lead beyond all that there is.
        mixed = (min(a + share * (b - a), b) for a, b in zip(alone, everything, strict=True))
        return MeanHit(*mixed)


def drawn(rows: SeverityRows | None, row: int) -> SeverityDraws | None:
    """The severities of one replication, where any are drawn."""
    return None if rows is None else SeverityDraws(rows, row)


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
