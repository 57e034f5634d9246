"""Replication: every shard lives on several servers, and nobody rolls back."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from cprsim.contract import REMOTE, Context, Interval, Loss, Plan, Policy, Recover, Tier, every
from cprsim.policies.full import checkpoint_interval_s

#: Where a lost server's shards are copied from.
COPIES = Tier("copies", "peers")


@dataclass(frozen=True)
class AnyCopyServes:
    """Train on while every shard has a copy left; else the job returns to its last checkpoint.

    Copies of shard i live on servers i, i+1, ... i+copies-1 (mod servers), the counter-clockwise
    neighbours of consistent hashing (Li et al., OSDI 2014). Without checkpoints the job's last one
    is its start. A lost trainer is waited for, with nothing to load.
    """

    servers: int
    copies: int

    def __call__(self, loss: Loss) -> Recover:
        """Answer `loss`."""
        if any(self._gone(shard, loss.servers) for shard in loss.servers):
            return Recover(rollback="all")
        return Recover(rollback="none", keep_training=not loss.trainers, source=COPIES.name)

    def _gone(self, shard: int, down: frozenset[int]) -> bool:
        return all((shard + copy) % self.servers in down for copy in range(self.copies))


class Replication(Policy):
    """`copies` of every shard, each update pushed to all of them (Li et al., OSDI 2014).

    Each update goes down a chain of servers, from copy to copy; where `job.network` is given that
    slows training once a card is full. `slowdown` adds a measured share of time besides. After a
    failure the copies serve at once, and the lost server's shards are copied to its replacement
    while training goes on. `interval`: rare checkpoints for the case that all copies of a shard
    go; none by default.
    """

    system: Literal["replication"]
    copies: Annotated[int, Field(ge=1)] = 2
    interval: Interval | None = None
    slowdown: Annotated[float, Field(ge=0)] = 0.0

    def plan(self, context: Context) -> Plan:
        """Copies must fit on the servers."""
        if self.copies > context.servers:
            raise ValueError(
                f"copies = {self.copies} is more than the {context.servers} parameter servers; "
                "each copy of a shard needs a server of its own"
            )
        interval_s = math.inf
        if self.interval is not None:
            interval_s = checkpoint_interval_s(self.interval, context.save_s, context.mtbf_s)
        return Plan(
            recovery="replica",
            schedules=every(interval_s),
            recover=AnyCopyServes(context.servers, self.copies),
            slowdown=self.slowdown,
            tiers=(COPIES, REMOTE),
            peer_bytes_per_s=(self.copies - 1) * context.pushed_bytes_per_s,
            memory_overhead=float(self.copies - 1),
        )
