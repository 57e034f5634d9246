"""Twin groups: groups of servers that hold all tables each, and average now and then."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import PositiveSeconds, Seconds
from cprsim.basics.units import format_bytes
from cprsim.contract.actions import Recover, Save
from cprsim.contract.answers import Answers, Case
from cprsim.contract.plan import Plan, Schedule
from cprsim.contract.policy import Context, Interval, Policy, Setting, whole_numbers
from cprsim.job.derived import OwnCost
from cprsim.job.tiers import REMOTE, Tier
from cprsim.policies.full import rare_interval_s

#: The servers of other groups that hold the same rows, as they were when all last averaged.
TWINS = "twins"
#: Groups that a search tries.
_MOST_GROUPS = 4


@dataclass(frozen=True, slots=True)
class Twins:
    """All servers with the same rows: one of each group, groups being servers in a row."""

    servers: int
    groups: int

    def sets(self, server: int) -> tuple[tuple[int, ...], ...]:
        """One: the server and its twins, itself first."""
        size = self.servers // self.groups
        return (tuple((server + i * size) % self.servers for i in range(self.groups)),)


class TwinGroups(Policy):
    """Train a copy of the tables in each of several groups; a twin refills a lost server.

    Source: 2D sparse parallelism (arXiv 2508.03854): tables sharded in a group, the same in each
    group.

    TorchRec's `DMPCollection`: each group trains its own copy of all tables on its own samples, and
    `sync()` averages the copies now and then. When a server is lost, its replacement is filled by a
    twin, the server of another group with the same rows, as they were when all last averaged: what
    the lost one had learned since is lost, and nothing is read from the store. The job waits
    meanwhile, as one that trains in step does. Where all twins of a server are down at once, or the
    whole cluster, all returns to the last save in the store, or to the start without one; a save
    averages first.

    First order: averaging costs `sync / every`, and a failure one of N servers `every / 2`, with a
    rate of failures r a share `r every / (2 N)` of all updates.

    Memory: `groups - 1` times the rows.

    `groups`: how many hold all tables; they must divide the servers. `every`: training from one
    averaging to the next. `sync`: how long training waits for one; where it isn't given, an
    all-reduce between the groups on rings, `2 (groups - 1) / groups` of a server's rows over its
    card each way (R. Rabenseifner, ICCS 2004). `interval`: saves to the store, none by default.
    """

    system: Literal["twin-groups"]
    groups: Annotated[int, Field(ge=2)] = 2
    every_s: PositiveSeconds = Field(alias="every")
    sync_s: Seconds | None = Field(None, alias="sync")
    interval: Interval | None = None

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Return how often it averages and saves; its groups where the servers divide by them."""
        start_s = self.plan(context).schedules[-1].interval_s
        found = [self.span("every", self.every_s, context), self.span("interval", start_s, context)]
        groups = whole_numbers("groups", 2, min(context.servers, _MOST_GROUPS))
        fit = [n for each in groups for n in each.values if context.servers % n == 0]
        choices = [each._replace(values=tuple(fit)) for each in groups if len(fit) > 1]
        return (*found, *choices)

    def plan(self, context: Context) -> Plan:
        """Averaging is a save to the twins that stalls training, and is there at once."""
        if context.servers % self.groups:
            raise ValueError(
                f"groups = {self.groups} doesn't divide the {context.servers} parameter servers; "
                "each group holds all tables on as many servers"
            )
        sync = self._averaging(context)
        sync_s = sync.value
        twins = Tier(TWINS, "peers", save_s=0.0, snapshot_s=sync_s, live=True)
        averaging = Save(TWINS, blocking=False, writes=2.0 * (self.groups - 1))
        stall_s = self.whole_save_s(context) + sync_s
        interval_s = rare_interval_s(self.interval, stall_s, context.mtbf_s)
        costs = context.costs.costs
        measured = costs.load_partial_s is not None or costs.load_s is not None
        # Each server has the rows of as many as there are groups; a measured load is of all.
        from_twins = Recover("lost", source=TWINS, reads=1.0 if measured else float(self.groups))
        stored = Recover("all")
        gone = Twins(context.servers, self.groups)
        rule = Answers(
            (Case(stored, severities=("cluster",)), Case(stored, gone=gone), Case(from_twins))
        )
        return Plan(
            "replica",
            (Schedule(self.every_s, averaging), Schedule(interval_s, Save(extra_s=sync_s))),
            rule,
            tiers=(twins, REMOTE),
            memory_overhead=float(self.groups - 1),
            own_costs=(sync,),
        )

    def _averaging(self, context: Context) -> OwnCost:
        if self.sync_s is not None:
            return OwnCost("sync", self.sync_s, "s", "given")
        costs = context.costs
        if costs.model is None or costs.cluster.nic is None:
            raise ValueError(
                "what averaging takes can't be derived without [model] and cluster.nic; give "
                'those, or the measured sync = "2 s"'
            )
        shard = costs.model.shard_bytes * self.groups / context.servers
        sent = 2 * (self.groups - 1) / self.groups * shard
        follows = f"{format_bytes(sent)} a server over its card"
        return OwnCost("sync", sent / costs.cluster.nic, "s", "derived", follows)
