"""Where the time went, what is safe, and what was lost, as it comes about."""

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cprsim.contract import rules
from cprsim.contract.ledger import CAUSES


class MeasuredSpan(NamedTuple):
    """Seconds since the start that went to one cause; training may have been rolled back since."""

    cause: str
    start_s: float
    end_s: float

    @property
    def lasted_s(self) -> float:
        """How long it lasted."""
        return self.end_s - self.start_s


class ShardSave(NamedTuple):
    """What one server's part of a save took: to choose rows, to copy them, to write them."""

    step: int
    server: int
    size: int
    rows: int | None
    select_s: float
    gather_s: float
    write_s: float


class Stopwatch:
    """Wall-clock seconds by cause: exactly one cause at any time, so they add up.

    Attributes
    ----------
    seconds
        By cause; training that was rolled back is lost.
    spans
        One after the other, as they came.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(CAUSES, 0.0)
        self.spans: list[MeasuredSpan] = []
        self._cause = "train"
        self._start_s = self._since_s = time.monotonic()

    @property
    def now_s(self) -> float:
        """Since the start."""
        return time.monotonic() - self._start_s

    @property
    def training_s(self) -> float:
        """Seconds spent on training so far, lost ones as well."""
        running_s = time.monotonic() - self._since_s if self._cause == "train" else 0.0
        return self.seconds["train"] + self.seconds["lost"] + running_s

    def start(self) -> None:
        """Start from 0."""
        self._start_s = self._since_s = time.monotonic()

    def stop(self) -> None:
        """Book the last of the time."""
        self.switch(self._cause)

    def switch(self, cause: str) -> None:
        """From now on the time goes to `cause`."""
        now_s = time.monotonic()
        self.seconds[self._cause] += now_s - self._since_s
        start_s = self._since_s - self._start_s
        if self.spans and self.spans[-1].cause == self._cause:
            start_s = self.spans.pop().start_s
        self.spans.append(MeasuredSpan(self._cause, start_s, now_s - self._start_s))
        self._cause, self._since_s = cause, now_s

    def reattribute(self, cause: str) -> None:
        """Book the time since the last switch to `cause` instead."""
        self._cause = cause

    def go_on(self, earlier: Mapping[str, float]) -> None:
        """Add the seconds by cause that another process had counted before this one."""
        self.stop()
        for cause, spent_s in earlier.items():
            self.seconds[cause] += spent_s
        self._start_s -= sum(earlier.values())

    def undo(self, trained_s: float) -> None:
        """The job is back where it had trained for so long: what it trained since is lost."""
        self.stop()
        self.seconds["lost"] += self.seconds["train"] - trained_s
        self.seconds["train"] = trained_s


class UsableCheckpoint(NamedTuple):
    """A checkpoint of the job, which all members have stored.

    `whole`: the step at which as much had been saved as a full checkpoint holds. `trained_s`:
    seconds of training up to it.
    """

    step: int
    whole: int
    trained_s: float


class UsableCheckpoints:
    """The usable checkpoints of the job; its initial state is one, unless it had others before."""

    def __init__(self, before: Iterable[UsableCheckpoint] = (UsableCheckpoint(0, 0, 0.0),)) -> None:
        self._usable = list(before)
        self._portions = 0.0  # saved since the last whole one

    @property
    def last(self) -> UsableCheckpoint:
        """The newest."""
        return self._usable[-1]

    def __iter__(self) -> Iterator[UsableCheckpoint]:
        """The oldest first."""
        return iter(self._usable)

    def kept_from(self, step: int) -> "UsableCheckpoints":
        """A copy that has what `at` needs for that step and later ones."""
        first = bisect_right(self._usable, step, key=lambda each: each.step) - 1
        found = UsableCheckpoints(self._usable[max(first, 0) :])
        found._portions = self._portions
        return found

    def put(self, step: int, portion: float, trained_s: float) -> None:
        """All members have stored a save of that portion."""
        complete, self._portions = rules.r25_round(self._portions, portion)
        self._usable.append(
            UsableCheckpoint(step, step if complete else self.last.whole, trained_s)
        )

    def at(self, step: int) -> UsableCheckpoint:
        """The newest that is no later than a step: what was loaded may be older than asked for."""
        return next(each for each in reversed(self._usable) if each.step <= step)

    def back_to(self, step: int) -> UsableCheckpoint:
        """The job has returned to `step`: later ones are void, and nothing is older than this."""
        while self.last.step > step:
            self._usable.pop()
        self._portions = 0.0
        self._usable[-1] = self.last._replace(whole=self.last.step)
        return self.last
