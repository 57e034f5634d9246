"""Kinds of failures: what survives of the memory of the nodes hit, and causes, where drawn."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cprsim.basics.distributions import Distribution
from cprsim.basics.schema import Section
from cprsim.basics.streams import COHORT, Cause, CohortDraws
from cprsim.failures.causes import FailureCause, total_share
from cprsim.failures.hit import Hit, MeanHit
from cprsim.job.platform import Cluster
from cprsim.job.severity import SEVERITIES, Severity

if TYPE_CHECKING:
    from cprsim.failures.shared import SharedDraws

Weight = Annotated[float, Field(ge=0)]
#: Times of a kind of failure: until it is noticed, and from then until its nodes are back.
Part = Literal["detect", "repair"]
_STREAMS: Final[dict[Part, Cause]] = {"detect": Cause.DETECT, "repair": Cause.CAUSE_REPAIR}


class SeverityWeights(Section):
    """Weights of the severities of failures; only the ratios count.

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
    """The kinds of failures, for the replications of a cohort."""

    def __init__(
        self,
        kinds: Sequence[FailureCause],
        cluster: Cluster,
        seed: int,
        cohort: int,
        shared: "SharedDraws | None" = None,
    ) -> None:
        self.kinds, self.cluster = kinds, cluster
        self._key = seed, cohort
        self._below = np.array(list(itertools.accumulate(each.share or 0.0 for each in kinds)))
        self._severities = np.array([SEVERITIES.index(each.severity) for each in kinds])
        draws = CohortDraws(_uniform, seed, cohort, Cause.SEVERITY)
        if shared is not None:
            draws = shared.kept(("severities", seed, cohort), lambda: draws, COHORT * 8)
        self._uniform = draws
        self._times: dict[tuple[Part, int], CohortDraws] = {}

    def causes(self, rows: NDArray[np.intp], failures: int) -> NDArray[np.intp]:
        """Places in `kinds` of so many failures of some rows, shape (rows, failures)."""
        # Rounding may leave the last share a little below one.
        at = self._uniform.upto(failures)[rows, :failures] * self._below[-1]
        return np.asarray(np.searchsorted(self._below, at, side="right"))

    def of_failures(self, rows: NDArray[np.intp], failures: int) -> NDArray[np.intp]:
        """Places in `SEVERITIES` of so many failures of some rows, shape (rows, failures)."""
        return np.asarray(self._severities[self.causes(rows, failures)])

    def has(self, part: Part) -> bool:
        """Return whether some of the kinds say how long that part takes."""
        return any(getattr(each, part) is not None for each in self.kinds)

    def times_s(
        self, part: Part, rows: NDArray[np.intp], failures: int, otherwise_s: float
    ) -> NDArray[np.float64]:
        """Return how long a part of failures of some rows takes, s, shape (rows, failures).

        `otherwise_s`: of kinds that do not say it.
        """
        causes = self.causes(rows, failures)
        found = np.full(causes.shape, otherwise_s)
        for place, kind in enumerate(self.kinds):
            time, own = getattr(kind, part), causes == place
            if isinstance(time, Distribution):
                if (part, place) not in self._times:
                    self._times[part, place] = CohortDraws(
                        time.sample, *self._key, _STREAMS[part], entity=place
                    )
                found[own] = self._times[part, place].upto(failures)[rows, :failures][own]
            elif time is not None:
                found[own] = time
        return found


def _uniform(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    return rng.random(size)


@dataclass(frozen=True)
class Severities:
    """The kinds of failures of one job: causes, or severities; without weights all are `node`."""

    kinds: tuple[FailureCause, ...]
    cluster: Cluster

    @classmethod
    def of(
        cls,
        weights: SeverityWeights | None,
        cluster: Cluster,
        causes: Sequence[FailureCause] | None = None,
    ) -> "Severities":
        """Return the kinds of a scenario: by its causes, or by the weights of its severities."""
        if causes is not None:
            total = total_share(causes)
            kinds = [
                each.model_copy(update={"share": (each.share or 0.0) / total}) for each in causes
            ]
        else:
            shares = {} if weights is None else weights.shares()
            kinds = [
                FailureCause.model_construct(name=severity, share=share, severity=severity)
                for severity, share in shares.items()
            ]
        return cls(tuple(kinds), cluster)

    def rows(
        self, seed: int, cohort: int, shared: "SharedDraws | None" = None
    ) -> SeverityRows | None:
        """Return the kinds drawn for a cohort; None where there is nothing to draw."""
        if not self.kinds:
            return None
        return SeverityRows(self.kinds, self.cluster, seed, cohort, shared)

    def shares(self) -> dict[Severity, float]:
        """The share of failures of each severity; they add up to 1."""
        if not self.kinds:
            return dict(_NODE_ALONE)
        return {
            name: math.fsum(each.share or 0.0 for each in self.kinds if each.severity == name)
            for name in SEVERITIES
        }

    def mean_hit(self, alone: MeanHit) -> MeanHit:
        """Return the nodes that a failure takes down on average: `alone`, or all of them; exact."""
        everything = MeanHit(self.cluster.parameter_servers, self.cluster.trainers, 1.0)
        if not self.kinds:
            return MeanHit(*map(min, alone, everything))
        share = self.shares()["cluster"]
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
