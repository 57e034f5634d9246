"""The policy contract: a policy is a value, and everything that runs it reads this package alone.

    Policy.plan(context) -> Plan      every number resolved; pure
    Plan.start() -> Controller        the state of one run, driven by tell(event) and ask(now)

Actions and events are plain data: the simulator charges them, a trainer carries them out.
"""

from cprsim.contract import rules
from cprsim.contract.actions import (
    Action,
    Clock,
    Controller,
    Event,
    Failed,
    Loss,
    Recover,
    Resumed,
    Save,
    Saved,
    Stored,
    Train,
    Void,
)
from cprsim.contract.plan import AfterVoid, Always, Copies, Mirror, Plan, Tracking
from cprsim.contract.policy import Context, Interval, Policy
from cprsim.contract.schedules import Schedule, ScheduledController, every
from cprsim.job.tiers import REMOTE, Tier

__all__ = [
    "REMOTE",
    "Action",
    "AfterVoid",
    "Always",
    "Clock",
    "Context",
    "Controller",
    "Copies",
    "Event",
    "Failed",
    "Interval",
    "Loss",
    "Mirror",
    "Plan",
    "Policy",
    "Recover",
    "Resumed",
    "Save",
    "Saved",
    "Schedule",
    "ScheduledController",
    "Stored",
    "Tier",
    "Tracking",
    "Train",
    "Void",
    "every",
    "rules",
]
