"""Asynchronous checkpoints: a short stall for a snapshot, then a save in the background."""

import math
from typing import Annotated, Literal

from pydantic import Field

from cprsim.contract import Context, Interval, Plan, Policy, Save, Tier, every
from cprsim.policies.full import checkpoint_interval_s, everything_returns
from cprsim.schema import Seconds


class Async(Policy):
    """Snapshot, then write in the background; full rollback (CheckFreq, FAST 2021; Vaidya 1997).

    `snapshot`: how long training stalls for one snapshot; 0 for copy-on-write. The save itself
    takes as long as a blocking one, longer where it shares bandwidth with training, and counts
    from the instant its last byte is stored: a failure before that returns to the one before it.
    The background write moves no optimum but bounds the interval: with `in_flight` saves under way
    at most, the next snapshot waits for the oldest of them. A lost server or trainer takes its part
    of every snapshot in memory with it, so saves in flight are void then.
    """

    system: Literal["async"]
    interval: Interval = "optimal"
    snapshot_s: Seconds = Field(0.0, alias="snapshot")
    in_flight: Annotated[int, Field(ge=1)] = 1

    def plan(self, context: Context) -> Plan:
        """Save at the interval, or as often as saves land where that is rarer."""
        return Plan(
            recovery="full",
            schedules=every(self._interval_s(context), Save(blocking=False), self.in_flight),
            recover=everything_returns,
            tiers=(Tier("remote", snapshot_s=self.snapshot_s),),
        )

    def _interval_s(self, context: Context) -> float:
        if not isinstance(self.interval, str):
            return self.interval
        landing_s = context.save_s / self.in_flight
        if self.snapshot_s == landing_s == 0:
            raise ValueError(
                "neither the snapshot nor the save takes any time, so no interval is optimal; "
                'give one, e.g. interval = "10 min"'
            )
        if self.snapshot_s == 0:
            return landing_s if context.mtbf_s < math.inf else math.inf
        optimum_s = checkpoint_interval_s(self.interval, self.snapshot_s, context.mtbf_s)
        return max(optimum_s, landing_s)
