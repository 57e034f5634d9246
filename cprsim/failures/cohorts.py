"""Failures of the replications of a cohort, drawn together: when, which nodes, of which kind."""

import bisect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.laws import Floats
from cprsim.basics.streams import COHORT, Cause, stream
from cprsim.failures.bursts import Bursts
from cprsim.failures.causes import FailureCause, Part
from cprsim.failures.hits import Hit, Hits
from cprsim.failures.shared import CohortNumbers, CohortStreams
from cprsim.failures.spec import Failures
from cprsim.failures.timeline import AbsoluteTimeline, DrawnTimeline
from cprsim.job.platform import Cluster
from cprsim.job.severity import SEVERITIES

Ints = NDArray[np.intp]
_STREAMS: Final[dict[Part, Cause]] = {"detect": Cause.DETECT, "repair": Cause.CAUSE_REPAIR}


# --- Kinds of failures ---------------------------------------------------------------------------


class SeverityRows:
    """The kinds of failures, causes or severities, for the replications of a cohort."""

    def __init__(
        self, kinds: Sequence[FailureCause], cluster: Cluster, streams: CohortStreams
    ) -> None:
        self.kinds, self.cluster, self._streams = kinds, cluster, streams
        self._below = np.array(list(itertools.accumulate(each.share or 0.0 for each in kinds)))
        self._severities = np.array([SEVERITIES.index(each.severity) for each in kinds])
        self._uniform = streams.uniform(Cause.SEVERITY)
        self._times: dict[tuple[Part, int], CohortNumbers] = {}

    def causes(self, rows: Ints, failures: int) -> Ints:
        """Places in `kinds` of so many failures of some rows, shape (rows, failures)."""
        # Rounding may leave the last share a little below one.
        at = self._uniform.of(rows, failures) * self._below[-1]
        return np.asarray(np.searchsorted(self._below, at, side="right"))

    def of_failures(self, rows: Ints, failures: int) -> Ints:
        """Places in `SEVERITIES` of so many failures of some rows, shape (rows, failures)."""
        return np.asarray(self._severities[self.causes(rows, failures)])

    def has(self, part: Part) -> bool:
        """Return whether some of the kinds say how long that part takes."""
        return any(getattr(each, part) is not None for each in self.kinds)

    def times_s(self, part: Part, rows: Ints, failures: int, otherwise_s: float) -> Floats:
        """Return how long a part of failures of some rows takes, s, shape (rows, failures).

        `otherwise_s`: of kinds that do not say it.
        """
        causes = self.causes(rows, failures)
        found = np.full(causes.shape, otherwise_s)
        for place, kind in enumerate(self.kinds):
            time, own = getattr(kind, part), causes == place
            if isinstance(time, Distribution):
                at = part, place
                if at not in self._times:
                    self._times[at] = self._streams.durations(time, _STREAMS[part], place)
                found[own] = self._times[at].of(rows, failures)[own]
            elif time is not None:
                found[own] = time
        return found


# --- Failures of the job -------------------------------------------------------------------------


