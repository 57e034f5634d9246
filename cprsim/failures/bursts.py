"""The scenario's `[failures.bursts]` table: shocks that take down several nodes of a rack at once.

A marked Poisson process for each rack, independent of the nodes' lives: a Marshall-Olkin model of
common shocks (Marshall and Olkin 1967, J. Am. Stat. Assoc. 62, 30-44) in which the shocks of a
rack choose their victims again each time.
"""

import bisect
import itertools
import math
from collections import Counter
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from cprsim.basics.schema import PositiveSeconds, Section
from cprsim.basics.streams import Cause, stream
from cprsim.failures.hit import MeanHit, none_of
from cprsim.job.platform import Cluster

_EXAMPLE = "sizes = { 2 = 0.8, 3 = 0.2 }"


def _numbered(value: object) -> object:
    """The table with numbers for keys, which TOML and JSON only have as texts."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not a table; write e.g. {_EXAMPLE}")
    for key in value:
        text = str(key)
        if not (text.isascii() and text.isdecimal() and text == str(int(text)) and text != "0"):
            raise ValueError(
                f"{key!r} is no number of nodes: the keys are whole numbers >= 1, e.g. {_EXAMPLE}"
            )
    return {int(key): weight for key, weight in value.items()}


def _weighty(sizes: dict[int, float]) -> dict[int, float]:
    if not sizes:
        raise ValueError(f"is empty; write e.g. {_EXAMPLE}")
    if not any(sizes.values()):
        raise ValueError("at least one weight must be > 0")
    return dict(sorted(sizes.items()))


Sizes = Annotated[
    dict[int, Annotated[float, Field(ge=0)]],
    BeforeValidator(_numbered),
    AfterValidator(_weighty),
    Field(examples=[{"2": 0.8, "3": 0.2}]),
]


class Bursts(Section):
    """Several nodes of one rack that fail together, in addition to single failures.

    `mean`: time between two bursts of a rack on average; they are a Poisson process in wall-clock
    time. `rack`: nodes of a rack; the servers, then the trainers, fill racks in their
    order, and the last rack may be smaller. `sizes`: weights of the numbers of nodes that a burst
    takes down, of which only the ratios count; where the last rack has fewer nodes, all of them.
    See docs/semantics.md.
    """

    mean_s: PositiveSeconds = Field(alias="mean")
    rack: Annotated[int, Field(ge=1, examples=[16])]
    sizes: Sizes

    @model_validator(mode="after")
    def _fit_a_rack(self) -> Self:
        largest = max(self.sizes)
        if largest > self.rack:
            raise ValueError(
                f"the size {largest} is more than rack = {self.rack}; "
                f"a burst takes down {self.rack} nodes of a rack at most"
            )
        return self

    def racks(self, nodes: int) -> int:
        """Return how many racks that many nodes fill."""
        return -(-nodes // self.rack)

    def gap_s(self, nodes: int) -> float:
        """Mean time between bursts of a cluster of that many nodes, s."""
        return self.mean_s / self.racks(nodes)

    def shares(self) -> dict[int, float]:
        """The share of bursts of each size."""
        most = max(self.sizes.values())  # weights may be too large to be added up
        weights = {size: weight / most for size, weight in self.sizes.items()}
        total = math.fsum(weights.values())
        return {size: weight / total for size, weight in weights.items()}

    def mean_hit(self, cluster: Cluster) -> MeanHit:
        """Return the mean nodes that a burst takes down if all nodes are up; exact.

        Of `size` nodes that are chosen among the m of a rack, s of them servers, the number of
        servers is hypergeometric.
        """
        servers, nodes = cluster.parameter_servers, cluster.parameter_servers + cluster.trainers
        firsts = range(0, nodes, self.rack)
        # Almost all racks are alike: all servers, or all trainers.
        alike = Counter(
            (min(self.rack, nodes - first), min(max(servers - first, 0), self.rack))
            for first in firsts
        )
        hit = down = with_servers = 0.0
        for (rack, own), count in alike.items():
            for size, share in self.shares().items():
                taken, weight = min(size, rack), share * count / len(firsts)
                down += weight * taken
                hit += weight * taken * (own / rack)
                with_servers += weight * (1.0 - none_of(own, rack, taken))
        return MeanHit(hit, down - hit, with_servers)


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
