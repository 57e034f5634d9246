"""Failures of single nodes, each of which has a life, and of several of them at once."""

import heapq
import math
from collections.abc import Iterable, Set

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.shared import SharedDraws
from cprsim.basics.streams import COHORT, Cause, stream
from cprsim.failures.bursts import Shocks
from cprsim.failures.frailty import Frailty
from cprsim.failures.hit import Hit
from cprsim.failures.severity import SeverityDraws
from cprsim.failures.timeline import Cursor


class Lives:
    """Lives of nodes and of their replacements, for the replications of a cohort.

    Those of one generation come from a stream of their own, so a node's nth life does not depend on
    how many failures other nodes had before it. The first generation is new at time 0, or of all
    ages if `aged`, as in a cluster that has long run. A node's pace is its own where there is a
    `frailty`. `key`: the seed and the cohort.
    """

    def __init__(
        self,
        law: Distribution,
        nodes: int,
        seed: int,
        cohort: int,
        aged: bool = False,
        shared: SharedDraws | None = None,
        frailty: Frailty | None = None,
    ) -> None:
        self.nodes = nodes
        self.key = (seed, cohort)
        self._law = law
        self._aged = aged
        self._shared = shared
        self._frailty = frailty
        self._generations: list[NDArray[np.float64]] = []

    def generation(self, number: int) -> NDArray[np.float64]:
        """Lives of the `number`-th nodes in all places, s, shape (COHORT, nodes).

        Of aged ones what is left.
        """
        while number >= len(self._generations):
            self._generations.append(self._paced(len(self._generations)))
        return self._generations[number]

    def _paced(self, number: int) -> NDArray[np.float64]:
        lives = self._drawn(number)
        if self._frailty is None:
            return lives
        return lives / self._frailty.factors(self.nodes, *self.key, number, self._shared)

    def _drawn(self, number: int) -> NDArray[np.float64]:
        place, size = (*self.key, Cause.NODE_LIFE, number), (COHORT, self.nodes)
        left = self._aged and number == 0
        if self._shared is not None:
            return self._shared.lives(self._law, place, size, left=left)
        draw = self._law.sample_left if left else self._law.sample
        return draw(stream(*place), size)


class NodeTimeline:
    """A life for every node and every replacement of it, in one replication.

    Node i is parameter server i below `servers`, else trainer i - servers. `shocks` end lives
    before their time, and so does a failure of the cluster, if `severities` has one.
    """

    def __init__(
        self,
        lives: Lives,
        row: int,
        servers: int,
        shocks: Shocks | None = None,
        severities: SeverityDraws | None = None,
    ) -> None:
        self.servers = servers
        self.nodes = lives.nodes
        self.shocks = shocks
        self.severities = severities
        self._lives, self._row = lives, row
        self._generations: list[list[float]] = []

    def life_s(self, generation: int, node: int) -> float:
        """Life of the `generation`-th node in place `node`, s; of an aged one what is left."""
        while generation >= len(self._generations):
            lives = self._lives.generation(len(self._generations))
            self._generations.append(lives[self._row].tolist())
        return self._generations[generation][node]

    def cursor(self) -> Cursor:
        """Start over at time 0 with the first generation."""
        alone = self.shocks is None and self.severities is None
        return _NodeCursor(self) if alone else _SharedCursor(self)


class _NodeCursor:
    """Ages are wall time since a node was placed: only a replaced node starts new."""

    def __init__(self, lives: NodeTimeline) -> None:
        self._lives = lives
        self._generation = [0] * lives.nodes
        self._ends = [(lives.life_s(0, node), node) for node in range(lives.nodes)]
        heapq.heapify(self._ends)
        self._running = True
        self.absorbed = 0
        self.next_s = self._ends[0][0]

    def ahead(self) -> Hit:
        nodes = sorted(node for at_s, node in self._ends if at_s == self.next_s)
        return Hit.of(nodes, self._lives.servers)

    def strike(self) -> Hit:
        at_s, ends = self.next_s, self._ends
        self._running, self.next_s = False, math.inf
        nodes = [heapq.heappop(ends)[1]]
        while ends and ends[0][0] == at_s:  # lives that end together are one failure
            nodes.append(heapq.heappop(ends)[1])
        return Hit.of(nodes, self._lives.servers)

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

    def pause(self, now_s: float) -> None:  # noqa: ARG002  (ages go on meanwhile)
        self._running, self.next_s = False, math.inf

    def go_on(self, now_s: float) -> None:
        self.resume(now_s)

    def _place(self, node: int, now_s: float) -> float:
        """Place a new node, and return when its life ends."""
        generation = self._generation[node] + 1
        self._generation[node] = generation
        end_s = now_s + self._lives.life_s(generation, node)
        heapq.heappush(self._ends, (end_s, node))
        return end_s