class VictimRows:
    """The nodes that each failure hits, chosen at random, for the replications of a cohort.

    Failure j of row i takes down `servers[i, j]` and `trainers[i, j]`, different ones in order.
    Where kinds are drawn by weight, it is one kind or the other, as `of_servers[i, j]` says.
    """

    _FIRST = 8

    def __init__(
        self, hits: Hits, cluster: Cluster, streams: CohortStreams, entity: int = 0
    ) -> None:
        self._nodes = (cluster.parameter_servers, cluster.trainers)
        self.counts = hits.counts(cluster)
        self._server_share = hits.server_share()
        self._streams, self._entity = streams, entity
        self._rng: np.random.Generator | None = None
        self.of_servers: NDArray[np.bool_] | None = None
        if hits.weights is not None:
            self.of_servers = np.empty((COHORT, 0), np.bool_)
        self.servers, self.trainers = (np.empty((COHORT, 0, k), np.int32) for k in self.counts)

    @classmethod
    def of(cls, hits: Hits, cluster: Cluster, streams: CohortStreams) -> "VictimRows":
        """Return those of all scenarios that draw the same ones."""
        counts, share = hits.counts(cluster), hits.server_share()
        nodes = cluster.parameter_servers, cluster.trainers
        # Of a kind that loses none, nothing is drawn.
        drawn_of = tuple((k, n) if k else (0, 0) for k, n in zip(counts, nodes, strict=True))
        what = "victims", drawn_of, hits.weights is not None, share
        numbers = COHORT * cls._FIRST * (1 + sum(counts))
        return streams.kept(what, lambda: cls(hits, cluster, streams), numbers)

    def upto(self, failures: int) -> "VictimRows":
        """Return itself, with at least so many failures of each replication drawn."""
        while self.servers.shape[1] < failures:
            if self._rng is None:
                self._rng = self._streams.stream(Cause.VICTIM, self._entity)
            more = max(self._FIRST, self.servers.shape[1])
            if self.of_servers is not None:
                kinds = self._rng.random((COHORT, more)) < self._server_share
                self.of_servers = np.concatenate([self.of_servers, kinds], axis=1)
            servers, trainers = (
                _chosen(self._rng, nodes, count, (COHORT, more))
                for nodes, count in zip(self._nodes, self.counts, strict=True)
            )
            self.servers = np.concatenate([self.servers, servers], axis=1)
            self.trainers = np.concatenate([self.trainers, trainers], axis=1)
        return self

    def hit(self, row: int, index: int) -> Hit:
        """Return the nodes that the `index`-th failure of a replication takes down."""
        self.upto(index + 1)
        servers, trainers = self.servers[row, index], self.trainers[row, index]
        if self.of_servers is None:
            return Hit(tuple(servers.tolist()), tuple(trainers.tolist()))
        if self.of_servers[row, index]:
            return Hit(tuple(servers.tolist()), ())
        return Hit((), tuple(trainers.tolist()))


class CauseVictimRows:
    """The nodes that each failure hits, where some causes say whom they take down."""

    def __init__(self, hits: Hits, severities: SeverityRows, streams: CohortStreams) -> None:
        self._severities = severities
        self._rows = [
            VictimRows(kind.hits or hits, severities.cluster, streams, 1 + place)
            for place, kind in enumerate(severities.kinds)
        ]

    def hits(self, row: int, count: int) -> list[Hit]:
        """Return the nodes that each of the first failures of a replication takes down."""
        (causes,) = self._severities.causes(np.array([row]), count).tolist()
        return [self._rows[cause].hit(row, index) for index, cause in enumerate(causes)]


def _chosen(
    rng: np.random.Generator, nodes: int, count: int, shape: tuple[int, int]
) -> NDArray[np.int32]:
    """`count` different numbers below `nodes`, in order, for each place of `shape`.

    Each set is equally likely (R. W. Floyd's algorithm; Bentley and Floyd, CACM 30:9, 1987).
    """
    chosen = np.empty((*shape, count), np.int32)
    for i in range(count):
        last = nodes - count + i
        one = rng.integers(last + 1, size=shape, dtype=np.int32)
        taken = (chosen[..., :i] == one[..., np.newaxis]).any(axis=-1)
        chosen[..., i] = np.where(taken, last, one)
    chosen.sort(axis=-1)
    return chosen


class _Drawn:
    def timeline(self, row: int) -> DrawnTimeline:
        """Return the timeline of one replication."""
        return DrawnTimeline(self, row)


@dataclass(frozen=True)
class RenewalCohort(_Drawn):
    """Failures of the job as a whole, by the gaps between them.

    Each gap counts from when the job runs again.
    """

    gaps: CohortNumbers
    victims: VictimRows | CauseVictimRows
    severities: SeverityRows | None


@dataclass(frozen=True)
class InstantCohort(_Drawn):
    """Failures at `times_s`, shape (COHORT, failures), in order; each replication has as many."""

    times_s: Floats
    victims: VictimRows | CauseVictimRows
    severities: SeverityRows | None


# --- Failures of nodes ---------------------------------------------------------------------------


