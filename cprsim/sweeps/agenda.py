"""What is still to be done of a sweep: which task next, and when a point is finished."""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cprsim.contract.ledger import overhead
from cprsim.sim.engine import COLUMNS
from cprsim.sweeps.points import Point
from cprsim.sweeps.rule import Rule
from cprsim.sweeps.store import SweepStore
from cprsim.sweeps.tasks import Block, Fault, Task, unpack

_WALL = COLUMNS.index("wall")


@dataclass
class _Open:
    """A point that is being worked on."""

    point: Point
    left: set[int]
    overheads: list[NDArray[np.float64]] = field(default_factory=list)
    fault: tuple[int, str] | None = None
    counted: int = 0


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is: points that are finished, failed ones among them, and the share done."""

    points: int
    of: int
    failed: int
    share: float


class Agenda:
    """Tasks in the order of the points, and of the blocks of each; what comes of them is kept.

    What is kept in the end does not depend on the order in which tasks end: of several faults of a
    point the one of its first block counts, and the rule of how many replications are enough is
    asked after each block in order.
    """

    def __init__(
        self,
        points: Sequence[Point],
        finished: Collection[str],
        policies: Sequence[str],
        seed: int,
        rule: Rule,
        results: SweepStore,
        engine: str = "auto",
    ) -> None:
        self._points = list({point.key: point for point in points if point.key}.values())
        self._waiting = iter([p for p in self._points if p.key not in finished])
        self._ready: deque[Task] = deque()
        self._opened: dict[str, _Open] = {}
        self._policies, self._seed, self._rule, self._results = policies, seed, rule, results
        self._engine = engine
        self._finished = len(finished)
        self._failed = 0
        self._counted = len(finished) * rule.replications
        self._unreadable = sum(not point.key for point in points)

    @property
    def progress(self) -> SweepProgress:
        """How far it is."""
        total = len(self._points) * self._rule.replications
        return SweepProgress(
            self._finished + self._unreadable,
            len(self._points) + self._unreadable,
            self._failed + self._unreadable,
            self._counted / total if total else 1.0,
        )

    def next(self) -> Task | None:
        """The next task, or None as long as there is none."""
        while not self._ready:
            point = next(self._waiting, None)
            if point is None:
                return None
            self._open(point)
        return self._ready.popleft()

    def done(self, task: Task, outcome: Block | Fault) -> None:
        """Take what came of a task."""
        opened = self._opened[task.key]
        opened.left.discard(task.start)
        if isinstance(outcome, Block):
            self._results.add(task, outcome)
            self._count(opened, task.stop - task.start)
            if self._rule.half_width is not None:
                opened.overheads.append(_overheads(opened.point, outcome.packed))
                self._go_on(opened)
        else:
            self._fail(opened, task.start, outcome.text)
        self._close_if_finished(opened)

    def _open(self, point: Point) -> None:
        kept = self._results.packed(point.key, self._policies)
        missing = [block for block in self._rule.blocks() if block.start not in kept]
        opened = self._opened[point.key] = _Open(point, set())
        stops = {block.start: block.stop for block in self._rule.blocks()}
        self._count(opened, sum(stops[start] - start for start in kept))
        if self._rule.half_width is None:
            for block in missing:
                self._add(opened, block)
        else:
            opened.overheads = [_overheads(point, kept[start]) for start in sorted(kept)]
            self._go_on(opened)
        self._close_if_finished(opened)

    def _go_on(self, opened: _Open) -> None:
        block = self._rule.next_block(opened.overheads)
        if block is not None:
            self._add(opened, block)

    def _add(self, opened: _Open, block: range) -> None:
        point = opened.point
        opened.left.add(block.start)
        self._ready.append(
            Task(
                point.key,
                point.scenario,
                tuple(self._policies),
                block.start,
                block.stop,
                self._seed,
                self._engine,
            )
        )

    def _fail(self, opened: _Open, start: int, text: str) -> None:
        if opened.fault is None or start < opened.fault[0]:
            opened.fault = (start, text)
        key = opened.point.key
        dropped = {task.start for task in self._ready if task.key == key}  # all of them later
        self._ready = deque(task for task in self._ready if task.key != key)
        opened.left -= dropped

    def _close_if_finished(self, opened: _Open) -> None:
        if opened.left:
            return
        self._results.finish(opened.point.key, opened.fault[1] if opened.fault else None)
        self._count(opened, self._rule.replications - opened.counted)
        self._finished += 1
        self._failed += opened.fault is not None
        del self._opened[opened.point.key]

    def _count(self, opened: _Open, replications: int) -> None:
        opened.counted += replications
        self._counted += replications


def _overheads(point: Point, packed: Sequence[bytes]) -> NDArray[np.float64]:
    """Of a block, shape (policies, replications)."""
    walls_s = np.stack([unpack(each)[_WALL] for each in packed])
    found: NDArray[np.float64] = overhead(walls_s, point.useful_time_s)
    return found
