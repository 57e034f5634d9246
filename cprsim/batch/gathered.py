"""Random numbers of many runs, gathered in arrays."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT
from cprsim.batch.borrowed import records
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.machine import codes
from cprsim.machine.draws_row import DrawsRow
from cprsim.scenario import Scenario
from cprsim.sim.draws import Draw, DrawHits, Kind, listed_of

_LEAST = 8


class Gathered:
    """Blocks of numbers, and the places of the numbers of each replication; a `Sink`.

    What is added is for the replications in `place`, as many numbers of each kind as `sizes` has,
    by status.
    """

    def __init__(self, count: int) -> None:
        self.rows = records(DrawsRow, count)
        self.place, self.sizes = slice(0, count), dict[int, int]()
        self._numbers, self._choices = _Blocks(float), _Blocks(np.int32)

    def drawn(self) -> tuple[Any, NDArray[np.float64], NDArray[np.int32]]:
        """Return a `DrawsRow` for each replication, and the numbers and choices at its places."""
        return self.rows, self._numbers.all(), self._choices.all()

    def put(self, **columns: Any) -> None:
        """Set columns to values."""
        for name, value in columns.items():
            self.rows[name][self.place] = value

    def add(
        self, to: Kind, column: str, counted: str | None, status: int | None, draw: Draw
    ) -> None:
        """Take real numbers, or nodes or severities (choices)."""
        block = draw(self._size(status))
        stride = block.size // max(len(block), 1)
        blocks = self._numbers if to == "numbers" else self._choices
        self.put(**{column: blocks.append(block) + stride * np.arange(len(block))})
        if counted is not None:
            self.put(**{counted: block.shape[1]})

    def _size(self, status: int | None) -> int:
        return 0 if status is None else self.sizes[status]

    def add_hits(self, status: int | None, draw: DrawHits) -> None:
        """Take nodes hit by each failure, in lists of different lengths."""
        drawn = draw(self._size(status))
        self.put(hits=[self._in_a_row(each) for each in drawn], victim_count=len(drawn[0]))

    def add_logs(self, timelines: Sequence[AbsoluteTimeline], servers: int) -> None:
        """Take failures at fixed times; replications of an unshifted log share them."""
        known: dict[int, tuple[int, int]] = {}
        for place, timeline in enumerate(timelines, self.place.start):
            own, times_s = self.rows[place], timeline.times_s
            if id(times_s) not in known:
                gaps = self._numbers.append(np.array(times_s))
                known[id(times_s)] = gaps, self._in_a_row(listed_of(timeline, servers))
            own.gaps, own.hits = known[id(times_s)]
            own.gap_count, own.circle_s = len(times_s), timeline.period_s

    def _in_a_row(self, lists: Sequence[Sequence[int]]) -> int:
        """Add lists one after the other; return the place of a table of their places."""
        first = self._choices.append(np.array([each for told in lists for each in told], np.int32))
        return self._choices.append(first + np.cumsum([0, *map(len, lists)])[:-1])


class _Blocks:
    """Blocks of numbers one after the other."""

    def __init__(self, kind: Any) -> None:
        self._kind, self._blocks, self._count = kind, [np.zeros(1, kind)], 1

    def append(self, block: NDArray[Any]) -> int:
        """Add a block; return the place of its first number."""
        self._blocks.append(block.astype(self._kind, copy=False).ravel())
        self._count += block.size
        return self._count - block.size

    def all(self) -> NDArray[Any]:
        """Return all of them."""
        return np.concatenate(self._blocks)


def first_sizes(scenario: Scenario) -> dict[int, int]:
    """Return how many numbers are drawn at first, by status.

    About one run of a cohort needs more.
    """
    model, useful_s = scenario.failure_model, scenario.job.useful_time_s
    failures = useful_s / model.mtbf_s
    most = _doubled(failures + 4 * math.sqrt(failures) + 2)
    bursts, storage = scenario.failures.bursts, scenario.storage
    sizes = dict.fromkeys(range(codes.MORE_GAPS, codes.MORE_ROOM), most)
    sizes[codes.MORE_LIVES] = _generations(failures / model.nodes, model.nodes)
    sizes[codes.MORE_VOIDS] = 64
    sizes |= dict.fromkeys((codes.MORE_STARTS, codes.MORE_NOTICES), most)
    if scenario.failures.notice is not None:
        alarms = useful_s * scenario.failures.notice.false_alarms_per_s
        sizes[codes.MORE_ALARMS] = _doubled(alarms + 4 * math.sqrt(alarms) + 2)
    if bursts is not None:
        sizes[codes.MORE_BURSTS] = _doubled(1.5 * useful_s / bursts.gap_s(model.nodes))
    if storage is not None and storage.outages is not None:
        sizes[codes.MORE_OUTAGES] = _doubled(1.5 * useful_s / storage.outages.every_s)
    if scenario.failures.silent is not None:
        sizes[codes.MORE_SILENT] = _doubled(1.5 * useful_s / scenario.failures.silent.expected_s)
    return sizes


def _doubled(count: float) -> int:
    """Return `_LEAST`, doubled until it is no less than `count`."""
    return _LEAST << max(math.ceil(math.log2(max(count, 1.0) / _LEAST)), 0)


def _generations(deaths: float, nodes: int) -> int:
    """Return how many lives to draw for each place, with `deaths` failures on average.

    About one run of a cohort has a node that needs more.
    """
    count, term, left = 1, math.exp(-deaths), 1 - math.exp(-deaths)
    while left * nodes > 1 / COHORT and count < 1000:
        term *= deaths / count
        left -= term
        count += 1
    return count + 1
