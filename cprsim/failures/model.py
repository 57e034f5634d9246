"""The failures of one scenario: its timelines, and the few means that policies plan with."""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT
from cprsim.basics.units import format_bytes, format_duration
from cprsim.errors import LogError, ScenarioError
from cprsim.failures.causes import Part
from cprsim.failures.hits import Hits, MeanHit
from cprsim.failures.spec import Failures
from cprsim.job.delays import mean_s
from cprsim.job.platform import Cluster
from cprsim.job.severity import Severity
from cprsim.job.workload import Job

if TYPE_CHECKING:
    from cprsim.failures.processes import Process
    from cprsim.failures.timeline import Timeline

#: No job survives as many bursts as that; it bounds what has to be drawn of them.
_MOST_BURSTS = 1_000_000
#: Lives of nodes and their replacements in one job. A cohort has 8 B for each, times its 256 jobs:
#: 1.6 GB, and some seconds to draw them (measured: 200,000 nodes, two lives each, take half of it).
_MOST_LIVES = 800_000
#: Failures in one job. A cohort has some 40 B for each, times its 256 jobs: 1.5 GB.
_MOST_FAILURES = 150_000
_FAILURE_B = 40.0


@dataclass(frozen=True)
class FailureModel:
    """Failures as specified, for one job on one cluster."""

    spec: Failures
    cluster: Cluster
    job: Job

    @property
    def nodes(self) -> int:
        """Nodes that the job runs on."""
        return self.cluster.parameter_servers + self.cluster.trainers

    def check(self) -> None:
        """Raise `ScenarioError` where the failures don't fit the cluster or the log is no good."""
        hits = {"hits": self.spec.hits}
        for cause in self.spec.causes or ():
            if cause.hits is not None:
                hits[f"causes.{cause.name}.hits"] = cause.hits
        faults = [text for key, each in hits.items() for text in self._hits_faults(key, each)]
        faults += [*self._too_many_lives(), *self._too_many()]
        if faults:
            raise ScenarioError(*faults)
        try:
            self.process  # noqa: B018  (a log is read here, or it can't be)
        except LogError as error:
            raise ScenarioError(f"failures.trace: {error}") from None

    def _hits_faults(self, key: str, hits: Hits) -> Iterator[str]:
        counts, kinds = hits.counts(self.cluster), ("parameter_servers", "trainers")
        for kind, count in zip(kinds, counts, strict=True):
            has = getattr(self.cluster, kind)
            if count > has:
                yield (
                    f"failures.{key}.{kind}: {count} is more than cluster.{kind} = {has}; "
                    f"a failure can hit {has} at most"
                )
        for kind, count in zip(kinds, counts, strict=True):
            if hits.weights is not None and getattr(hits.weights, kind) > 0 and count == 0:
                yield (
                    f"failures.{key}.{kind}: 0 nodes of a kind with weight > 0 are no failure; "
                    "give it no weight, or hit at least one"
                )
        if counts == (0, 0):
            yield f"failures.{key}: a failure that hits no node is none; hit at least one"

    def _too_many_lives(self) -> Iterator[str]:
        spec, bursts, useful_s = self.spec, self.spec.bursts, self.job.useful_time_s
        if bursts is not None and useful_s > _MOST_BURSTS * bursts.gap_s(self.nodes):
            shortest_s = useful_s * bursts.racks(self.nodes) / _MOST_BURSTS
            yield (
                f"failures.bursts.mean: {format_duration(bursts.mean_s)} gives more than "
                f"{_MOST_BURSTS:,} bursts in job.useful_time; make it longer than "
                f"{format_duration(shortest_s)}"
            )
        if spec.per != "node" or spec.distribution is None:
            return
        # A life that ends is followed by another; of some node one more than on average, and of all
        # as many as of the worst.
        pace = 1.0 if spec.frail is None else max(spec.frail.worst(self.nodes), 1.0)
        if spec.offenders is not None:
            pace *= spec.offenders.times
        lives = self.nodes * (2 + pace * useful_s / spec.law.expected_s)
        if lives > _MOST_LIVES:
            memory = format_bytes(8.0 * COHORT * lives)
            yield (
                f"failures.per: 'node' makes some {lives:.2g} lives of {self.nodes:,} nodes, "
                f"{memory} for {COHORT} jobs that are drawn together; {_MOST_LIVES:,} is the most: "
                "give fewer nodes or a longer failures.mean, or per = 'job' with the mean of the "
                "whole job"
            )

    def _too_many(self) -> Iterator[str]:
        """Yield faults of too many failures of the job, silent faults and false alarms."""
        spec, useful_s, notices = self.spec, self.job.useful_time_s, self.spec.notice
        failures = float(spec.exactly or 0)
        if spec.per == "job" and spec.distribution is not None:
            failures = useful_s / spec.law.expected_s
        alarms = 0.0 if notices is None else useful_s * notices.false_alarms_per_s
        for count, key, what, them in (
            (
                failures,
                "mean" if spec.exactly is None else "exactly",
                " failures in the job, {} for {} jobs that are drawn together",
                "failures",
            ),
            (useful_s / self.silent_mtbf_s, "silent.mean", " silent faults in the job", "them"),
            (alarms, "notice.false_alarms", " in the job", "them"),
        ):
            if count > _MOST_FAILURES:
                told = what.format(format_bytes(_FAILURE_B * COHORT * count), COHORT)
                yield (
                    f"failures.{key}: makes {count:,.0f}{told}; {_MOST_FAILURES:,} are the most: "
                    f"make {them} rarer"
                )

    @cached_property
    def process(self) -> "Process":
        """Where the failures come from; a log is read once.

        Raises
        ------
        LogError
            If there is a log and it can't be read or played to this cluster.
        """
        spec, cluster = self.spec, self.cluster
        if spec.trace is not None:
            from cprsim.failures.replay import replay  # noqa: PLC0415  (reads logs)

            return replay(spec, cluster, self.job.useful_time_s)
        from cprsim.failures.processes import (  # noqa: PLC0415  (what draws them)
            FixedCount,
            JobRenewals,
            NodeLives,
        )

        kind = NodeLives if spec.per == "node" else JobRenewals
        if spec.exactly is not None:
            kind = FixedCount
        return kind(spec, cluster, self.job.useful_time_s)

    def timeline(self, seed: int, replication: int) -> "Timeline":
        """The failures of one replication."""
        number, row = divmod(replication, COHORT)
        return self.process.cohort(seed, number).timeline(row)

    @property
    def mtbf_s(self) -> float:
        """Mean time between failures of the job, s: of its law, its number, or its log."""
        return self.process.mtbf_s

    def per_recovery(self, waiting_s: float, loading_s: float) -> float:
        """Mean failures that take something in a recovery of so long after its last, the first too.

        By the law of the job, or at a constant rate where there is none. Failures come at one per
        MTBF of wall clock, so `1/(1 + A - h/M)`: each takes `h` of it for recovery, which another
        may cut short, and `A` others find only nodes that are away, and take nothing. Both to the
        second order in the share of nodes that a failure takes.
        """
        spec, mtbf_s = self.spec, self.mtbf_s
        meanwhile = spec.during_recovery and spec.while_waiting
        exposed_s = loading_s * spec.during_recovery + waiting_s * meanwhile
        if math.isinf(mtbf_s) or exposed_s <= 0:
            return 1.0
        whole = spec.distribution is not None and spec.per == "job"
        constant = Distribution.model_construct(distribution="exponential", mean_s=mtbf_s)
        law = spec.law if whole else constant
        followed, until_s = law.within(exposed_s)
        away = (self.mean_hit.servers + self.mean_hit.trainers) / self.nodes * followed
        return 1 / (1 + (1 + away / 2) * (away - until_s / mtbf_s))

    @cached_property
    def mean_hit(self) -> MeanHit:
        """The nodes that one failure takes down on average."""
        return self.process.mean_hit

    @property
    def silent_mtbf_s(self) -> float:
        """Mean training between silent faults, s; infinite for none."""
        silent = self.spec.silent
        return math.inf if silent is None else silent.expected_s

    def mean_time_s(
        self,
        part: Part,
        otherwise_s: float,
        in_place: Collection[Severity] = (),
        fails: float = 0,
    ) -> float:
        """Return the mean time that a part of a failure takes, s.

        `otherwise_s`: of causes that do not say it. `in_place`: severities that have the part only
        if a restart fails, which happens with the probability `fails`.
        """
        weight_s = weights = 0.0
        for each in self.spec.causes or ():
            own = getattr(each, part)
            weight = (each.share or 0.0) * (fails if each.severity in in_place else 1.0)
            weights += weight
            weight_s += weight * mean_s(otherwise_s if own is None else own)
        return weight_s / weights if weights else otherwise_s
