"""Processes that failures of a scenario come from, and the means that policies plan with."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT, Cause
from cprsim.failures.bursts import Bursts
from cprsim.failures.causes import FailureCause, SeverityWeights, total_share
from cprsim.failures.cohorts import (
    CauseVictimRows,
    InstantCohort,
    NodeCohort,
    RenewalCohort,
    SeverityRows,
    VictimRows,
)
from cprsim.failures.hits import Hits, MeanHit, none_of
from cprsim.failures.shared import CohortStreams, SharedDraws
from cprsim.failures.spec import Failures, Offenders
from cprsim.failures.timeline import Cohort
from cprsim.job.delays import mean_s
from cprsim.job.platform import Cluster
from cprsim.job.severity import SEVERITIES, Severity


class Process(ABC):
    """The source of the failures of a scenario.

    `kinds`: the kinds of its failures, causes or severities; without any all are `node`.
    """

    cluster: Cluster
    kinds: tuple[FailureCause, ...]

    def cohort(self, seed: int, number: int, shared: SharedDraws | None = None) -> Cohort:
        """The failures of a cohort of replications, of draws that scenarios may share."""
        streams = CohortStreams(seed, number, shared)
        severities = SeverityRows(self.kinds, self.cluster, streams) if self.kinds else None
        return self._drawn(streams, severities)

    @abstractmethod
    def _drawn(self, streams: CohortStreams, severities: SeverityRows | None) -> Cohort:
        """Return the failures of a cohort, all from streams of their own."""

    @property
    @abstractmethod
    def mtbf_s(self) -> float:
        """Mean time between failures of the job, s; infinite where there are none."""

    @property
    @abstractmethod
    def mean_hit(self) -> MeanHit:
        """The mean nodes that one failure takes down."""

    @property
    def causes(self) -> tuple[tuple[float, Severity, MeanHit, float | None], ...]:
        """Share, severity, mean hit and mean repair, s, of each cause; empty without causes."""
        return ()

    @property
    def severity_shares(self) -> dict[Severity, float]:
        """The share of failures of each severity, by their weights; they add up to 1."""
        if not self.kinds:
            return {name: float(name == "node") for name in SEVERITIES}
        return {
            name: math.fsum(each.share or 0.0 for each in self.kinds if each.severity == name)
            for name in SEVERITIES
        }

    def _with_all(self, alone: MeanHit) -> MeanHit:
        """Return the mean of `alone`, and of all nodes in failures of the cluster; exact."""
        everything = everyone(self.cluster)
        if not self.kinds:
            return MeanHit(*map(min, alone, everything))
        share = self.severity_shares["cluster"]
        # No rounding may lead beyond all that there is.
        mixed = (min(a + share * (b - a), b) for a, b in zip(alone, everything, strict=True))
        return MeanHit(*mixed)


def everyone(cluster: Cluster) -> MeanHit:
    """Return all nodes of a cluster, as a failure takes them down."""
    return MeanHit(cluster.parameter_servers, cluster.trainers, 1.0)


def kinds_of(
    weights: SeverityWeights | None, causes: Sequence[FailureCause] | None = None
) -> tuple[FailureCause, ...]:
    """Return the kinds of a scenario's failures: its causes, or the weights of its severities."""
    if causes is not None:
        total = total_share(causes)
        return tuple(
            each.model_copy(update={"share": (each.share or 0.0) / total}) for each in causes
        )
    shares = {} if weights is None else weights.shares()
    return tuple(
        FailureCause.model_construct(name=severity, share=share, severity=severity)
        for severity, share in shares.items()
    )


class _Specified(Process):
    def __init__(self, spec: Failures, cluster: Cluster, useful_time_s: float) -> None:
        self.spec, self.cluster, self.useful_time_s = spec, cluster, useful_time_s
        self.kinds = kinds_of(spec.severity, spec.causes)


class JobRenewals(_Specified):
    """Failures of the job as a whole, which renew at each one; victims are drawn."""

    def _drawn(self, streams: CohortStreams, severities: SeverityRows | None) -> Cohort:
        gaps = streams.durations(self.spec.law, Cause.FAILURE_TIME, aged=self.spec.aged)
        return RenewalCohort(gaps, self._victims(streams, severities), severities)

    def _victims(
        self, streams: CohortStreams, severities: SeverityRows | None
    ) -> VictimRows | CauseVictimRows:
        hits = self.spec.hits
        if severities is not None and any(kind.hits for kind in self.kinds):
            return CauseVictimRows(hits, severities, streams)
        return VictimRows.of(hits, self.cluster, streams)

    @property
    def mtbf_s(self) -> float:
        """The mean of the law, s: exact in any time with stationary ages, else in the long run."""
        return self.spec.law.expected_s

    @property
    def mean_hit(self) -> MeanHit:
        """By the weights of the kinds and of the severities; exact."""
        causes = self.causes
        if not causes:
            return self._with_all(self._mean_of(self.spec.hits))
        parts = [[share * each for each in hit] for share, _, hit, _ in causes]
        return MeanHit(*map(math.fsum, zip(*parts, strict=True)))

    @property
    def causes(self) -> tuple[tuple[float, Severity, MeanHit, float | None], ...]:
        """Share, severity, mean hit and mean repair, s, of each cause; empty without causes."""
        if self.spec.causes is None:
            return ()
        return tuple(
            (
                kind.share or 0.0,
                kind.severity,
                everyone(self.cluster)
                if kind.severity == "cluster"
                else self._mean_of(kind.hits or self.spec.hits),
                None if kind.repair is None else mean_s(kind.repair),
            )
            for kind in self.kinds
        )

    def _mean_of(self, hits: Hits) -> MeanHit:
        servers, trainers = hits.counts(self.cluster)
        share = hits.server_share()
        trainer_share = 1.0 if hits.weights is None else 1 - share
        return MeanHit(servers * share, trainers * trainer_share, share if servers else 0.0)


