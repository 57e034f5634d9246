"""A policy's decisions alone, for any training loop: when to save, and what a failure takes back.

Importing it loads neither torch nor simpy; the planning code is loaded at the first decision.
"""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cprsim.errors import PlanError, UsageError

if TYPE_CHECKING:
    from cprsim.contract import Clock, Controller, Loss, Plan, Recover, Save
    from cprsim.scenario import Scenario

#: Steps that are timed before the first save, where nothing says what a step takes.
_TIMED: Final = 20
#: A learned cost or MTBF moves the interval once it differs by this share.
_MOVES: Final = 0.1
#: Share of a progress below which lies only rounding.
_ROUNDING: Final = 1e-9
#: Failures that the MTBF taken for granted counts as.
_WEIGHT: Final = 1.0


@dataclass(frozen=True)
class LearnedCosts:
    """The measurements of a decider, to keep in a checkpoint for the next process.

    `step_s`, `save_s`: what a step and a save take, s; 0 if not known. `away_s`: from a failure
    until training resumes, s. `running_s`: time under way. `failures`: losses, and starts after
    one.
    """

    step_s: float = 0.0
    save_s: float = 0.0
    away_s: float = 0.0
    running_s: float = 0.0
    failures: int = 0

    def mtbf_s(self, taken_s: float) -> float:
        """Return the MTBF, s: `taken_s`, as seen once, and the failures since."""
        return (_WEIGHT * taken_s + self.running_s) / (_WEIGHT + self.failures)


