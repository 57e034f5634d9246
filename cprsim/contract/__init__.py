"""The policy contract: a policy is a value, and everything that runs it reads this package alone.

    Policy.plan(context) -> Plan      every number resolved; pure
    Plan.start() -> Controller        the state of one run: .tell(event), then .ask(now)

Actions and events are plain data: the simulator charges them, a trainer carries them out.
"""

from typing import TYPE_CHECKING, Any

from cprsim.contract.actions import (
    Action,
    Clock,
    Controller,
    Drain,
    Draining,
    EmergencySave,
    Event,
    Failed,
    Loss,
    Notice,
    Recover,
    Resumed,
    Save,
    Saved,
    Stored,
    Train,
    Unusable,
    Void,
)
from cprsim.contract.answers import Always, Answers, Case, Groups, InARow, Together, Within
from cprsim.contract.plan import (
    Accepted,
    AfterVoid,
    Chains,
    Differences,
    Growing,
    Learned,
    Mirror,
    Plan,
    Redundancy,
    Rotation,
    Rotations,
    Schedule,
    Sequence,
    Tracking,
    Verification,
    every,
)
from cprsim.contract.policy import (
    Choice,
    Context,
    DurationSpan,
    GivenInterval,
    Interval,
    Policy,
    Setting,
    whole_numbers,
)
from cprsim.job.tiers import REMOTE, Tier
from cprsim.machine import rules

if TYPE_CHECKING:
    from cprsim.contract.controller import ScheduledController

__all__ = [
    "REMOTE",
    "Accepted",
    "Action",
    "AfterVoid",
    "Always",
    "Answers",
    "Case",
    "Chains",
    "Choice",
    "Clock",
    "Context",
    "Controller",
    "Differences",
    "Drain",
    "Draining",
    "DurationSpan",
    "EmergencySave",
    "Event",
    "Failed",
    "GivenInterval",
    "Groups",
    "Growing",
    "InARow",
    "Interval",
    "Learned",
    "Loss",
    "Mirror",
    "Notice",
    "Plan",
    "Policy",
    "Recover",
    "Redundancy",
    "Resumed",
    "Rotation",
    "Rotations",
    "Save",
    "Saved",
    "Schedule",
    "ScheduledController",
    "Sequence",
    "Setting",
    "Stored",
    "Tier",
    "Together",
    "Tracking",
    "Train",
    "Unusable",
    "Verification",
    "Void",
    "Within",
    "every",
    "rules",
    "whole_numbers",
]


def __getattr__(name: str) -> Any:
    if name == "ScheduledController":  # with it come the schedules of the machine
        from cprsim.contract.controller import ScheduledController  # noqa: PLC0415

        return ScheduledController
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
