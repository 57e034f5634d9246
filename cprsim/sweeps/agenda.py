"""What is still to be done of a sweep: which task next, and when a point is finished."""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cprsim.contract.ledger import overhead
from cprsim.sim.engine import COLUMNS
from cprsim.sweeps.played import of_all
from cprsim.sweeps.points import Point
from cprsim.sweeps.reading import StoredBlock
from cprsim.sweeps.rule import Rule
from cprsim.sweeps.store import SweepStore
from cprsim.sweeps.tasks import Block, Fault, Task, unpack

_WALL = COLUMNS.index("wall")


@dataclass
class _Open:
    """A point that is being worked on; `first`: its tasks, but for the replications.

    `failed`: policies that failed, each in which block first, and why. Blocks are made into tasks
    one by one, as these are asked for: there may be no end of them.
    """

    point: Point
    first: Task
    blocks: Iterator[range] = field(default_factory=lambda: iter(()))
    coming: range | None = None
    left: set[int] = field(default_factory=set)
    overheads: list[NDArray[np.float64]] = field(default_factory=list)
    failed: dict[str, tuple[int, str]] = field(default_factory=dict)
    fault: tuple[int, str] | None = None
    counted: int = 0

    def offer(self, blocks: Iterator[range]) -> None:
        """Have these done, and no others; none where all policies have failed."""
        self.blocks = blocks if self.error is None else iter(())
        self.coming = next(self.blocks, None)

    def next(self) -> Task | None:
        """Its next task."""
        block = self.coming
        if block is None:
            return None
        self.coming = next(self.blocks, None)
        self.left.add(block.start)
        # Who failed in a later block alone may do so here for another reason, which counts then.
        given_up = sorted(name for name, (start, _) in self.failed.items() if start < block.start)
        return replace(self.first, start=block.start, stop=block.stop, given_up=tuple(given_up))

    def fail(self, start: int, errors: Mapping[str, str]) -> None:
        """A block has failed under some policies; if all have, no other block is wanted."""
        for policy, text in errors.items():
            self.failed[policy] = min((start, text), self.failed.get(policy, (start, text)))
        self._stop_where_it_failed()

    def lose(self, start: int, text: str) -> None:
        """Nothing came of a block; no other is wanted."""
        self.fault = min((start, text), self.fault or (start, text))
        self._stop_where_it_failed()

    def _stop_where_it_failed(self) -> None:
        if self.error is not None:
            self.offer(self.blocks)

    @property
    def errors(self) -> dict[str, str]:
        """Why it failed, by policy."""
        return {each: self.failed[each][1] for each in self.first.policies if each in self.failed}

    @property
    def error(self) -> str | None:
        """Why there is nothing of it: the fault of a block, or those of all policies."""
        if self.fault:
            return self.fault[1]
        if len(self.failed) < len(self.first.policies):
            return None
        return of_all(self.errors)

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return not self.left and self.coming is None


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is: points that are finished, failed ones among them, and the share done."""

    points: int
    of: int
    failed: int
    share: float


class Agenda:
    """Tasks in the order of the points, and of the blocks of each; what comes of them is kept.

    What is kept in the end does not depend on the order in which tasks end, as long as no worker
    fails: of several errors of a policy at a point the one of the first block counts, and the rule
    of how many replications are enough is asked after each block in order.
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
        self._ready: deque[_Open] = deque()
        self._opened: dict[str, _Open] = {}
        self._policies, self._seed, self._rule, self._results = tuple(policies), seed, rule, results
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
        while True:
            while self._ready:
                task = self._ready[0].next()
                if task is not None:
                    return task
                self._ready.popleft()
            point = next(self._waiting, None)
            if point is None:
                return None
            self._open(point)

    def done(self, task: Task, outcome: Block | Fault) -> None:
        """Take what came of a task."""
        opened = self._opened[task.key]
        opened.left.discard(task.start)
        if isinstance(outcome, Block):
            opened.fail(task.start, outcome.errors)
            self._results.add(task, outcome, opened.errors | outcome.errors)
            count = task.stop - task.start
            self._count(opened, count)
            if self._rule.half_width is not None:
                opened.overheads.append(_overheads(opened, outcome.packed, count))
                self._go_on(opened)
        else:
            opened.lose(task.start, outcome.text)
        self._close_if_finished(opened)

    def _open(self, point: Point) -> None:
        first = Task(point.key, str(point.scenario), self._policies, 0, 0, self._seed, self._engine)
        opened = self._opened[point.key] = _Open(point, first)
        if self._rule.half_width is None:
            self._open_all(opened)
        else:
            self._open_first(opened)
        self._close_if_finished(opened)

    def _open_all(self, opened: _Open) -> None:
        """All blocks that are missing, whichever these are."""
        kept = set()
        for block in self._results.blocks(opened.point.key, self._policies):
            kept.add(block.numbers.start)
            self._take(opened, block)
        self._offer(opened, (each for each in self._rule.blocks() if each.start not in kept))

    def _open_first(self, opened: _Open) -> None:
        """The first block that is missing: what is after it depends on it."""
        kept = self._results.blocks(opened.point.key, self._policies)
        for expected, block in zip(self._rule.blocks(), kept, strict=False):
            if block.numbers != expected:
                break
            self._take(opened, block)
            opened.overheads.append(_overheads(opened, block.packed, len(expected)))
        self._go_on(opened)

    def _take(self, opened: _Open, block: StoredBlock) -> None:
        """A block that there is already."""
        opened.fail(block.numbers.start, block.errors)
        self._count(opened, len(block.numbers))

    def _go_on(self, opened: _Open) -> None:
        block = self._rule.next_block(opened.overheads)
        if block is not None:
            self._offer(opened, iter([block]))

    def _offer(self, opened: _Open, blocks: Iterator[range]) -> None:
        opened.offer(blocks)
        self._ready.append(opened)

    def _close_if_finished(self, opened: _Open) -> None:
        if not opened.is_done:
            return
        self._results.finish(opened.point.key, opened.error, opened.counted)
        self._count(opened, self._rule.replications - opened.counted)
        self._finished += 1
        self._failed += opened.error is not None
        del self._opened[opened.point.key]

    def _count(self, opened: _Open, replications: int) -> None:
        opened.counted += replications
        self._counted += replications


def _overheads(opened: _Open, packed: Mapping[str, bytes], count: int) -> NDArray[np.float64]:
    """Of a block of so many, shape (policies, count); not a number for a policy that failed."""
    nothing = np.full(count, np.nan)
    policies = opened.first.policies
    walls_s = [unpack(packed[each])[_WALL] if each in packed else nothing for each in policies]
    found: NDArray[np.float64] = overhead(np.stack(walls_s), opened.point.useful_time_s)
    return found