class Decider:
    """Says when to save, and what is to be done about a failure, as a policy has it.

    In a loop::

        decider = Decider("full", steps=100_000)
        for step in range(start, 100_000):
            train(step)
            save = decider.due(step + 1)
            if save is not None:
                began = time.monotonic()
                write_checkpoint(step + 1)
                decider.saved(step + 1, save, time.monotonic() - began)

    Parameters
    ----------
    policy
        The name of one of the scenario's policies, or of a system.
    steps
        Of the whole job.
    scenario
        What the policy plans with: a scenario, its file, or the name of a shipped one; a step is
        `job.useful_time / steps` of progress then. Without it what a step, a save and a failure
        take is measured while the job runs, and the interval follows.
    keys
        Keys of the policy, where there is no scenario: `{"target_pls": 0.1}`.
    mtbf
        Mean time between failures that is taken for granted until failures are seen, where there is
        no scenario.
    servers
        Parts that fail one by one, where there is no scenario.
    learned
        What a decider of the same job had measured, in the process before this one, which failed.
    clock
        Returns the time, s.

    Attributes
    ----------
    policy, clock
        As they were given.
    plan
        The policy's plan; None until enough is known to plan, at a call of `due`.

    Raises
    ------
    UsageError
        If steps or another value makes no sense.
    ScenarioError
        If the scenario or the policy is wrong, at the first decision.

    Examples
    --------
    >>> decider = Decider("full", steps=1000, scenario="quickstart")
    >>> next(step for step in range(1, 1000) if decider.due(step))
    20
    """

    _known: LearnedCosts

    def __init__(
        self,
        policy: str = "full",
        *,
        steps: int,
        scenario: "Scenario | str | Path | None" = None,
        keys: Mapping[str, Any] | None = None,
        mtbf: str = "1 d",
        servers: int = 1,
        learned: LearnedCosts | Mapping[str, Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if steps < 1 or servers < 1:
            raise UsageError(f"steps {steps}, servers {servers}: each must be at least 1")
        if keys is not None and scenario is not None:
            raise UsageError("keys: the scenario has the policy's keys; leave them out")
        self.policy, self._steps, self._given = policy, steps, scenario
        self._keys, self._mtbf, self._servers = dict(keys or {}), mtbf, servers
        self.clock = clock
        self.plan: Plan | None = None
        self._take_over(learned)
        self._controller: Controller | None = None
        self._origin = self._step = 0
        self._step_s, self._apart_s = 0.0, 0.0
        self._until_s = 0.0  # progress to which nothing is due
        self._first: tuple[int, float] | None = None
        self._wanted: Save | None = None
        self._lost_s: float | None = None

    # --- What a loop calls ------------------------------------------------------------------------

    def due(self, step: int) -> "Save | None":
        """Return the save that is due after so many steps, or None.

        The same one until `saved` is called.
        """
        self._step = step
        now_s = self.clock() - self._apart_s  # of training alone
        if self._first is None:
            self._first = step, now_s
        elif step > self._first[0]:
            self._step_s = (now_s - self._first[1]) / (step - self._first[0])
        if self._wanted is not None:
            return self._wanted
        controller = self._ready()
        if controller is None:
            return None
        from cprsim.contract import Save, Train  # noqa: PLC0415  (loads what plans)

        now = self._now(step)
        if now.progress_s < self._until_s * (1 - _ROUNDING):
            return None
        action = controller.ask(now)
        self._until_s = action.until_s if isinstance(action, Train) else 0.0
        self._wanted = action if isinstance(action, Save) else None
        return self._wanted

    def saved(self, step: int, save: "Save", seconds: float) -> None:
        """Note that a save is stored, which has held training up for so long, s."""
        from cprsim.contract import Saved  # noqa: PLC0415

        if not seconds >= 0:
            raise UsageError(f"seconds {seconds}: a save takes 0 s or more")
        self._wanted = None
        self._apart_s += seconds
        before_s = self._known.save_s or seconds
        self._known = replace(self._known, save_s=(before_s + seconds) / 2)  # of the last few
        assert self._controller is not None
        self._controller.tell(Saved(self._now(step), save, stored=True))
        self._until_s = 0.0
        if self._given is None:
            costs = zip(self._costs(), self._costs_s, strict=True)
            if any(abs(new - old) > _MOVES * old for new, old in costs):
                with suppress(PlanError):  # no such plan, and the one before does
                    self._plan(step)  # the interval would be another one

    def lost(self, loss: "Loss | None" = None) -> "Recover":
        """Return what is to be done about a failure: who returns to which checkpoint.

        `loss`: what is down; a server if not given.
        """
        from cprsim.contract import Failed, Loss, Recover  # noqa: PLC0415

        self._known = replace(self._known, failures=self._known.failures + 1)
        self._lost_s, self._wanted, self._until_s = self.clock(), None, 0.0
        controller = self._ready()
        if controller is None:
            self._plan(self._step)
            controller = self._controller
        assert controller is not None
        gone = Loss(frozenset([0]), frozenset()) if loss is None else loss
        controller.tell(Failed(self._now(self._step), gone))
        answer = controller.ask(self._now(self._step))
        assert isinstance(answer, Recover)
        return answer

    def resumed(self, step: int, learned: LearnedCosts | Mapping[str, Any] | None = None) -> None:
        """Note that training continues from a step: after `lost`, or in a new process.

        `learned`: the measurements of the process before this one, which failed; the constructor
        takes them as well. After `lost` they change nothing: this process has newer ones.
        """
        from cprsim.contract import Resumed  # noqa: PLC0415

        self._step, self._first = step, None
        if self._lost_s is None or self._controller is None:
            self._origin, self._controller, self._wanted = step, None, None
            if learned is not None:
                self._take_over(learned)
            return
        away_s = self.clock() - self._lost_s
        self._apart_s += away_s
        self._known, self._lost_s = replace(self._known, away_s=away_s), None
        self._controller.tell(Resumed(self._now(step), ()))

    # --- What it has learned ----------------------------------------------------------------------

    @property
    def learned(self) -> LearnedCosts:
        """Return the measurements so far; `asdict` of it fits into a checkpoint."""
        running_s = self._known.running_s + self.clock() - self._began_s
        step_s = self._step_s or self._known.step_s
        return replace(self._known, step_s=step_s, running_s=running_s)

    @property
    def interval_s(self) -> float:
        """Training from save to save, s; infinite where none is planned, or nothing is yet."""
        return math.inf if self.plan is None else self.plan.interval_s

    def __repr__(self) -> str:
        known = ", ".join(f"{name} {value:.3g}" for name, value in asdict(self.learned).items())
        return f"<Decider {self.policy}: a save every {self.interval_s:.3g} s; learned {known}>"

    def _take_over(self, learned: LearnedCosts | Mapping[str, Any] | None) -> None:
        """Begin with what the process before had measured; its end was a failure."""
        known = learned if isinstance(learned, LearnedCosts) else LearnedCosts(**(learned or {}))
        self._known = replace(known, failures=known.failures + (learned is not None))
        self._began_s = self.clock()

    # --- Plans ------------------------------------------------------------------------------------

    def _ready(self) -> "Controller | None":
        """The controller; None as long as too little is known to plan."""
        if self._controller is None:
            timed = self._first is not None and self._step - self._first[0] >= _TIMED
            if self._given is None and not (timed or self._known.step_s):
                return None
            self._plan(self._step)
        return self._controller

    def _costs(self) -> tuple[float, float]:
        from cprsim.basics.units import parse_duration  # noqa: PLC0415

        return self._known.save_s, self.learned.mtbf_s(parse_duration(self._mtbf))

    def _plan(self, step: int) -> None:
        """Plan again, from this step on where costs are measured.

        Where it raises, the plan before is as it was.
        """
        from cprsim.scenario import scenario_of  # noqa: PLC0415

        if self._given is None:
            costs_s = self._costs()
            scenario = self._measured(*costs_s)
            self._costs_s, self._origin = costs_s, step
        else:
            scenario = scenario_of(self._given)
            scenario = _with_system(scenario, self.policy)
        self.plan = scenario.plan(self.policy)
        self._useful_s = scenario.job.useful_time_s
        self._controller, self._until_s = self.plan.start(), 0.0

    def _measured(self, save_s: float, mtbf_s: float) -> "Scenario":
        """The job as it was measured; until a save was, it takes as long as a step.

        Of a save in the background that is its snapshot, and no more is known of it.
        """
        from cprsim.contract.registry import policy_class  # noqa: PLC0415
        from cprsim.scenario import Scenario  # noqa: PLC0415

        step_s = max(self.learned.step_s, 1e-6)
        kind, keys = policy_class(self.policy), self._keys
        if kind is not None and "snapshot_s" in kind.model_fields and not keys.get("blocking"):
            keys = {"snapshot": _time(save_s or step_s)} | keys
        left = max(self._steps - self._step, 1)
        return Scenario(
            job={"useful_time": _time(left * step_s)},
            cluster={"parameter_servers": self._servers},
            costs={
                "save": _time(save_s or step_s),
                "load": _time(save_s or step_s),
                "reschedule": _time(self._known.away_s),
                "detect": "0 s",
            },
            failures={"distribution": "exponential", "mean": _time(mtbf_s)},
            policies={self.policy: {"system": self.policy, **keys}},
        )

    def _now(self, step: int) -> "Clock":
        from cprsim.contract import Clock  # noqa: PLC0415

        steps = self._steps if self._given is not None else max(self._steps - self._origin, 1)
        progress_s = max(step - self._origin, 0) * self._useful_s / steps
        return Clock(self.clock() - self._began_s, progress_s)


def _with_system(scenario: "Scenario", policy: str) -> "Scenario":
    """The scenario, with a default policy of a system's name where it has none of that name."""
    if policy in scenario.policies:
        return scenario
    from cprsim.contract.registry import policy_class, systems  # noqa: PLC0415

    kind = policy_class(policy) if policy in systems() else None
    if kind is None:
        (policy,) = scenario.select([policy])  # which says what there is
        return scenario
    return scenario.with_policies({policy: kind.model_validate({"system": policy})})


def _time(seconds: float) -> str:
    return f"{max(seconds, 0.0)!r} s"
