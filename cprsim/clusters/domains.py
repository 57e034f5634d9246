"""Failures of whole racks and pods, and a job's way through them and its own failures."""

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import Cause, stream
from cprsim.clusters.spec import ClusterSpec, Domain
from cprsim.failures.hits import Hit
from cprsim.failures.timeline import Timeline
from cprsim.sim.cursor import cursor_of

#: Failures drawn at once.
_BLOCK = 64


class DomainFailure(NamedTuple):
    """The failure of a rack or a pod.

    `at_s`: when. `lasts_s`: until its nodes are back. `what`: what fails, such as `pod 1`. `racks`:
    its racks, by number.
    """

    at_s: float
    lasts_s: float
    what: str
    racks: range


class DomainFailures:
    """Failures of racks and pods of one replication, in order of time, as many as needed."""

    def __init__(self, spec: ClusterSpec, seed: int, replication: int) -> None:
        per_pod, pods, failures = spec.cluster.racks, spec.cluster.pods, spec.failures
        given = sorted(
            _shock(each.at_s, each.lasts_s, each.pod is None, each.pod or each.rack or 0, per_pod)
            for each in failures.events or ()
        )
        drawn = [
            _drawn(domain, of_rack, count, per_pod, seed, replication)
            for domain, of_rack, count in (
                (failures.rack, True, pods * per_pod),
                (failures.pod, False, pods),
            )
            if domain is not None
        ]
        self._coming = heapq.merge(given, *drawn)
        self._known: list[DomainFailure] = []

    def __getitem__(self, index: int) -> DomainFailure | None:
        """Return a shock by its number; None where there are not so many."""
        while index >= len(self._known):
            shock = next(self._coming, None)
            if shock is None:
                return None
            self._known.append(shock)
        return self._known[index]


def _shock(at_s: float, lasts_s: float, of_rack: bool, place: int, per_pod: int) -> DomainFailure:
    racks = range(place, place + 1) if of_rack else range(place * per_pod, (place + 1) * per_pod)
    return DomainFailure(at_s, lasts_s, f"{'rack' if of_rack else 'pod'} {place}", racks)


def _drawn(
    domain: Domain, of_rack: bool, count: int, per_pod: int, seed: int, replication: int
) -> Iterator[DomainFailure]:
    """Yield shocks of a Poisson process, of `count` racks or pods that are alike."""
    rng, at_s = stream(seed, replication, Cause.DOMAIN, int(of_rack)), 0.0
    while True:
        gaps_s = rng.exponential(domain.every_s / count, _BLOCK)
        places = rng.integers(count, size=_BLOCK)
        lasts = domain.lasts
        lasts_s = lasts.sample(rng, _BLOCK) if isinstance(lasts, Distribution) else [lasts] * _BLOCK
        for gap_s, place, last_s in zip(gaps_s, places, lasts_s, strict=True):
            at_s += float(gap_s)
            yield _shock(at_s, float(last_s), of_rack, int(place), per_pod)


class JobTimeline(Timeline):
    """A job's own failures with those of the racks that its nodes lie in, and the way through them.

    A shock stops the clock of the job's own failures, as any downtime does, and does not renew it.

    `start_s`: when the job starts; its own time counts from there. `racks`: the rack of each node,
    servers first; the scheduler moves them. `last`: the shock that struck last, if it was the last
    to strike. See `cprsim.failures.timeline.Cursor` for the rest.
    """

    def __init__(self, own: Timeline, shocks: DomainFailures, servers: int) -> None:
        self.own, self.shocks, self.servers = own, shocks, servers
        self.severities, self.row = own.severities, own.row
        self.start_s = 0.0
        self.racks: Sequence[int] = ()
        self.last: DomainFailure | None = None

    def cursor(self) -> "JobTimeline":
        """Return the way through the failures, at the job's start."""
        self._own: Any = cursor_of(self.own)
        self._passed = self._masked = 0
        self._shocked = self._paused = self._struck = False
        self._look(0.0)
        self._masked = 0  # what was before the job is not the job's
        return self

    @property
    def next_s(self) -> float:
        """Time of the next failure, s of the job."""
        return math.inf if self._struck or self._paused else min(self._own.next_s, self._shock_s)

    @property
    def absorbed(self) -> int:
        """Number of failures that hit no running node."""
        return int(self._own.absorbed) + self._masked

    @property
    def struck(self) -> int:
        """Number of the job's own failure that struck last."""
        return int(getattr(self._own, "struck", 0))

    def ahead(self) -> Hit:
        """Return the nodes that the next failure hits."""
        own: Hit
        if self._shock_s <= self._own.next_s:
            return self._hit()
        own = self._own.ahead()
        return own

    def strike(self) -> Hit:
        """Let the next failure strike; return the nodes that it hits."""
        self._struck = True
        if self._shock_s > self._own.next_s:
            self._shocked, self.last = False, None
            own: Hit = self._own.strike()
            return own
        hit, self.last = self._hit(), self.shocks[self._index]
        self.pause(self._shock_s)
        self._shocked = True
        self._passed = self._index + 1
        self._look(self._shock_s)
        return hit

    def replace(self, hit: Hit, now_s: float) -> None:
        """Replace the nodes that a failure hit."""
        self._own.replace(hit, now_s)

    def resume(self, now_s: float) -> None:
        """Let failures strike again after one."""
        self._struck = False
        if self._paused:
            self.go_on(now_s)
        elif not self._shocked:
            self._own.resume(now_s)
        self._look(now_s)

    def pause(self, now_s: float) -> None:
        """Stop the clock of failures."""
        if not self._paused:
            self._own.pause(now_s)
        self._paused = True

    def go_on(self, now_s: float) -> None:
        """Let the clock of failures run again."""
        self._struck = self._paused = False
        self._own.go_on(now_s)
        self._look(now_s)

    def _look(self, now_s: float) -> None:
        """Find the next shock that hits the job; those before `now_s` are masked."""
        racks = set(self.racks)
        index, found = self._passed, self.shocks[self._passed]
        while found is not None and found.at_s - self.start_s < now_s:
            self._masked += not racks.isdisjoint(found.racks)
            index += 1
            found = self.shocks[index]
        self._passed = index
        while found is not None and racks.isdisjoint(found.racks):
            index += 1
            found = self.shocks[index]
        self._index = index
        self._shock_s = math.inf if found is None else found.at_s - self.start_s

    def _hit(self) -> Hit:
        shock = self.shocks[self._index]
        assert shock is not None
        nodes = [node for node, rack in enumerate(self.racks) if rack in shock.racks]
        return Hit.of(nodes, self.servers)
