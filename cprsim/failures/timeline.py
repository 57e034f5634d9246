"""Failure timelines: drawn once per replication, replayed by every policy.

A timeline is what would happen; a cursor is one policy's way through it, since some failures
depend on when the job runs: a renewed clock starts when the policy's recovery lets it, a node's
life starts when the policy's replacement is placed. The draws are the same for all of them.
"""

import heapq
import math
from collections.abc import Sequence
from typing import Protocol

from cprsim.distributions import Distribution
from cprsim.failures.victims import Hit, Victims
from cprsim.streams import Cause, stream


class Cursor(Protocol):
    """One policy's way through a timeline. All times are wall-clock seconds, never decreasing."""

    next_s: float
    """When the next failure strikes; infinite if none does."""
    absorbed: int
    """Failures that fell into a downtime, when the job holds no nodes, and so did not strike."""

    def strike(self) -> Hit:
        """Take the failure at `next_s`; none other comes before `resume`."""

    def replace(self, hit: Hit, now_s: float) -> None:
        """The nodes that `hit` took down are placed anew at `now_s`."""

    def resume(self, now_s: float) -> None:
        """The job can be hit again from `now_s` on; a renewed clock starts."""


class Timeline(Protocol):
    """The failures of one replication."""

    def cursor(self) -> Cursor:
        """Start over at time 0 with the job running."""


class Draws:
    """Values of one law from one stream, drawn in blocks as they are asked for."""

    _BLOCK = 8

    def __init__(self, law: Distribution, seed: int, replication: int, cause: Cause) -> None:
        self._law = law
        self._rng = stream(seed, replication, cause)
        self._values: list[float] = []

    def __getitem__(self, index: int) -> float:
        while index >= len(self._values):
            # Doubling keeps the number of calls small; the sequence does not depend on blocks.
            size = max(self._BLOCK, len(self._values))
            self._values.extend(self._law.sample(self._rng, size).tolist())
        return self._values[index]


class Renewal:
    """Failures of the job as a whole, each gap counted from when the job runs again."""

    def __init__(self, gaps: Draws, victims: Victims) -> None:
        self.gaps = gaps
        self.victims = victims

    def cursor(self) -> Cursor:
        """Start over at time 0."""
        return _RenewalCursor(self)


class _RenewalCursor:
    def __init__(self, timeline: Renewal) -> None:
        self._timeline = timeline
        self._struck = 0
        self.next_s = timeline.gaps[0]
        self.absorbed = 0

    def strike(self) -> Hit:
        hit = self._timeline.victims[self._struck]
        self._struck += 1
        self.next_s = math.inf
        return hit

    def replace(self, hit: Hit, now_s: float) -> None:
        """Nothing to do: the clock is the job's, not a node's."""

    def resume(self, now_s: float) -> None:
        self.next_s = now_s + self._timeline.gaps[self._struck]


class Absolute:
    """Failures at wall-clock times that nothing moves: a replayed log, or exactly n of them.

    `hits[i]` is what the failure at `times_s[i]` (in order) takes down. With a finite `period_s`
    they come again and again, that much later each time.
    """

    def __init__(
        self, times_s: Sequence[float], hits: Sequence[Hit] | Victims, period_s: float = math.inf
    ) -> None:
        self.times_s = times_s
        self.hits = hits
        self.period_s = period_s

    def at_s(self, index: int) -> float:
        """Time of the `index`-th failure, infinite past the last."""
        count = len(self.times_s)
        if index < count:
            return self.times_s[index]
        lap, place = divmod(index, count) if count else (1, 0)
        return self.times_s[place] + lap * self.period_s if count else math.inf

    def hit(self, index: int) -> Hit:
        """What the `index`-th failure takes down."""
        return self.hits[index % len(self.times_s)]

    def cursor(self) -> Cursor:
        """Start over at time 0."""
        return _AbsoluteCursor(self)


class _AbsoluteCursor:
    def __init__(self, timeline: Absolute) -> None:
        self._timeline = timeline
        self._index = 0
        self.absorbed = 0
        self.next_s = timeline.at_s(0)

    def strike(self) -> Hit:
        hit = self._timeline.hit(self._index)
        self._index += 1
        self.next_s = math.inf
        return hit

    def replace(self, hit: Hit, now_s: float) -> None:
        """Nothing to do: the times are fixed."""

    def resume(self, now_s: float) -> None:
        # A recovery that ends and a failure at the same instant: the end comes first, so that
        # failure strikes. Only what lies strictly inside the downtime is absorbed.
        while self._timeline.at_s(self._index) < now_s:
            self._index += 1
            self.absorbed += 1
        self.next_s = self._timeline.at_s(self._index)


class NodeLives:
    """A life for every node and every replacement of it, indexed by (generation, node).

    Node i is parameter server i below `servers`, else trainer i - servers. Lives of one
    generation are one vector from a stream of their own, so a node's nth life does not depend on
    how many failures other nodes had before it.
    """

    def __init__(
        self, law: Distribution, servers: int, trainers: int, seed: int, replication: int
    ) -> None:
        self.servers = servers
        self.nodes = servers + trainers
        self._law = law
        self._key = (seed, replication)
        self._generations: list[list[float]] = []

    def life_s(self, generation: int, node: int) -> float:
        """Life of the `generation`-th node in place `node`, s."""
        while generation >= len(self._generations):
            rng = stream(*self._key, Cause.NODE_LIFE, len(self._generations))
            self._generations.append(self._law.sample(rng, self.nodes).tolist())
        return self._generations[generation][node]

    def cursor(self) -> Cursor:
        """Start over at time 0 with all nodes new."""
        return _NodeCursor(self)


class _NodeCursor:
    """Ages are wall time since a node was placed: only a replaced node starts new."""

    def __init__(self, lives: NodeLives) -> None:
        self._lives = lives
        self._generation = [0] * lives.nodes
        self._ends = [(lives.life_s(0, node), node) for node in range(lives.nodes)]
        heapq.heapify(self._ends)
        self._running = True
        self.absorbed = 0
        self.next_s = self._ends[0][0]

    def strike(self) -> Hit:
        at_s, ends, servers = self.next_s, self._ends, self._lives.servers
        self._running, self.next_s = False, math.inf
        nodes = [heapq.heappop(ends)[1]]
        while ends and ends[0][0] == at_s:  # lives that end together are one failure
            nodes.append(heapq.heappop(ends)[1])
        return Hit(
            tuple([node for node in nodes if node < servers]),
            tuple([node - servers for node in nodes if node >= servers]),
        )

    def replace(self, hit: Hit, now_s: float) -> None:
        for server in hit.servers:
            self._place(server, now_s)
        for trainer in hit.trainers:
            self._place(self._lives.servers + trainer, now_s)
        if self._running:
            self.next_s = self._ends[0][0]

    def resume(self, now_s: float) -> None:
        while self._ends and self._ends[0][0] < now_s:
            # It failed in the downtime and is replaced with the others, before the job goes on.
            _, node = heapq.heappop(self._ends)
            self.absorbed += 1
            self._place(node, now_s)
        self._running, self.next_s = True, self._ends[0][0] if self._ends else math.inf

    def _place(self, node: int, now_s: float) -> None:
        generation = self._generation[node] + 1
        self._generation[node] = generation
        heapq.heappush(self._ends, (now_s + self._lives.life_s(generation, node), node))