class FixedCount(JobRenewals):
    """A number of failures, uniform over the useful time, on the wall clock; victims are drawn."""

    def _drawn(self, streams: CohortStreams, severities: SeverityRows | None) -> Cohort:
        size = COHORT, self.spec.exactly or 0

        def shares() -> NDArray[np.float64]:
            if not self.spec.exactly:
                return np.empty(size)
            return np.sort(streams.stream(Cause.FAILURE_TIME).random(size))

        drawn = streams.kept(("instants", size), shares, size[0] * size[1])
        times_s = self.useful_time_s * drawn  # as a uniform law is drawn
        return InstantCohort(times_s, self._victims(streams, severities), severities)

    @property
    def mtbf_s(self) -> float:
        """Useful time for each failure, s."""
        return self.useful_time_s / self.spec.exactly if self.spec.exactly else math.inf


class NodeLives(_Specified):
    """A life for each node and each of its replacements, and bursts of racks.

    With bursts or failures of the cluster the means are exact for exponential lives, and first
    order for others: they leave out that these cut lives short. With offenders they are those of
    the useful time.
    """

    @property
    def _nodes(self) -> int:
        return self.cluster.parameter_servers + self.cluster.trainers

    def _drawn(self, streams: CohortStreams, severities: SeverityRows | None) -> Cohort:
        return NodeCohort(self.spec, self.cluster, streams, severities)

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
        return life_s / mean_pace(offenders, self.useful_time_s / life_s)

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
            return self._with_all(alone)
        pairs = zip(alone, mean_of_bursts(bursts, self.cluster), strict=True)
        return self._with_all(MeanHit(*(share * a + (1 - share) * b for a, b in pairs)))


def mean_of_bursts(bursts: Bursts, cluster: Cluster) -> MeanHit:
    """Return the mean nodes that a burst takes down if all nodes are up; exact.

    Of `size` nodes that are chosen among the m of a rack, s of them servers, the number of servers
    is hypergeometric.
    """
    servers, nodes = cluster.parameter_servers, cluster.parameter_servers + cluster.trainers
    firsts = range(0, nodes, bursts.rack)
    # Almost all racks are alike: all servers, or all trainers.
    alike = Counter(
        (min(bursts.rack, nodes - first), min(max(servers - first, 0), bursts.rack))
        for first in firsts
    )
    hit = down = with_servers = 0.0
    for (rack, own), count in alike.items():
        for size, share in bursts.shares().items():
            taken, weight = min(size, rack), share * count / len(firsts)
            down += weight * taken
            hit += weight * taken * (own / rack)
            with_servers += weight * (1.0 - none_of(own, rack, taken))
    return MeanHit(hit, down - hit, with_servers)


def mean_pace(offenders: Offenders, lives: float) -> float:
    """Return failures of a place per failure of one that is always good, on average.

    `lives`: the time that is looked at, in mean lives of a good machine. Exact for exponential
    lives, if every failure leads to a repair: the occupation of a Markov chain in continuous time,
    by its generator.
    """
    from scipy.linalg import expm  # noqa: PLC0415  (scipy is slow to import)

    paces, repaired = _chain(offenders)
    count = len(paces)
    now = np.zeros(count)
    now[:2] = 1 - offenders.share, offenders.share
    # exp of ((Q t, 1), (0, 0)) has the mean of exp(Q s) over s from 0 to t in its corner
    # (C. F. Van Loan, IEEE Transactions on Automatic Control 23, 1978).
    both = np.zeros((2 * count, 2 * count))
    both[:count, :count] = (repaired - np.eye(count)) * (paces * lives)[:, np.newaxis]
    both[:count, count:] = np.eye(count)
    return float(now @ expm(both)[:count, count:] @ paces)


def _chain(offenders: Offenders) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the pace of each state of a machine, and where a failure leads from it.

    States are good and bad by turns, for each number of repairs that there were.
    """
    rounds = offenders.retired_after or 1
    paces = np.tile([1.0, offenders.times], rounds)
    after = offenders.misdiagnosed * np.eye(2 * rounds)
    right = 1 - offenders.misdiagnosed
    for repairs in range(rounds):
        good, bad = 2 * repairs, 2 * repairs + 1
        if offenders.retired_after == repairs + 1:
            after[[good, bad], 0] += right * (1 - offenders.share)
            after[[good, bad], 1] += right * offenders.share
            continue
        to_good = 2 * (repairs + 1) if offenders.retired_after else 0
        after[good, to_good] += right
        after[bad, to_good] += right * offenders.cured
        after[bad, to_good + 1] += right * (1 - offenders.cured)
    return paces, after