class _SharedCursor(_NodeCursor):
    """The same with bursts and failures of the cluster, which cut lives short.

    The end of a life that was cut short stays in the heap, unread.
    """

    def __init__(self, lives: NodeTimeline) -> None:
        super().__init__(lives)
        self._shocks, self._severities = lives.shocks, lives.severities
        self._struck = self._bursts = 0  # so many are over
        # Both are infinite while a node is down.
        self._placed_s = [0.0] * lives.nodes
        self._end_s = [lives.life_s(0, node) for node in range(lives.nodes)]
        self.next_s = self._earliest_s()

    def ahead(self) -> Hit:
        at_s, bursts = self.next_s, self._bursts
        burst = self._burst_at(at_s)
        self._bursts = bursts
        lives = {node for node, end_s in enumerate(self._end_s) if end_s == at_s}
        return self._graded(burst, lives, at_s)[0]

    def strike(self) -> Hit:
        at_s = self.next_s
        self._running, self.next_s = False, math.inf
        hit, nodes = self._graded(self._burst_at(at_s), self._lives_ending_at(at_s), at_s)
        self._struck += self._severities is not None
        for node in nodes if hit.severity != "cluster" else range(self._lives.nodes):
            self._placed_s[node] = self._end_s[node] = math.inf
        return hit

    def _graded(self, burst: Set[int], lives: Set[int], at_s: float) -> tuple[Hit, list[int]]:
        """What a failure takes down, and the nodes that it does so alone."""
        # A burst takes down who is up; where all were down before, they are hit once more.
        nodes = sorted(self._up(burst | lives, at_s) or burst)
        hit = Hit.of(nodes, self._lives.servers)
        severities = self._severities
        return (hit if severities is None else severities.grade(hit, self._struck)), nodes

    def replace(self, hit: Hit, now_s: float) -> None:
        super().replace(hit, now_s)
        if self._running:
            self.next_s = self._earliest_s()

    def resume(self, now_s: float) -> None:
        while (at_s := self._earliest_s()) < now_s:
            burst, lives = self._burst_at(at_s), self._lives_ending_at(at_s)
            self.absorbed += 1 if burst else len(lives)
            for node in self._up(burst | lives, at_s):
                self._place(node, now_s)
        self._running, self.next_s = True, at_s

    def _earliest_s(self) -> float:
        """When the next life ends or the next burst comes."""
        ends = self._ends
        while ends and ends[0][0] != self._end_s[ends[0][1]]:
            heapq.heappop(ends)
        burst_s = math.inf if self._shocks is None else self._shocks.at_s(self._bursts)
        return min(burst_s, ends[0][0]) if ends else burst_s

    def _burst_at(self, at_s: float) -> frozenset[int]:
        """Nodes of the bursts at this instant, which are over then."""
        nodes: frozenset[int] = frozenset()
        while self._shocks is not None and self._shocks.at_s(self._bursts) == at_s:
            nodes |= self._shocks.nodes(self._bursts)
            self._bursts += 1
        return nodes

    def _lives_ending_at(self, at_s: float) -> frozenset[int]:
        """Nodes whose lives end at this instant; their ends leave the heap."""
        nodes = set()
        while self._ends and self._ends[0][0] == at_s:
            _, node = heapq.heappop(self._ends)
            if self._end_s[node] == at_s:
                nodes.add(node)
        return frozenset(nodes)

    def _up(self, nodes: Iterable[int], at_s: float) -> set[int]:
        """Those that were there at this instant: neither down nor placed after it."""
        return {node for node in nodes if self._placed_s[node] <= at_s}

    def _place(self, node: int, now_s: float) -> float:
        end_s = super()._place(node, now_s)
        self._placed_s[node], self._end_s[node] = now_s, end_s
        return end_s