class Shocks:
    """The bursts of one replication: when, and which nodes. Drawn when they are needed.

    Times and nodes have a stream each, so that what a burst takes down does not move when it comes.
    """

    _BLOCK = 8

    def __init__(self, bursts: Bursts, nodes: int, seed: int, replication: int) -> None:
        self._gap_s = bursts.gap_s(nodes)
        self._nodes, self._rack, self._racks = nodes, bursts.rack, bursts.racks(nodes)
        self._sizes = list(bursts.shares())
        self._below = list(itertools.accumulate(bursts.shares().values()))
        self._clock = stream(seed, replication, Cause.BURST_TIME)
        self._victims = stream(seed, replication, Cause.BURST_VICTIM)
        self._times_s: list[float] = []
        self._struck: list[frozenset[int]] = []

    @property
    def most(self) -> int:
        """The most nodes that one takes down."""
        return max(self._sizes)

    def at_s(self, index: int) -> float:
        """Wall-clock time of the `index`-th burst, s."""
        while index >= len(self._times_s):
            # Racks in a superposition: the gaps are those of one process, as many times as fast.
            gaps_s = self._clock.exponential(self._gap_s, max(self._BLOCK, len(self._times_s)))
            for gap_s in gaps_s.tolist():
                last_s = self._times_s[-1] if self._times_s else 0.0
                self._times_s.append(last_s + gap_s)
        return self._times_s[index]

    def nodes(self, index: int) -> frozenset[int]:
        """The nodes that the `index`-th burst takes down; trainers come after the servers."""
        while index >= len(self._struck):
            self._struck.append(self._draw())
        return self._struck[index]

    def _draw(self) -> frozenset[int]:
        first = int(self._victims.integers(self._racks)) * self._rack
        nodes = min(self._rack, self._nodes - first)
        # Rounding may leave the last share a little below one.
        place = bisect.bisect(self._below, self._victims.random() * self._below[-1])
        size = min(self._sizes[place], nodes)
        chosen = self._victims.choice(nodes, size, replace=False)
        return frozenset(first + node for node in chosen.tolist())


class NodeCohort(_Drawn):
    """Failures of nodes by their lives, and of several at once.

    Node i is parameter server i below the number of these, else a trainer. Bursts end lives before
    their time, and so does a failure of the cluster.

    Lives of one generation come from a stream of their own, so a node's nth life does not depend on
    how many failures other nodes had before it. The first generation is new at time 0, or of all
    ages, as in a cluster that has long run. A node's pace is its own where there is a frailty.
    Where there are offenders, lives are those of good machines.
    """

    def __init__(
        self,
        spec: Failures,
        cluster: Cluster,
        streams: CohortStreams,
        severities: SeverityRows | None,
    ) -> None:
        self.cluster, self.severities = cluster, severities
        self._spec, self._streams = spec, streams
        self.bursts, self.offenders = spec.bursts, spec.offenders
        self.nodes = cluster.parameter_servers + cluster.trainers
        self._generations: list[Floats] = []
        self._states: list[Floats] = []

    def states(self, number: int) -> Floats:
        """Numbers from 0 to 1 that decide which of the `number`-th nodes are bad (rule 41).

        Shape (COHORT, nodes).
        """
        while number >= len(self._states):
            rng = self._streams.stream(Cause.OFFENDER, len(self._states))
            self._states.append(rng.random((COHORT, self.nodes)))
        return self._states[number]

    def generation(self, number: int) -> Floats:
        """Lives of the `number`-th nodes in all places, s, shape (COHORT, nodes).

        Of aged ones what is left.
        """
        while number >= len(self._generations):
            self._generations.append(self._drawn(len(self._generations)))
        return self._generations[number]

    def _drawn(self, number: int) -> Floats:
        spec, streams = self._spec, self._streams
        left = spec.aged and number == 0
        lives = streams.lives(spec.law, Cause.NODE_LIFE, number, self.nodes, left=left)
        frail = spec.frail
        return lives if frail is None else lives / frail.factors(self.nodes, number, streams)

    def shocks(self, row: int) -> Shocks:
        """Return the bursts of one replication."""
        assert self.bursts is not None
        seed, cohort = self._streams.key
        return Shocks(self.bursts, self.nodes, seed, cohort * COHORT + row)


# --- Logs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReplayCohort:
    """A log, played to each replication by its number: `play(seed, replication)`."""

    play: Callable[[int, int], AbsoluteTimeline]
    key: tuple[int, int]
    severities: SeverityRows | None

    def timeline(self, row: int) -> AbsoluteTimeline:
        """Return the log as one replication sees it."""
        seed, cohort = self.key
        found = self.play(seed, cohort * COHORT + row)
        found.severities, found.row = self.severities, row
        return found
