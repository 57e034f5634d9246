"""Accepted loss: yesterday's shard will do, and nobody waits for it."""

import math
from typing import Literal

from pydantic import Field

from cprsim.basics.schema import Seconds
from cprsim.contract.actions import Recover, Save
from cprsim.contract.answers import Answers, Case
from cprsim.contract.plan import Plan, every
from cprsim.contract.policy import Context, Interval, Policy
from cprsim.job.derived import snapshot
from cprsim.job.tiers import Tier

_DAY_S = 86400.0


def nobody_waits(servers: int, trainers: int) -> Answers:
    """Lost shards come back as the last snapshot holds them, while the rest trains on.

    `k` lost ones of `trainers` leave the speed of the others: each useful second takes
    `k / (trainers - k)` longer. Only a job with no server or no trainer left waits.
    """
    waits, trains_on = Recover("lost"), Recover("lost", keep_training=True)
    no_server = Case(waits, servers=(servers, math.inf))
    if not trainers:
        return Answers((no_server, Case(trains_on)))
    slower = (
        Case(trains_on._replace(degraded=lost / (trainers - lost)), trainers=(lost, lost))
        for lost in range(trainers)
    )
    return Answers((no_server, *slower, Case(waits)))


class AcceptedLoss(Policy):
    """Save in the background, and train on without lost shards until they are back from a save.

    Source: Monolith (arXiv 2209.07663).

    A lost server's shard returns to the last snapshot, a day old at most by default, while training
    continues without it: its updates since then are lost, and so are those that it would have had
    until its replacement is filled. Trainers hold no state that matters: the others continue,
    slower by their share. Only noticing a failure (`costs.detect`) stops training.

    First order: a failure costs no time but its detection; it loses `interval / 2` of one shard,
    plus what a save takes until it is stored, plus what its replacement takes. With a rate of
    failures r and N shards that is a share `r * interval / (2 N)` of all updates, however long the
    job is.

    `interval`: a duration; no interval is optimal, for failures cost lost updates and no time. The
    default is the paper's. `snapshot`: how long training waits for one; the paper doesn't say. 0
    for copy-on-write; by default a server's part of the checkpoint over `cluster.memory_bandwidth`.
    One save is under way at a time, from a copy in memory of all that it holds. Assumed: one that
    the failure of any server falls into fails for all of them.
    """

    unpriced = "lookups in a lost shard harm no other training"

    system: Literal["accepted-loss"]
    interval: Interval = _DAY_S
    snapshot_s: Seconds | None = Field(None, alias="snapshot")

    def plan(self, context: Context) -> Plan:
        """Snapshots in the background, lost shards return, the others train on."""
        if isinstance(self.interval, str):
            raise ValueError(
                f'interval = "{self.interval}" is the one that costs the least time, but failures '
                'cost this system lost updates and no time; give a duration, e.g. interval = "1 d"'
            )
        copied = snapshot(context.costs, self.snapshot_s)
        return Plan(
            recovery="partial",
            schedules=every(self.interval, Save(blocking=False)),
            recover=nobody_waits(context.servers, context.trainers),
            tiers=(Tier("remote", snapshot_s=copied.value),),
            memory_overhead=1.0,
            own_costs=(copied,),
        )
