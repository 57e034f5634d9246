"""The failures of one scenario: its timelines, and the few means that policies plan with."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cprsim.errors import LogError, ScenarioError
from cprsim.failures.log import FailureLog
from cprsim.failures.readers import read_log
from cprsim.failures.spec import Failures
from cprsim.failures.timeline import Absolute, Draws, NodeLives, Renewal, Timeline
from cprsim.failures.victims import Hit, Victims
from cprsim.platform import Cluster
from cprsim.streams import Cause, stream
from cprsim.workload import Job


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

    @cached_property
    def log(self) -> FailureLog:
        """The log to replay, its window cut out; read once."""
        assert self.spec.trace is not None
        log = read_log(self.spec.trace, self.spec.reader or "csv", self.spec.system)
        return log.window(*self.spec.window) if self.spec.window is not None else log

    @property
    def resampled(self) -> bool:
        """Whether a replication is a draw of nodes and start; otherwise the log as it stands."""
        return self.spec.reader not in (None, "csv")

    def check(self) -> None:
        """Raise `ScenarioError` where the failures don't fit the cluster or the log is no good."""
        counts = self.spec.hits.counts(self.cluster)
        kinds = ("parameter_servers", "trainers")
        faults = []
        for kind, count in zip(kinds, counts, strict=True):
            has = getattr(self.cluster, kind)
            if count > has:
                faults.append(
                    f"failures.hits.{kind}: {count} is more than cluster.{kind} = {has}; "
                    f"a failure can hit {has} at most"
                )
        weights = self.spec.hits.weights
        if weights is not None:
            for kind, count in zip(kinds, counts, strict=True):
                if getattr(weights, kind) > 0 and count == 0:
                    faults.append(
                        f"failures.hits.{kind}: 0 nodes of a kind with weight > 0 are no failure; "
                        "give it no weight, or hit at least one"
                    )
        if counts == (0, 0):
            faults.append("failures.hits: a failure that hits no node is none; hit at least one")
        if faults:
            raise ScenarioError(*faults)
        if self.spec.trace is not None:
            self._check_log()

    def _check_log(self) -> None:
        try:
            log = self.log
            last_s = log.span_s if self.resampled else self._replayed.times_s[-1]
        except LogError as error:
            raise ScenarioError(f"failures.trace: {error}") from None
        if last_s == 0:
            at = "one instant" if self.resampled else "second 0"
            raise ScenarioError(
                f"failures.trace: {self.spec.trace}: its failures all strike at {at}; "
                "a mean time between failures needs a later one"
            )
        if not self.resampled:
            return
        if log.population is not None and self.nodes > log.population:
            raise ScenarioError(
                f"failures.system: system {self.spec.system} has {log.population} nodes, the job "
                f"needs {self.nodes}; choose a larger system or a smaller cluster"
            )

    def timeline(self, seed: int, replication: int) -> Timeline:
        """The failures of one replication."""
        spec = self.spec
        if spec.trace is not None:
            return self._resample(seed, replication) if self.resampled else self._replayed
        if spec.per == "node":
            servers, trainers = self.cluster.parameter_servers, self.cluster.trainers
            return NodeLives(spec.law, servers, trainers, seed, replication)
        victims = Victims(spec.hits, self.cluster, seed, replication)
        if spec.exactly is not None:
            rng = stream(seed, replication, Cause.FAILURE_TIME)
            times = np.sort(rng.uniform(0.0, self.job.useful_time_s, spec.exactly)).tolist()
            return Absolute(times, victims)
        return Renewal(Draws(spec.law, seed, replication, Cause.FAILURE_TIME), victims)

    @cached_property
    def _replayed(self) -> Absolute:
        log, servers, trainers = self.log, self.cluster.parameter_servers, self.cluster.trainers
        struck = []
        for row, node in enumerate(log.nodes.tolist()):
            kind = log.kinds[row] if log.kinds is not None else None
            limit = {None: servers + trainers, "trainer": trainers}.get(kind, servers)
            if node >= limit:
                what = "node" if kind is None else kind.replace("_", " ")
                raise LogError(
                    f"{self.spec.trace}: names {what} {node}, but the cluster has {limit} "
                    f"(0 to {limit - 1})"
                )
            struck.append(servers + node if kind == "trainer" else node)
        return self._absolute(log.times_s.tolist(), struck)

    def _resample(self, seed: int, replication: int) -> Absolute:
        """A job on random nodes of the system, from a random start in the window.

        The window is a circle: what comes after its end is its beginning again, so that every
        start is as likely as any other and a long job never runs out of log (the circular
        bootstrap of Politis and Romano 1992).
        """
        log = self.log
        rng = stream(seed, replication, Cause.REPLAY)
        chosen = rng.choice(log.population or 0, self.nodes, replace=False)
        place = np.full(log.population or 0, -1)
        place[chosen] = np.arange(self.nodes)
        mine = place[log.nodes] >= 0
        start_s = log.start_s + rng.uniform(0.0, log.span_s)
        times = (log.times_s[mine] - start_s) % log.span_s
        order = np.argsort(times, kind="stable")
        nodes = place[log.nodes[mine]][order]
        return self._absolute(times[order].tolist(), nodes.tolist(), log.span_s)

    def _absolute(
        self, times: list[float], nodes: list[int], period_s: float = math.inf
    ) -> Absolute:
        """Failures of single nodes, those of the same instant together as one."""
        servers = self.cluster.parameter_servers
        struck: dict[float, set[int]] = {}
        for at_s, node in zip(times, nodes, strict=True):
            struck.setdefault(at_s, set()).add(node)
        hits = [
            Hit(
                tuple(sorted(node for node in together if node < servers)),
                tuple(sorted(node - servers for node in together if node >= servers)),
            )
            for together in struck.values()
        ]
        return Absolute(list(struck), hits, period_s)

    @cached_property
    def mtbf_s(self) -> float:
        """Mean time between failures of the job, s: of its law, its number, or its log."""
        spec = self.spec
        if spec.exactly is not None:
            return self.job.useful_time_s / spec.exactly if spec.exactly else math.inf
        if spec.trace is None:
            return spec.law.expected_s / (self.nodes if spec.per == "node" else 1)
        if not self.resampled:
            # A log that ends before the job does has watched it to its end.
            watched_s = max(self._replayed.times_s[-1], self.job.useful_time_s)
            return watched_s / len(self._replayed.times_s)
        return self.log.span_s * (self.log.population or 0) / (len(self.log) * self.nodes)

    @cached_property
    def servers_hit(self) -> float:
        """Mean number of parameter servers that one failure takes down."""
        drawn = self.spec.hits.counts(self.cluster)[0] * self.spec.hits.server_share()
        servers = self.cluster.parameter_servers
        return self._mean_of_failures(lambda hit: len(hit.servers), servers, drawn)

    @cached_property
    def trainers_hit(self) -> float:
        """Mean number of trainers that one failure takes down."""
        hits = self.spec.hits
        share = 1.0 if hits.weights is None else 1 - hits.server_share()
        drawn = hits.counts(self.cluster)[1] * share
        return self._mean_of_failures(lambda hit: len(hit.trainers), self.cluster.trainers, drawn)

    @cached_property
    def server_failure_share(self) -> float:
        """Share of failures that take down at least one parameter server."""
        hits = self.spec.hits
        drawn = hits.server_share() if hits.counts(self.cluster)[0] else 0.0
        servers = self.cluster.parameter_servers
        return self._mean_of_failures(lambda hit: bool(hit.servers), servers, drawn)

    def _mean_of_failures(self, of: Callable[[Hit], float], alike: int, drawn: float) -> float:
        """Mean of `of` over the failures of a log that is replayed as it stands.

        Where each failure hits one node, any of them alike, it is the share of nodes for which it
        is 1, `alike` in number; where victims are drawn, it is `drawn`.
        """
        if self.spec.trace is not None and not self.resampled:
            count = len(self._replayed.times_s)
            return sum(of(self._replayed.hit(i)) for i in range(count)) / count
        if self.spec.trace is not None or self.spec.per == "node":
            return alike / self.nodes
        return drawn
