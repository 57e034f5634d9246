"""Failures on purpose: when a timeline says so, processes are killed or stopped."""

import math
from collections.abc import Callable, Collection
from signal import SIGKILL, SIGSTOP, Signals

import numpy as np

from cprsim.failures.hits import Hit
from cprsim.failures.timeline import Cursor
from cprsim.trainer.hooks.running_job import ROUNDING
from cprsim.trainer.lab.cluster import LocalCluster, Name, numbers
from cprsim.trainer.section import TrainerSection


class FailureClock:
    """When failures are due: by the real clock, or pinned to steps.

    Pinned, they come before the step that their instant falls into, and only training takes time,
    `step_s` a step. So the same kills hit the same states on any machine, and the job of a
    simulator in which saves, loads and replacements take no time is the same as this one, if
    failures fall between steps.

    `now`: gives seconds, or if they are pinned the steps that were trained, those that were rolled
    back as well. `step_s`: of a step, s; None on the real clock.
    """

    def __init__(self, now: Callable[[], float], step_s: float | None = None) -> None:
        self._now, self._step_s = now, step_s

    def now_s(self) -> float:
        """The time that the timeline runs on."""
        return self._now() if self._step_s is None else self._now() * self._step_s

    def wait_s(self, next_s: float) -> float:
        """Return the time to wait for a failure at `next_s`; infinite where waiting brings none."""
        return max(next_s - self.now_s(), 0.0) if self._step_s is None else math.inf

    def steps_until(self, next_s: float) -> float:
        """Return the steps that may be trained before a failure at `next_s`."""
        if self._step_s is None or next_s == math.inf:
            return math.inf
        return max(math.floor(next_s / self._step_s + ROUNDING) - self._now(), 0)


class Strikes:
    """Carries out the failures of a timeline on a cluster, and counts them.

    `section`: which of them stop processes, or wait for a save or a load; `seed`: of what each
    does. `during_recovery`: whether one can strike while replacements load.

    `failures`: how many have struck. `struck`: how many processes they have hit.
    """

    def __init__(
        self,
        cluster: LocalCluster,
        cursor: Cursor,
        times: FailureClock,
        section: TrainerSection,
        seed: int,
        during_recovery: bool,
    ) -> None:
        self._cluster, self._cursor, self._times = cluster, cursor, times
        self._section, self._seed, self._during_recovery = section, seed, during_recovery
        self._last_s = 0.0
        self._unplaced: set[Name] = set()  # of those hit, who has not been placed again
        self._stopped = False  # no failure comes before the job can be hit again
        self._victims: set[Name] = set()
        self._when_saving: Hit | None = None
        self._when_loading: Hit | None = None
        self.failures = 0
        self.struck = 0

    @property
    def wait_s(self) -> float:
        """The time to wait for the next one, s."""
        return self._times.wait_s(self._cursor.next_s)

    @property
    def due(self) -> bool:
        """True if the next one strikes now."""
        return self.wait_s == 0 or self.steps_ahead == 0

    @property
    def steps_ahead(self) -> float:
        """Steps that may be trained before the next one."""
        return self._times.steps_until(self._cursor.next_s)

    @property
    def unnoticed(self) -> set[Name]:
        """Processes that were hit and have not been found dead yet."""
        return self._victims - self._cluster.dead

    @property
    def absorbed(self) -> int:
        """Failures that fell into downtimes."""
        return self._cursor.absorbed

    def strike(self) -> None:
        """The next one strikes, or waits for what it is to strike in."""
        self._last_s = max(self._cursor.next_s, self._last_s)
        hit = self._cursor.strike()
        self._stopped = True
        draw, of_hang = np.random.default_rng((self._seed, self.failures)).random(2)
        if draw < self._section.saving:
            self._when_saving = hit
            return
        if draw < self._section.saving + self._section.loading:
            self._when_loading = hit
        self._hit(hit, SIGSTOP if of_hang < self._section.hangs else SIGKILL)

    def saving(self) -> None:
        """A save is under way."""
        if self._when_saving is not None:
            hit, self._when_saving = self._when_saving, None
            self._hit(hit, SIGKILL)

    def replaced(self, names: set[Name]) -> None:
        """Note that others have taken the places of these."""
        self._victims -= names

    def loading(self, names: Collection[Name]) -> None:
        """The replacements of these are in their places, and load; the job waits for them."""
        new = self._unplaced.intersection(names)
        self._unplaced.difference_update(names)
        servers, trainers = sorted(numbers("server", new)), sorted(numbers("trainer", new))
        self._cursor.replace(Hit(tuple(servers), tuple(trainers)), self._now_s)
        if self._during_recovery:
            self.recovered()
        if self._when_loading is not None:
            hit, self._when_loading = self._when_loading, None
            self._hit(hit, SIGKILL)

    def recovered(self) -> None:
        """The job can be hit again."""
        if self._stopped:
            self._stopped = False
            self._cursor.resume(self._now_s)

    @property
    def _now_s(self) -> float:
        return max(self._times.now_s(), self._last_s)

    def _hit(self, hit: Hit, how: Signals) -> None:
        self.failures += 1
        victims: list[Name] = [("server", server) for server in hit.servers]
        victims += [("trainer", trainer) for trainer in hit.trainers]
        self._unplaced.update(victims)
        for victim in victims:
            # A process that hangs already can't be hit again, nor a dead one.
            if victim not in self._victims and self._cluster.strike(victim, how):
                self._victims.add(victim)
                self.struck += 1
