"""How far a running job is, what is safe of it, and what has happened to it."""

import math

from cprsim.contract import Clock, rules
from cprsim.contract.interpreter import CheckedController
from cprsim.errors import RunError
from cprsim.trainer.coordinator.accounts import ShardSave, Stopwatch, UsableCheckpoints
from cprsim.trainer.coordinator.history import RowEvent

#: Shares of a step below which lies only rounding.
ROUNDING = 1e-9


def steps_to(progress_s: float, step_s: float) -> int:
    """How many steps of `step_s` it takes to a progress that lies ahead, or beyond it."""
    return math.ceil(progress_s / step_s - ROUNDING)


class RunningJob:
    """What the parts of an execution share.

    A step is `step_s` useful seconds of progress.

    Attributes
    ----------
    step
        Steps that are done.
    executed
        Steps that were trained, those that were rolled back as well; before it was started, too.
    lost_steps
        Steps since the last whole checkpoint, summed over failures of servers: (E4)'s numerator.
    dense_lost_steps
        Steps whose updates of the dense part were lost alone, while rows kept theirs.
    epoch
        Counted on whenever members load or copy rows, and when servers may still have to do what
        dead ones passed on. Connections wait for the ends of those of earlier epochs; once members
        have returned to a checkpoint, what is still under way in these is void.
    parts
        What servers' parts of saves took.
    """

    def __init__(self, controller: CheckedController, steps: int, step_s: float) -> None:
        self.controller = controller
        self.steps, self.step_s = steps, step_s
        self.watch, self.usable = Stopwatch(), UsableCheckpoints()
        self.row_events: list[RowEvent] = []
        self.parts: list[ShardSave] = []
        self.step = self.executed = self.lost_steps = self.dense_lost_steps = self.epoch = 0
        self._asked_s = self._apart_s = self._beside_s = 0.0

    def did(self) -> None:
        """The next step is done."""
        self.step += 1
        self.executed += 1

    def lose(self, last: int, step: int | None = None) -> None:
        """Steps of a server are lost: from `last`, when all of it was saved, to `step`, or now."""
        self.lost_steps += rules.r23_lost(self.step if step is None else step, last)

    def lose_dense(self, found: int) -> None:
        """The dense part has returned to the step `found`, alone."""
        self.dense_lost_steps += max(self.step - found, 0)

    def pls(self, servers: int) -> float:
        """(E4) of CPR, so far."""
        return self.lost_steps / rules.r23_all(self.steps, servers)

    def is_over(self, final_save: bool) -> bool:
        """Whether there is nothing to do behind the last step."""
        return rules.r4_is_over(final_save, self.usable.last.step, self.steps)

    def next_epoch(self) -> int:
        """Begin another epoch."""
        self.epoch += 1
        return self.epoch

    @property
    def clock(self) -> Clock:
        """Wall clock and progress, as the controller is told: both in seconds of the scenario.

        A step may take longer or shorter than there, such as where the scenario says "1 s a step".
        So training counts as its progress does, and all else by the pace of training so far.
        """
        progress_s = self.step * self.step_s
        if math.isclose(progress_s, self._asked_s, rel_tol=ROUNDING):
            progress_s = self._asked_s  # what was asked for, to the last digit
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
                f"the controller asked to train until {progress_s} s, which is not ahead"
            )
        return step
