"""Failures on purpose: when a timeline says so, processes are killed or stopped."""

import math
from collections.abc import Collection
from signal import SIGKILL, SIGSTOP, Signals
from typing import TYPE_CHECKING

import numpy as np

from cprsim.failures.hits import Hit
from cprsim.failures.timeline import Cursor
from cprsim.trainer.hooks.running_job import ROUNDING
from cprsim.trainer.lab.cluster import LocalCluster
from cprsim.trainer.lab.members import MemberSpec

if TYPE_CHECKING:
    from cprsim.trainer.lab.execution import Execution


class Strikes:
    """Carries out the failures of a timeline on a cluster, and counts them.

    They are due by the real clock, or pinned to steps. Pinned, they come before the step that their
    instant falls into, and only training takes time. So the same kills hit the same states on any
    machine, and the job of a simulator in which saves, loads and replacements take no time is the
    same as this one, if failures fall between steps.

    `job`: what is trained on the cluster, with its clock and the steps that it has executed.
    `spec`: of the processes: its section says which failures stop processes, or wait for a save or
    a load.

    `failures`: how many have struck. `struck`: how many processes they have hit.
    """

    def __init__(
        self, cluster: LocalCluster, cursor: Cursor, job: "Execution", spec: MemberSpec
    ) -> None:
        self._cluster, self._cursor, self._job = cluster, cursor, job
        self._spec, self._section = spec, spec.section
        self._step_s = spec.scenario.job.useful_time_s / spec.data.steps
        self._last_s = 0.0
        self._unplaced: set[int] = set()  # of those hit, who has not been placed again
        self._stopped = False  # no failure comes before the job can be hit again
        self._victims: set[int] = set()
        self._waiting: dict[str, Hit] = {}  # by what they are to strike in
        self.failures = 0
        self.struck = 0

    @property
    def wait_s(self) -> float:
        """The time to wait for the next one, s; infinite where waiting brings none."""
        if self._spec.pinned:
            return math.inf
        return max(self._cursor.next_s - self._job.watch.now_s, 0.0)

    @property
    def steps_ahead(self) -> float:
        """Steps that may be trained before the next one."""
        if not self._spec.pinned or self._cursor.next_s == math.inf:
            return math.inf
        return max(step_of(self._cursor.next_s, self._step_s) - self._job.executed, 0)

    @property
    def due(self) -> bool:
        """True if the next one strikes now."""
        return self.wait_s == 0 or self.steps_ahead == 0

    @property
    def unnoticed(self) -> set[int]:
        """Processes that were hit and have not been found dead yet."""
        return self._victims - self._cluster.dead

    def strike(self) -> None:
        """The next one strikes, or waits for what it is to strike in."""
        self._last_s = max(self._cursor.next_s, self._last_s)
        hit = self._cursor.strike()
        self._stopped = True
        draw, of_hang = np.random.default_rng((self._spec.seed, self.failures)).random(2)
        if draw < self._section.saving:
            self._waiting["save"] = hit
            return
        if draw < self._section.saving + self._section.loading:
            self._waiting["load"] = hit
        self._hit(hit, SIGSTOP if of_hang < self._section.hangs else SIGKILL)

    def saving(self) -> None:
        """A save is under way."""
        if hit := self._waiting.pop("save", None):
            self._hit(hit, SIGKILL)

    def replaced(self, members: set[int]) -> None:
        """Note that others have taken the places of these."""
        self._victims -= members

    def loading(self, members: Collection[int]) -> None:
        """The replacements of these are in their places, and load; the job waits for them."""
        new = self._unplaced.intersection(members)
        self._unplaced.difference_update(members)
        self._cursor.replace(self._cluster.hit(new), self._now_s)
        if self._spec.scenario.failures.during_recovery:
            self.recovered()
        if hit := self._waiting.pop("load", None):
            self._hit(hit, SIGKILL)

    def recovered(self) -> None:
        """The job can be hit again."""
        if self._stopped:
            self._stopped = False
            self._cursor.resume(self._now_s)

    @property
    def _now_s(self) -> float:
        pinned_s = self._job.executed * self._step_s
        return max(pinned_s if self._spec.pinned else self._job.watch.now_s, self._last_s)

    def _hit(self, hit: Hit, how: Signals) -> None:
        self.failures += 1
        victims = hit.nodes(self._cluster.trainer)
        self._unplaced.update(victims)
        for victim in victims:
            # A process that hangs already can't be hit again, nor a dead one.
            if victim not in self._victims and self._cluster.strike(victim, how):
                self._victims.add(victim)
                self.struck += 1


def step_of(instant_s: float, step_s: float) -> int:
    """Return the steps before that which an instant falls into."""
    return math.floor(instant_s / step_s + ROUNDING)
