"""Replication: every shard lives on several servers, and nobody rolls back."""

import math
from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import Part, Seconds
from cprsim.contract.actions import Recover
from cprsim.contract.answers import Answers, Case, InARow
from cprsim.contract.plan import Plan, Redundancy, every
from cprsim.contract.policy import Context, Interval, Policy, Setting, whole_numbers
from cprsim.job.costs import time_of_throughput
from cprsim.job.derived import applied_again, published
from cprsim.job.tiers import REMOTE, Tier
from cprsim.policies.full import rare_interval_s

#: Where a lost server's shards are copied from.
COPIES = Tier("copies", "peers")
#: Until the copies serve: about 1 s (Li et al., OSDI 2014).
_TAKEOVER_S = 1.0
#: Of a shard, that a search tries.
_MOST_COPIES = 4


def any_copy_serves(
    servers: int, copies: int, takeover_s: float = 0.0, degraded: tuple[float, ...] = (0.0,)
) -> Answers:
    """Train on while every shard has a copy left; else the job returns to its last checkpoint.

    Copies of shard i live on servers i, i+1, ... i+copies-1 (mod servers), the counter-clockwise
    neighbours of consistent hashing (Li et al., OSDI 2014). Without checkpoints the job's last one
    is its start. A lost trainer is waited for, with nothing to load.

    `degraded`: share of time that training takes longer while up to so many neighbours in a row are
    down, from 0 on: whose requests all go to the next on the ring. The last holds on.
    """
    waits = Recover("none", source=COPIES.name)
    serves = waits._replace(keep_training=True, pause_s=takeover_s)
    down = [n for n in range(1, len(degraded)) if degraded[n] != degraded[n - 1]]
    slower = [
        Case(serves._replace(degraded=degraded[n]), gone=InARow(servers, n)) for n in reversed(down)
    ]
    return Answers(
        (
            Case(Recover("all"), gone=InARow(servers, copies)),
            Case(waits, trainers=(1, math.inf)),
            *slower,
            Case(serves._replace(degraded=degraded[0])),
        )
    )


class Replication(Policy):
    """Keep copies of every shard on several servers; nothing is lost while one copy is left.

    Source: parameter servers with chain replication (Li et al., OSDI 2014).

    Each update is pushed to one server and passed from copy to copy before it is acknowledged, so
    none is lost while a copy is left. That is `copies - 1` times the pushed bytes between servers,
    divided by `aggregation`: the first server adds up the updates of so many workers before it
    sends them on (replication after aggregation). This slows training once a card is full. Each
    copy applies these updates, too: by default `slowdown` is the share of the servers' time that
    reading and writing so many more entries and their optimizer state takes of
    `cluster.memory_bandwidth`, or ECRec's measured 2.6 % for each copy where nothing says how many
    bytes are pushed. Waits for acknowledgements are not in it.

    Memory: `copies - 1` times the rows.

    After a failure the copies serve once they have taken over, `takeover` after it was noticed (the
    paper: about 1 s, the default), and the lost server's shards are copied to its replacement while
    training continues. Meanwhile the next server on the ring serves in its place: `degraded` is the
    share of the throughput that this takes, by default what the cards say where `job.network` is
    given, and else nothing. `interval`: rare checkpoints for the case that all copies of a shard
    go; none by default. `"optimal"` weighs them against all failures, not these rare ones alone.

    `copies`: servers that hold each shard. `aggregation`: workers whose updates are sent on as one.
    `takeover`: from noticing a failure until the copies serve. `slowdown`: share of time that
    updating the copies adds to every useful second. `degraded`: the share of the throughput that is
    lost until the replacement is filled.

    With one copy nothing serves in the place of a lost server: full recovery, but that lost
    trainers are waited for.
    """

    system: Literal["replication"]
    copies: Annotated[int, Field(ge=1)] = 2
    aggregation: Annotated[int, Field(ge=1)] = 1
    takeover_s: Seconds = Field(_TAKEOVER_S, alias="takeover")
    interval: Interval | None = None
    slowdown: Annotated[float, Field(ge=0, examples=[0.02])] | None = None
    degraded: Annotated[float, Field(ge=0, lt=1, examples=[0.1]), Part] | None = None

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Its interval and its copies."""
        most = min(context.servers, _MOST_COPIES)
        return (*super().settings(context), *whole_numbers("copies", 2, most))

    def plan(self, context: Context) -> Plan:
        """Copies must fit on the servers, and there must be workers to aggregate."""
        if self.copies > context.servers:
            raise ValueError(
                f"copies = {self.copies} is more than the {context.servers} parameter servers; "
                "each copy of a shard needs its own server"
            )
        if self.aggregation > context.trainers > 0:
            raise ValueError(
                f"aggregation = {self.aggregation} is more than the {context.trainers} trainers "
                "whose updates could be added up; give at most that"
            )
        if context.mtbf_s < math.inf:
            context.costs.load(REMOTE, "all", 1)  # it has to be known: all copies may go
        interval_s = rare_interval_s(self.interval, self.whole_save_s(context), context.mtbf_s)
        times = (self.copies - 1) / self.aggregation
        sent_on = times * context.pushed_bytes_per_s
        updated = applied_again(context.costs, self.slowdown, times, "slowdown")
        in_time = self._degraded(context, updated.value, sent_on)
        return Plan(
            recovery="replica",
            schedules=every(interval_s),
            recover=any_copy_serves(context.servers, self.copies, self.takeover_s, in_time),
            slowdown=updated.value,
            tiers=(COPIES, REMOTE),
            redundancy=Redundancy(COPIES.name, 1, self.copies - 1),
            peer_bytes_per_s=sent_on,
            memory_overhead=float(self.copies - 1),
            own_costs=(
                updated,
                published("takeover", self.takeover_s, _TAKEOVER_S, "Li et al., OSDI 2014"),
            ),
        )

    def _degraded(self, context: Context, slowdown: float, sent_on: float) -> tuple[float, ...]:
        """Share of time by how many servers in a row are down."""
        if self.degraded is not None:
            return (0.0, *[time_of_throughput(self.degraded)] * (self.copies - 1))
        return tuple(
            context.costs.slower_beside(slowdown, sent_on, 1.0 + away)
            for away in range(self.copies)
        )
