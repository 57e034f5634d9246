"""When a job is given up: one that gets nowhere would be simulated for ever."""

from typing import NoReturn

from cprsim.basics.units import format_percent
from cprsim.contract import rules
from cprsim.errors import NowhereError
from cprsim.sim.resolved import ResolvedPlan
from cprsim.sim.state import State
from cprsim.sim.work import Work

#: A job that failed so often will not end, even if its failures take no time.
MOST_FAILURES = 1_000_000
#: Nor will one whose policy saves so often without training in between.
MOST_IDLE_SAVES = 1000

#: Nor will one whose controller asks so often in a row for next to no training. A schedule may have
#: ten million saves, so a hundredth of that is no step of any.
MOST_TINY_STEPS = 100_000
_TINY = 1e-9

#: Nor will one whose saves or loads take no time but fail so often.
MOST_IN_VAIN = 10_000_000


class Limits:
    """Counts failures, and saves without training in between, and gives hopeless jobs up."""

    def __init__(self, resolved: ResolvedPlan, state: State, work: Work) -> None:
        self.failures = 0
        self.idle_saves = 0  # since it last trained
        self.tiny_steps = 0  # since it last asked for more
        self.in_vain = 0  # void saves, failed loads, training that was corrupt, drains
        self._resolved, self._state, self._work = resolved, state, work

    def failure(self) -> None:
        """One more failure."""
        useful_time_s, progress_s = self._resolved.useful_time_s, self._state.progress_s
        far = rules.r29_far_from_its_end(progress_s, useful_time_s, self.failures)
        if far or self.failures >= MOST_FAILURES:
            self._give_up("make failures rarer or saves cheaper")
        self._check("save more often, or make failures rarer or saves cheaper")
        self.failures += 1

    def save(self) -> None:
        """One more save."""
        self.idle_saves += 1
        self._check("save less often")
        if self.idle_saves > MOST_IDLE_SAVES:
            self._give_up("it only saves; give a longer interval")

    def train(self, step_s: float) -> None:
        """Training for so many useful seconds is asked for."""
        self.idle_saves = 0
        if step_s > _TINY * self._resolved.useful_time_s:
            self.tiny_steps = 0
            return
        self.tiny_steps += 1
        if self.tiny_steps > MOST_TINY_STEPS:
            self._give_up(
                f"its controller asked {self.tiny_steps:,} times for less than a billionth of it; "
                "ask for longer training"
            )

    def corrupt(self) -> None:
        """One more silent fault that was found."""
        self.vain("verify more often, or make silent faults rarer")

    def drain(self) -> None:
        """One more notice that nodes are drained for."""
        self.vain("make false alarms rarer, or give a shorter costs.drain")

    def vain(
        self, way_out: str = "make saves and loads fail less often, or outages shorter or rarer"
    ) -> None:
        """One more save that turned out void, or load that failed."""
        if self.in_vain >= MOST_IN_VAIN:
            self._give_up(way_out)
        self._check(way_out)
        self.in_vain += 1

    def _check(self, way_out: str) -> None:
        # One long wait for machines takes its time as well, but it is over some day.
        events = self.failures + self._state.saves + self.in_vain
        if rules.r29_gets_nowhere(self._work.now, self._resolved.useful_time_s, events):
            self._give_up(way_out)

    def _give_up(self, way_out: str) -> NoReturn:
        useful_time_s = self._resolved.useful_time_s
        policy = self._resolved.policy
        raise NowhereError(
            f"policy {policy!r}: the job gets nowhere: "
            f"{self._work.now / useful_time_s:.3g} times its useful time is over, with "
            f"{self.failures:,} failures, and "
            f"{format_percent(round(self._state.progress_s / useful_time_s, 3))} of it done; "
            f"{way_out}",
            policy,
        )
