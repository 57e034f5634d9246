"""Elastic servers: after a loss the job continues with the others."""

import math
from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import Part, Seconds
from cprsim.contract.actions import Recover
from cprsim.contract.answers import Answers, Case
from cprsim.contract.plan import Plan, every
from cprsim.contract.policy import Context, Interval, Policy, Setting, whole_numbers
from cprsim.job.derived import resharded
from cprsim.job.tiers import REMOTE, Tier
from cprsim.policies.full import checkpoint_interval_s

#: The other servers, which a replacement takes its rows back from.
OTHERS = "others"
#: Lost servers that the rest continues without; a plan has an answer for each count of them.
_MOST_LOST = 100


def fewer_serve(servers: int, least: int, bound: float, reshard_s: float) -> Answers:
    """The rest continues with the rows of lost servers, as long as `least` servers are left.

    With k of n servers lost, what a useful second takes on servers, a share `bound` of it, takes
    `k / (n - k)` longer. Lost trainers are waited for.
    """
    waits = Recover("lost")
    goes_on = Recover("lost", keep_training=True, pause_s=reshard_s, regrow=OTHERS)
    fewer = (
        Case(
            goes_on._replace(degraded=bound * lost / (servers - lost)),
            servers=(lost, lost),
            trainers=(0, 0),
        )
        for lost in range(1, min(servers - least, _MOST_LOST) + 1)
    )
    return Answers((Case(waits, severities=("cluster",)), *fewer, Case(waits)))


class Elastic(Policy):
    """Train on with fewer servers after a failure, and with all once the replacement is there.

    Source: DLRover (Wang et al., VLDB 2024) and Lazarus (arXiv 2407.04656).

    When a server is lost, the others load its rows from the last checkpoint, and training
    continues: the updates of these rows since then are lost, as under `partial`, but nobody
    waits for a machine. While there are fewer, a useful second takes longer. When the replacement
    is there it takes its rows back over the servers' cards, during training, and nothing is lost.

    First order: a failure costs `costs.detect`, one load, `reshard`, and `bound k / (n - k)` of
    the time until the replacement serves, in place of that time.

    `interval`: as of `partial`. `bound`: share of a useful second that is the servers', which the
    others take over evenly; 0 where trainers alone set the pace. `least`: servers that have to be
    left, half of them if not given; with fewer, or where more than 100 are lost, the job waits for
    replacements. `reshard`: what training stops for to place the rows of a lost server on
    the others; by default each takes an equal part over its card. Measured by none of the papers.
    """

    system: Literal["elastic"]
    interval: Interval = "optimal"
    least: Annotated[int, Field(ge=1, examples=[12])] | None = None
    bound: Annotated[float, Field(ge=0, le=1), Part]
    reshard_s: Seconds | None = Field(None, alias="reshard")

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Its interval, and how few servers may be left."""
        most = context.servers - 1
        return (*super().settings(context), *whole_numbers("least", max(1, most - 3), most))

    def plan(self, context: Context) -> Plan:
        """Half of the servers have to be left, where `least` isn't given."""
        least = math.ceil(context.servers / 2) if self.least is None else self.least
        if least > context.servers:
            raise ValueError(
                f"least = {least} is more than the {context.servers} parameter servers; give at "
                "most that"
            )
        reshard = resharded(context.costs, self.reshard_s)
        rule = fewer_serve(context.servers, least, self.bound, reshard.value)
        mtbf_s = self.unannounced_s(context)
        interval_s = checkpoint_interval_s(self.interval, self.whole_save_s(context), mtbf_s)
        tiers = Tier(OTHERS, "peers"), REMOTE
        return Plan("partial", every(interval_s), rule, tiers=tiers, own_costs=(reshard,))
