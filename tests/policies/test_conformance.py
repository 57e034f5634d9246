"""Every shipped policy, and one as a user would write it, through the suite that cprsim ships."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import pytest
from pydantic import Field

from cprsim.contract import (
    Clock,
    Context,
    Controller,
    Event,
    Failed,
    Loss,
    Plan,
    Policy,
    Recover,
    Save,
    Train,
)
from cprsim.policies import policy_class, register, systems
from cprsim.policies.full import everything_returns, full_plan
from cprsim.testing import SYSTEMS, PolicyConformance

# --- A policy of a user: the interval follows the failures seen so far ---------------------------


@register
class Adaptive(Policy):
    """Young's interval at the mean time between the failures that have come, `guess` before any."""

    system: Literal["test-adaptive"]
    guess_h: Annotated[float, Field(gt=0)] = 10.0

    def plan(self, context: Context) -> Plan:
        interval_s = math.sqrt(2 * context.save_s * self.guess_h * 3600)
        return AdaptivePlan(
            **vars_of(full_plan(interval_s)), save_s=context.save_s, guess_s=self.guess_h * 3600
        )


@dataclass(frozen=True, slots=True)
class AdaptivePlan(Plan):
    save_s: float = 0.0
    guess_s: float = 0.0

    def start(self) -> Controller:
        return AdaptiveController(self)


class AdaptiveController:
    def __init__(self, plan: AdaptivePlan) -> None:
        self._plan, self._failures, self._failed, self._from_s = plan, 0, False, 0.0

    def tell(self, event: Event) -> None:
        self._failed = isinstance(event, Failed)
        self._failures += self._failed
        self._from_s = event.now.progress_s

    def ask(self, now: Clock) -> Train | Save | Recover:
        if self._failed:
            return Recover("all")
        mtbf_s = (self._plan.guess_s + now.wall_s) / (1 + self._failures)
        due_s = self._from_s + math.sqrt(2 * self._plan.save_s * mtbf_s)
        return Train(due_s) if now.progress_s < due_s else Save()


def vars_of(plan: Plan) -> dict[str, object]:
    return {name: getattr(plan, name) for name in Plan.__dataclass_fields__}
