"""The policy contract: a policy is a value, and everything that runs it reads this package alone.

    Policy.plan(context) -> Plan      every number resolved; pure
    Plan.start() -> Controller        the state of one run: .tell(event), then .ask(now)

Actions and events are plain data: the simulator charges them, a trainer carries them out.
"""

import typing

from cprsim.contract.actions import Action as Action
from cprsim.contract.actions import Clock as Clock
from cprsim.contract.actions import Controller as Controller
from cprsim.contract.actions import Drain as Drain
from cprsim.contract.actions import Draining as Draining
from cprsim.contract.actions import EmergencySave as EmergencySave
from cprsim.contract.actions import Event as Event
from cprsim.contract.actions import Failed as Failed
from cprsim.contract.actions import Loss as Loss
from cprsim.contract.actions import Notice as Notice
from cprsim.contract.actions import Recover as Recover
from cprsim.contract.actions import Resumed as Resumed
from cprsim.contract.actions import Save as Save
from cprsim.contract.actions import Saved as Saved
from cprsim.contract.actions import Stored as Stored
from cprsim.contract.actions import Train as Train
from cprsim.contract.actions import Unusable as Unusable
from cprsim.contract.actions import Void as Void
from cprsim.contract.answers import Always as Always
from cprsim.contract.answers import Answers as Answers
from cprsim.contract.answers import Case as Case
from cprsim.contract.answers import Groups as Groups
from cprsim.contract.answers import InARow as InARow
from cprsim.contract.answers import Together as Together
from cprsim.contract.answers import Within as Within
from cprsim.contract.plan import Accepted as Accepted
from cprsim.contract.plan import AfterVoid as AfterVoid
from cprsim.contract.plan import Chains as Chains
from cprsim.contract.plan import Differences as Differences
from cprsim.contract.plan import Growing as Growing
from cprsim.contract.plan import Learned as Learned
from cprsim.contract.plan import Mirror as Mirror
from cprsim.contract.plan import Plan as Plan
from cprsim.contract.plan import Redundancy as Redundancy
from cprsim.contract.plan import Rotation as Rotation
from cprsim.contract.plan import Rotations as Rotations
from cprsim.contract.plan import Schedule as Schedule
from cprsim.contract.plan import Sequence as Sequence
from cprsim.contract.plan import Tracking as Tracking
from cprsim.contract.plan import Verification as Verification
from cprsim.contract.plan import every as every
from cprsim.contract.policy import Choice as Choice
from cprsim.contract.policy import Context as Context
from cprsim.contract.policy import DurationSpan as DurationSpan
from cprsim.contract.policy import GivenInterval as GivenInterval
from cprsim.contract.policy import Interval as Interval
from cprsim.contract.policy import Policy as Policy
from cprsim.contract.policy import Setting as Setting
from cprsim.contract.policy import whole_numbers as whole_numbers
from cprsim.job.tiers import REMOTE as REMOTE
from cprsim.job.tiers import Tier as Tier
from cprsim.machine import rules as rules

if typing.TYPE_CHECKING:
    from cprsim.contract.controller import ScheduledController as ScheduledController

#: All that is imported here but modules.
__all__ = [  # noqa: PLE0604  (these are strings)
    *(name for name, value in vars().items() if name[0] != "_" and type(value) is not type(typing)),
    *("ScheduledController", "rules"),
]


def __getattr__(name: str) -> object:
    if name == "ScheduledController":  # with it come the schedules of the machine
        from cprsim.contract.controller import ScheduledController  # noqa: PLC0415

        return ScheduledController
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
