"""The progress of a running job, its time by cause, and its usable checkpoints."""

import math
import time
from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from cprsim.contract import Clock, rules
from cprsim.contract.ledger import CAUSES
from cprsim.errors import RunError
from cprsim.trainer.support import CheckedController


class MeasuredSpan(NamedTuple):
    """Seconds since the start that went to one cause; training may have been rolled back since."""

    cause: str
    start_s: float
    end_s: float

    @property
    def lasted_s(self) -> float:
        """The duration, s."""
        return self.end_s - self.start_s


class Stopwatch:
    """Wall-clock seconds by cause: exactly one cause at any time, so they add up.

    `seconds`: by cause; training that was rolled back is lost. `spans`: one after the other, as
    they came.
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


class UsableCheckpoints(list[UsableCheckpoint]):
    """The usable checkpoints of the job, the oldest first; `portions`: saved since it was whole."""

    portions = 0.0

    @property
    def last(self) -> UsableCheckpoint:
        """The newest."""
        return self[-1]

    def with_save(
        self, step: int, portion: float, trained_s: float, kept_from: int
    ) -> "UsableCheckpoints":
        """A copy with a save of that portion; it has what `at` needs from step `kept_from` on."""
        first = bisect_right(self, kept_from, key=lambda each: each.step) - 1
        found = UsableCheckpoints(self[max(first, 0) :])
        complete, found.portions = rules.next_round(self.portions, portion)
        whole = step if complete else self.last.whole
        found.append(UsableCheckpoint(step, whole, trained_s))
        return found

    def at(self, step: int) -> UsableCheckpoint:
        """The newest that is no later than a step: a load may return one older than wanted."""
        return next(each for each in reversed(self) if each.step <= step)

    def back_to(self, step: int) -> UsableCheckpoint:
        """The job has returned to `step`: later ones no longer count, nothing is older."""
        while self.last.step > step:
            self.pop()
        self.portions = 0.0
        self[-1] = self.last._replace(whole=self.last.step)
        return self.last


#: Shares of a step below which lies only rounding.
ROUNDING = 1e-9


def steps_to(progress_s: float, step_s: float) -> int:
    """Return the steps of `step_s` that it takes to reach a progress, or exceed it."""
    return math.ceil(progress_s / step_s - ROUNDING)


class RunningJob:
    """The state that the hooks of a job share.

    `step_s`: useful seconds of progress in a step. `step`: steps that are done. `executed`: those
    that were trained, rolled back or not; before it was started, too. `lost_steps`: steps since the
    last whole checkpoint, summed over failures of servers: (E4)'s numerator. `started`: whether
    this process has joined the job.
    """

    def __init__(self, controller: CheckedController, steps: int, step_s: float) -> None:
        self.controller = controller
        self.steps, self.step_s = steps, step_s
        self.watch = Stopwatch()
        # The initial state is one, unless the job had others before.
        self.usable = UsableCheckpoints([UsableCheckpoint(0, 0, 0.0)])
        self.step = self.executed = 0
        self.lost_steps = 0.0
        self.started = False
        self._asked_s = self._apart_s = self._beside_s = 0.0

    def did(self) -> None:
        """The next step is done."""
        self.step += 1
        self.executed += 1

    def lose(self, last: int) -> None:
        """Steps of a server are lost: from `last`, when all of it was saved, to now."""
        self.lost_steps += rules.lost_samples(self.step, last)

    @property
    def clock(self) -> Clock:
        """Wall clock and progress, as the controller gets them: both in seconds of the scenario.

        A step may take longer or shorter than there, such as where the scenario says "1 s a step".
        So training counts as its progress does, and all else by the pace of training so far.
        """
        progress_s = self.step * self.step_s
        if math.isclose(progress_s, self._asked_s, rel_tol=ROUNDING):
            progress_s = self._asked_s  # the wanted progress, to the last digit
        apart_s = self.watch.now_s - self.watch.training_s
        self._beside_s += max(apart_s - self._apart_s, 0.0) * self.pace
        self._apart_s = apart_s
        return Clock(self.executed * self.step_s + self._beside_s, progress_s)

    @property
    def pace(self) -> float:
        """Seconds of the scenario in one second of training, so far."""
        training_s = self.watch.training_s
        return self.executed * self.step_s / training_s if self.executed and training_s else 1.0

    @property
    def trained_s(self) -> float:
        """Seconds of training that count so far."""
        return self.watch.seconds["train"]

    def step_at(self, progress_s: float) -> int:
        """The first step that is not before a progress that the controller asks for, or the end."""
        self._asked_s = progress_s
        if progress_s >= self.steps * self.step_s * (1 - ROUNDING):
            return self.steps
        step = steps_to(progress_s, self.step_s)
        if step <= self.step:
            raise RunError(
                f"the controller wants to train until {progress_s} s, which is not ahead"
            )
        return step
