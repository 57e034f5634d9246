"""The policy contract: a policy is a value, and everything that runs it reads this package alone.

    Policy.plan(context) -> Plan      every number resolved; pure
    Plan.start() -> Controller        the state of one run: .tell(event), then .ask(now)

Actions and events are plain data: the simulator charges them, a trainer carries them out.
"""

from cprsim.contract.actions import (
    Action,
    Clock,
    Controller,
    Drain,
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
from cprsim.contract.controller import ScheduledController
from cprsim.contract.notice import Draining, EmergencySave
from cprsim.contract.patterns import (
    Accepted,
    Chains,
    Differences,
    Growing,
    Learned,
    Rotation,
    Rotations,
    Schedule,
    Sequence,
    every,
)
from cprsim.contract.plan import (
    AfterVoid,
    Mirror,
    Plan,
    Redundancy,
    Tracking,
    Verification,
)
from cprsim.contract.policy import Context, GivenInterval, Interval, Policy
from cprsim.contract.settings import Choice, DurationSpan, Setting, whole_numbers
from cprsim.job.tiers import REMOTE, Tier
from cprsim.machine import rules

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
