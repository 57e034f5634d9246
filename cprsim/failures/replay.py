"""A failure log played to a job: unchanged, or from a random start on random nodes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from cprsim.basics.streams import Cause, stream
from cprsim.errors import LogError
from cprsim.failures.cohorts import ReplayCohort, SeverityRows
from cprsim.failures.hits import Hit, MeanHit
from cprsim.failures.logs.attendance import Attendance
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.readers import READERS
from cprsim.failures.logs.source import LogSource
from cprsim.failures.processes import Process, kinds_of
from cprsim.failures.shared import CohortStreams
from cprsim.failures.spec import Failures
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.job.platform import Cluster
from cprsim.job.severity import SEVERITIES, Severity


class TraceReplay(Process):
    """A log of the very nodes of the cluster: time 0 of the log is time 0 of the job.

    A log that ends before `useful_time_s` has watched the job for as long.
    Severities are drawn by weights, given by the log, or all `node`.

    Raises
    ------
    LogError
        If the log names a node that the cluster doesn't have, or has severities as well as weights.
    """

    def __init__(
        self, log: FailureLog, spec: Failures, cluster: Cluster, useful_time_s: float
    ) -> None:
        if spec.severity is not None and log.severities is not None:
            raise LogError(
                f"{spec.trace}: its column severity says itself what survives; leave "
                "failures.severity out, or the column"
            )
        self._log, self._spec, self.cluster = log, spec, cluster
        self.kinds = kinds_of(spec.severity)
        self._times_s, hits = _together(log.times_s.tolist(), self._nodes(), cluster)
        self._hits = hits if log.severities is None else self._as_told(hits, log.severities)
        self._watched_s = max(self._times_s[-1], useful_time_s)

    def _as_told(self, hits: list[Hit], severities: Sequence[Severity]) -> list[Hit]:
        """Each hit with the worst severity of its instant; one of the cluster takes every node."""
        cluster, worst = self.cluster, dict[float, Severity]()
        for at_s, each in zip(self._log.times_s.tolist(), severities, strict=True):
            worst[at_s] = max(worst.get(at_s, each), each, key=SEVERITIES.index)
        everyone = tuple(range(cluster.parameter_servers)), tuple(range(cluster.trainers))
        return [
            Hit(*everyone, severity) if severity == "cluster" else hit._replace(severity=severity)
            for hit, severity in zip(hits, worst.values(), strict=True)
        ]

    def _nodes(self) -> list[int]:
        """Numbers of the failed nodes; trainers come after the servers."""
        log, servers = self._log, self.cluster.parameter_servers
        trainers, struck = self.cluster.trainers, []
        for row, node in enumerate(log.nodes.tolist()):
            kind = log.kinds[row] if log.kinds is not None else None
            limit = {None: servers + trainers, "trainer": trainers}.get(kind, servers)
            if node >= limit:
                what = "node" if kind is None else kind.replace("_", " ")
                raise LogError(
                    f"{self._spec.trace}: names {what} {node}, but the cluster has {limit} "
                    f"(0 to {limit - 1})"
                )
            struck.append(servers + node if kind == "trainer" else node)
        return struck

    def _drawn(self, streams: CohortStreams, severities: SeverityRows | None) -> ReplayCohort:
        """The same failures in each replication, but for severities that are drawn."""
        return ReplayCohort(self._play, streams.key, severities)

    def _play(self, _seed: int, _replication: int) -> AbsoluteTimeline:
        return AbsoluteTimeline(self._times_s, self._hits)

    @property
    def begins_s(self) -> float:
        """When its first failure is, s of the job."""
        return self._times_s[0]

    @property
    def ends_s(self) -> float:
        """When its last failure is, s of the job."""
        return self._times_s[-1]

    @property
    def mtbf_s(self) -> float:
        """Time for each failure, s."""
        return self._watched_s / len(self._times_s)

    @property
    def mean_hit(self) -> MeanHit:
        """Return the mean nodes that a failure of the log takes down."""
        hits = self._hits
        return self._with_all(
            MeanHit(
                servers=sum(len(hit.servers) for hit in hits) / len(hits),
                trainers=sum(len(hit.trainers) for hit in hits) / len(hits),
                server_share=sum(bool(hit.servers) for hit in hits) / len(hits),
            )
        )

    @property
    def severity_shares(self) -> dict[Severity, float]:
        """Return shares by the weights; without them as in the log."""
        if self.kinds:
            return super().severity_shares
        found = [hit.severity for hit in self._hits]
        return {severity: found.count(severity) / len(found) for severity in SEVERITIES}


class Resampled(Process):
    """A log of a whole system: each replication is a job on random nodes from a random start.

    The log is a circle: what comes after its end is its beginning again, so that every start is as
    likely as any other and a long job never runs out of log (the circular bootstrap of Politis and
    Romano 1992). Where it starts and ends with a failure, a mean gap lies between the two.

    At each instant the job is on random nodes of those there: a node that came late takes no part
    before, and another takes the place of one that left. While fewer nodes are there than the job
    needs, the clock of the circle stops.

    Raises
    ------
    LogError
        If the system never has as many nodes as the cluster, or none of them fails then.
    """

    def __init__(self, log: FailureLog, spec: Failures, cluster: Cluster) -> None:
        self.cluster, self.kinds, path = cluster, kinds_of(spec.severity), spec.trace
        self._servers = cluster.parameter_servers
        self._nodes = cluster.parameter_servers + cluster.trainers
        if log.population is None:
            raise LogError(
                f"{path}: doesn't say how many nodes its system has, so no job is put on some of "
                "them; take a law that cprsim fit finds in it"
            )
        self._attendance = Attendance(log)
        most = self._attendance.most
        if self._nodes > most:
            at_once = "" if most == log.population else " at once"
            raise LogError(
                f"{path}: its system has {most} nodes{at_once}, the job needs {self._nodes}; "
                "choose a larger system or a smaller cluster"
            )
        self._start_s, self._system = log.start_s, log.population
        self._times_s, self._circle_s = self._attendance.clock_s(self._nodes)
        self._seen = self._attendance.whole_jobs(self._nodes) > 0
        if not self._seen.any():
            raise LogError(f"{path}: holds no failure while {self._nodes} nodes are there")

    def _drawn(self, streams: CohortStreams, severities: SeverityRows | None) -> ReplayCohort:
        """The failures that such jobs see."""
        return ReplayCohort(self._play, streams.key, severities)

    def _play(self, seed: int, replication: int) -> AbsoluteTimeline:
        rng, attendance = stream(seed, replication, Cause.REPLAY), self._attendance
        # Nodes that take a place once it is free are drawn only where there are some.
        drawn = self._nodes if attendance.there.all() else self._system
        place = attendance.places(rng.choice(self._system, drawn, replace=False))
        mine = (place >= 0) & (place < self._nodes) & self._seen
        start_s = self._start_s + rng.uniform(0.0, self._circle_s)
        times = (self._times_s[mine] - start_s) % self._circle_s
        order = np.argsort(times, kind="stable")
        nodes = place[mine][order].tolist()
        times_s, hits = _together(times[order].tolist(), nodes, self.cluster)
        return AbsoluteTimeline(times_s, hits, self._circle_s)

    @property
    def mtbf_s(self) -> float:
        """Time for each failure of such a job, s, on average over all choices of nodes."""
        return self._circle_s / self._attendance.failures_of(self._nodes)

    @property
    def mean_hit(self) -> MeanHit:
        """Return the mean nodes that a failure takes down, over all choices of nodes."""
        expected = self._attendance.failures_of(self._nodes)
        per_node = self._attendance.outages_a_node(self._nodes) / expected
        return self._with_all(
            MeanHit(
                servers=per_node * self._servers,
                trainers=per_node * (self._nodes - self._servers),
                server_share=self._attendance.failures_of(self._servers, self._nodes) / expected,
            )
        )


def _together(
    times: list[float], nodes: list[int], cluster: Cluster
) -> tuple[list[float], list[Hit]]:
    """Failures of single nodes, in order, those of the same instant together as one."""
    servers = cluster.parameter_servers
    struck: dict[float, set[int]] = {}
    for at_s, node in zip(times, nodes, strict=True):
        struck.setdefault(at_s, set()).add(node)
    return list(struck), [Hit.of(sorted(together), servers) for together in struck.values()]


def replay(spec: Failures, cluster: Cluster, useful_time_s: float) -> TraceReplay | Resampled:
    """Read the log that failures name, and play it to a job.

    Raises
    ------
    LogError
        If there is a log and it can't be read or played to this cluster.
    """
    path, reader = str(spec.trace), spec.reader or "csv"
    log = _read(
        LogSource(path, reader, spec.system, spec.window, columns=spec.columns, rules=spec.rules)
    )
    if not log.of_nodes:
        raise LogError(
            f"{path}: has no column of nodes, so there is nothing to replay on those of the "
            "cluster; name it in failures.columns, or use the law that `cprsim fit` finds"
        )
    if spec.exclude_worst:
        log = log.without_worst(spec.exclude_worst)
    if spec.coalesce_s is not None:
        log = log.coalesced(spec.coalesce_s)
    of_the_job = READERS[reader].of_the_job
    last_s = float(log.times_s[-1]) if of_the_job else log.span_s
    if last_s == 0:
        at = "second 0" if of_the_job else "one instant"
        raise LogError(
            f"{path}: its failures all strike at {at}; "
            "a mean time between failures needs a later one"
        )
    if of_the_job:
        return TraceReplay(log, spec, cluster, useful_time_s)
    return Resampled(log, spec, cluster)


def _read(source: LogSource) -> FailureLog:
    try:
        state = Path(source.path).stat()
    except OSError:
        return source.failures()  # which says what is wrong with it
    whole = _read_whole(replace(source, window=None), (state.st_mtime_ns, state.st_size))
    return whole if source.window is None else whole.part(source.window)


@lru_cache(maxsize=4)  # the points of a sweep replay the same log, or other windows of it
def _read_whole(source: LogSource, _state: tuple[int, int]) -> FailureLog:
    return source.failures()
