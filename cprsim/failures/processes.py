"""Failures by a law or by number: their timelines, and the means that policies plan with."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT, Cause, CohortDraws, stream
from cprsim.failures.cohorts import InstantCohort, NodeCohort, RenewalCohort
from cprsim.failures.hit import MeanHit
from cprsim.failures.hits import Hits
from cprsim.failures.nodes import Lives
from cprsim.failures.severity import Severities, SeverityRows
from cprsim.failures.shared import SharedDraws
from cprsim.failures.spec import Failures
from cprsim.failures.timeline import Cohort
from cprsim.failures.victims import CauseVictimRows, VictimRows, victim_rows
from cprsim.job.delays import mean_s
from cprsim.job.platform import Cluster
from cprsim.job.severity import Severity


class Process(Protocol):
    """Where the failures of a scenario come from."""

    def cohort(self, seed: int, number: int, shared: SharedDraws | None = None) -> Cohort:
        """The failures of a cohort of replications, of draws that scenarios may share."""

    @property
    def mtbf_s(self) -> float:
        """Mean time between failures of the job, s; infinite where there are none."""

    @property
    def mean_hit(self) -> MeanHit:
        """The mean nodes that one failure takes down."""

    @property
    def severity_shares(self) -> dict[Severity, float]:
        """The share of failures of each severity; they add up to 1."""


@dataclass(frozen=True)
class _Drawn:
    """The common part of all processes that are drawn."""

    spec: Failures
    cluster: Cluster

    @cached_property
    def _severities(self) -> Severities:
        return Severities.of(self.spec.severity, self.cluster, self.spec.causes)

    @property
    def severity_shares(self) -> dict[Severity, float]:
        """By their weights; exact."""
        return self._severities.shares()


@dataclass(frozen=True)
class JobRenewals(_Drawn):
    """Failures of the job as a whole, which renew at each one; victims are drawn."""

    def _victims(
        self,
        severities: SeverityRows | None,
        seed: int,
        number: int,
        shared: SharedDraws | None,
    ) -> VictimRows | CauseVictimRows:
        hits = self.spec.hits
        if severities is not None and any(kind.hits for kind in severities.kinds):
            return CauseVictimRows(hits, severities, seed, number)
        return victim_rows(hits, self.cluster, seed, number, shared)

    def cohort(self, seed: int, number: int, shared: SharedDraws | None = None) -> Cohort:
        """Gaps, victims and severities from streams of their own."""
        law, aged = self.spec.law, self.spec.aged
        if shared is None:
            first = law.sample_left if aged else None
            gaps = CohortDraws(law.sample, seed, number, Cause.FAILURE_TIME, first)
        else:
            gaps = shared.durations(law, seed, number, Cause.FAILURE_TIME, aged=aged)
        severities = self._severities.rows(seed, number, shared)
        return RenewalCohort(gaps, self._victims(severities, seed, number, shared), severities)

    @property
    def mtbf_s(self) -> float:
        """The mean of the law, s: exact in any time with stationary ages, else in the long run."""
        return self.spec.law.expected_s

    @property
    def mean_hit(self) -> MeanHit:
        """By the weights of the kinds and of the severities; exact."""
        causes = self.causes
        if not causes:
            return self._severities.mean_hit(self._mean_of(self.spec.hits))
        parts = [[share * each for each in hit] for share, _, hit, _ in causes]
        return MeanHit(*map(math.fsum, zip(*parts, strict=True)))

    @cached_property
    def causes(self) -> tuple[tuple[float, Severity, MeanHit, float | None], ...]:
        """Share, severity, mean hit and mean repair, s, of each cause; empty without causes."""
        if self.spec.causes is None:
            return ()
        everything = MeanHit(self.cluster.parameter_servers, self.cluster.trainers, 1.0)
        return tuple(
            (
                kind.share or 0.0,
                kind.severity,
                everything
                if kind.severity == "cluster"
                else self._mean_of(kind.hits or self.spec.hits),
                None if kind.repair is None else mean_s(kind.repair),
            )
            for kind in self._severities.kinds
        )

    def _mean_of(self, hits: Hits) -> MeanHit:
        servers, trainers = hits.counts(self.cluster)
        share = hits.server_share()
        trainer_share = 1.0 if hits.weights is None else 1 - share
        return MeanHit(servers * share, trainers * trainer_share, share if servers else 0.0)


@dataclass(frozen=True)
class FixedCount(JobRenewals):
    """A number of failures, uniform over the useful time, on the wall clock; victims are drawn."""

    useful_time_s: float

    def cohort(self, seed: int, number: int, shared: SharedDraws | None = None) -> Cohort:
        """Instants, victims and severities from streams of their own."""
        size = COHORT, self.spec.exactly or 0

        def shares() -> NDArray[np.float64]:
            if not self.spec.exactly:
                return np.empty(size)
            return np.sort(stream(seed, number, Cause.FAILURE_TIME).random(size))

        key = "instants", seed, number, size
        drawn = shares() if shared is None else shared.kept(key, shares, size[0] * size[1])
        times = self.useful_time_s * drawn  # as a uniform law is drawn
        severities = self._severities.rows(seed, number, shared)
        return InstantCohort(times, self._victims(severities, seed, number, shared), severities)

    @property
    def mtbf_s(self) -> float:
        """Useful time for each failure, s."""
        return self.useful_time_s / self.spec.exactly if self.spec.exactly else math.inf


@dataclass(frozen=True)
class NodeLives(_Drawn):
    """A life for each node and each of its replacements, and bursts of racks.

    With bursts or failures of the cluster the means are exact for exponential lives, and first
    order for others: they leave out that these cut lives short. With offenders they are those of
    the useful time.
    """

    useful_time_s: float

    @property
    def _nodes(self) -> int:
        return self.cluster.parameter_servers + self.cluster.trainers

    def cohort(self, seed: int, number: int, shared: SharedDraws | None = None) -> Cohort:
        """Lives, instants of bursts, their victims, severities from streams of their own."""
        return NodeCohort(
            Lives(
                self.spec.law,
                self._nodes,
                seed,
                number,
                self.spec.aged,
                shared,
                self.spec.frail,
                self.spec.offenders,
            ),
            self.cluster,
            self.spec.bursts,
            self._severities.rows(seed, number, shared),
        )

    @property
    def mtbf_s(self) -> float:
        """One over the rate of lives that end and of bursts together, s."""
        return self._life_s / self._nodes * self._lone_share

    @cached_property
    def _life_s(self) -> float:
        """Time of a node per life that ends: the rates of nodes add up, not their lives."""
        frail, offenders = self.spec.frail, self.spec.offenders
        life_s = self.spec.law.expected_s / (1.0 if frail is None else frail.mean(self._nodes))
        if offenders is None:
            return life_s
        return life_s / offenders.mean_pace(self.useful_time_s / life_s)

    @property
    def _lone_share(self) -> float:
        """Share of failures that are of one node by itself: all without bursts."""
        if self.spec.bursts is None:
            return 1.0
        life_s = self._life_s / self._nodes
        burst_s = self.spec.bursts.gap_s(self._nodes)
        return burst_s / (burst_s + life_s)

    @property
    def mean_hit(self) -> MeanHit:
        """Means over lives, which end alike for all nodes, and bursts, weighted by their rates.

        Failures of the cluster take down all nodes.
        """
        servers = self.cluster.parameter_servers / self._nodes
        alone = MeanHit(servers, 1 - servers, servers)
        bursts, share = self.spec.bursts, self._lone_share
        if bursts is None:
            return self._severities.mean_hit(alone)
        pairs = zip(alone, bursts.mean_hit(self.cluster), strict=True)
        return self._severities.mean_hit(MeanHit(*(share * a + (1 - share) * b for a, b in pairs)))
