"""Tasks of a sweep that are still to be done: the next one, and when a point is finished."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cprsim.contract.ledger import overhead
from cprsim.sim.engine import COLUMNS
from cprsim.sweeps.definition import Rule
from cprsim.sweeps.points import Point
from cprsim.sweeps.store import SweepStore
from cprsim.sweeps.tasks import Block, Fault, Task, unpack

_WALL = COLUMNS.index("wall")


def of_all(errors: Mapping[str, str]) -> str:
    """Return why a point failed at which all policies did, from the error of each."""
    return "\n".join(dict.fromkeys(errors.values()))


@dataclass
class PointInProgress:
    """A point that is being played.

    Parameters
    ----------
    point
        Which it is.
    first
        Its tasks, but for the numbers of their replications.
    blocks
        Those that are still to be played, made as they are asked for: there may be no end of them.
    flying
        Starts of the blocks that are being played.
    overheads
        Of its blocks in order, where a half-width says when they are enough.
    failed
        Policies that failed: the start of the first block in which each did, and why.
    fault
        The same of the point.
    counted
        Replications that are done.
    """

    point: Point
    first: Task
    blocks: Iterator[range] = field(default_factory=lambda: iter(()))
    coming: range | None = None
    flying: set[int] = field(default_factory=set)
    overheads: list[NDArray[np.float64]] = field(default_factory=list)
    failed: dict[str, tuple[int, str]] = field(default_factory=dict)
    fault: tuple[int, str] | None = None
    counted: int = 0

    def offer(self, blocks: Iterator[range]) -> None:
        """Have these blocks played next."""
        self.blocks, self.coming = blocks, next(blocks, None)

    def next(self) -> Task | None:
        """Return its next task, or None as long as there is none."""
        block = self.coming
        if block is None or self.error is not None:
            return None
        self.coming = next(self.blocks, None)
        self.flying.add(block.start)
        # One that failed only in a later block may fail here for another reason, which counts then.
        given_up = sorted(name for name, (start, _) in self.failed.items() if start < block.start)
        return replace(self.first, start=block.start, stop=block.stop, given_up=tuple(given_up))

    def take(self, numbers: range, block: Block) -> None:
        """Count a block that was played."""
        for policy, text in block.errors.items():
            error = (numbers.start, text)
            self.failed[policy] = min(error, self.failed.get(policy, error))
        self.counted += len(numbers)

    @property
    def errors(self) -> dict[str, str]:
        """Why it failed, by policy."""
        return {each: self.failed[each][1] for each in self.first.policies if each in self.failed}

    @property
    def error(self) -> str | None:
        """Why it has no results: the fault of a block, or those of all policies."""
        if self.fault:
            return self.fault[1]
        return of_all(self.errors) if len(self.failed) == len(self.first.policies) else None

    @property
    def is_done(self) -> bool:
        """Return whether nothing is left to do."""
        return not self.flying and (self.coming is None or self.error is not None)


@dataclass(frozen=True)
class SweepProgress:
    """Points of a sweep that are finished, failed ones among them, and the share done."""

    points: int
    of: int
    failed: int
    share: float


class TaskQueue:
    """Tasks in the order of the points, and of the blocks of each; their results are stored.

    What is stored in the end does not depend on the order in which tasks end, as long as no worker
    fails: of several errors of a policy at a point the one of the first block counts, and the rule
    of how many replications are enough is applied after each block in order.

    Parameters
    ----------
    points
        All of the sweep.
    text_of
        Returns the scenario of a point as JSON.
    policies, seed, rule, engine
        What is played at each point, how often, and by what.
    store
        What is done already, and where results go.
    """

    def __init__(
        self,
        points: Sequence[Point],
        text_of: Callable[[Point], str],
        policies: Sequence[str],
        seed: int,
        rule: Rule,
        store: SweepStore,
        engine: str = "auto",
    ) -> None:
        self._points = list({point.key: point for point in points if point.key}.values())
        finished: Collection[str] = store.finished()
        self._waiting = iter([point for point in self._points if point.key not in finished])
        self._ready: deque[PointInProgress] = deque()
        self._opened: dict[str, PointInProgress] = {}
        self._text_of, self._policies, self._seed = text_of, tuple(policies), seed
        self._rule, self._store, self._engine = rule, store, engine
        self._finished, self._failed = len(finished), 0
        self._unreadable = sum(not point.key for point in points)

    @property
    def progress(self) -> SweepProgress:
        """Points that are finished, and the share done."""
        most = self._rule.replications
        counted = self._finished * most + sum(each.counted for each in self._opened.values())
        return SweepProgress(
            self._finished + self._unreadable,
            len(self._points) + self._unreadable,
            self._failed + self._unreadable,
            counted / (len(self._points) * most) if self._points else 1.0,
        )

    def next(self) -> Task | None:
        """Return the next task, or None as long as there is none."""
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
        """Store the result of a task."""
        opened = self._opened[task.key]
        opened.flying.discard(task.start)
        if isinstance(outcome, Block):
            numbers = range(task.start, task.stop)
            opened.take(numbers, outcome)
            self._store.add(task, outcome, opened.errors | outcome.errors)
            if self._rule.half_width is not None:
                self._offer_next(opened, [(numbers, outcome)])
        else:
            fault = (task.start, outcome.text)
            opened.fault = min(fault, opened.fault or fault)
        self._close_if_done(opened)

    def _open(self, point: Point) -> None:
        text = self._text_of(point)
        first = Task(point.key, text, self._policies, 0, 0, self._seed, self._engine)
        opened = self._opened[point.key] = PointInProgress(point, first)
        kept = self._store.blocks(point.key)
        if self._rule.half_width is None:
            starts = set()
            for numbers, block in kept:
                starts.add(numbers.start)
                opened.take(numbers, block)
            opened.offer(each for each in self._rule.blocks() if each.start not in starts)
            self._ready.append(opened)
        else:
            in_order = []
            for expected, (numbers, block) in zip(self._rule.blocks(), kept, strict=False):
                if numbers != expected:
                    break
                opened.take(numbers, block)
                in_order.append((numbers, block))
            self._offer_next(opened, in_order)
        self._close_if_done(opened)

    def _offer_next(self, opened: PointInProgress, done: Sequence[tuple[range, Block]]) -> None:
        """Offer the one block that comes after these, if one is needed."""
        opened.overheads += [_overheads(opened, block.packed, len(each)) for each, block in done]
        block = self._rule.next_block(opened.overheads)
        if block is not None:
            opened.offer(iter([block]))
            self._ready.append(opened)

    def _close_if_done(self, opened: PointInProgress) -> None:
        if opened.is_done:
            self._store.finish(opened.point.key, opened.error, opened.counted)
            self._finished += 1
            self._failed += opened.error is not None
            del self._opened[opened.point.key]


def _overheads(
    opened: PointInProgress, packed: Mapping[str, bytes], count: int
) -> NDArray[np.float64]:
    """Return those of a block, shape (policies, count); not a number for a policy that failed."""
    nothing = np.full(count, np.nan)
    policies = opened.first.policies
    walls_s = [unpack(packed[each])[_WALL] if each in packed else nothing for each in policies]
    found: NDArray[np.float64] = overhead(np.stack(walls_s), opened.point.useful_time_s)
    return found
