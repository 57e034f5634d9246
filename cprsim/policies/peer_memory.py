"""The state of every step in memory: copies at peers, and spares that take over in seconds."""

import math
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import Bytes, PositiveSeconds, Seconds
from cprsim.contract.actions import Recover, Save
from cprsim.contract.answers import Answers, Case, Groups
from cprsim.contract.plan import Mirror, Plan, every
from cprsim.contract.policy import Context, GivenInterval, Policy, Setting, whole_numbers
from cprsim.job.derived import copied, published
from cprsim.job.tiers import REMOTE, Tier

#: The tier of all copies in hosts' memory, a server's own one and those that it keeps for peers.
MEMORY = "memory"
#: A copy is whole while the next one is written: each server has two buffers for each copy.
_BUFFERS = 2
#: Copies of a shard that a search tries.
_MOST_COPIES = 4
#: Of hot swap, who holds a shard: its own server, and the other one of its pair.
_PAIR = 2
#: Until a spare has taken over; the bound that is published.
_TAKEOVER_S = 40.0
#: Machines ready that a search tries: ByteRobust (SOSP 2025) holds 2 for 128, 4 for 1024.
_MOST_SPARES = 8


def memory_answers(groups: Groups, takeover_s: float = 0.0, *, restarts: bool = True) -> Answers:
    """All return to the last step in memory, or to the remote store where a shard has no copy.

    A host whose process alone died still has its memory, so nothing is fetched then, and nothing
    for a lost trainer, whose dense part is copied from another one.
    """
    stored = Recover("all", takeover_s=takeover_s)
    fetched = Recover("all", source=MEMORY, takeover_s=takeover_s, restarts=restarts)
    return Answers(
        (
            Case(stored, severities=("cluster",)),
            Case(stored, severities=("node",), gone=groups),
            Case(fetched, severities=("node",), servers=(1, math.inf)),
            Case(fetched._replace(reads=0.0)),
        )
    )


class InMemory(Policy):
    """Keys of policies that mirror each step in the servers' memory.

    `iteration`: useful seconds of one step, the time between two mirrored states. A failure takes
    the job back to the end of the last full step, and some before it. `behind`: how many steps
    before the last full one it returns to: 1 while the copy of a step travels during the next one
    (Gemini's wasted time, `t_ckpt + 1/(2f) + t_rtvl` with `t_ckpt = 1/f`, less the retrieval).
    `stall`: what mirroring stops each step for, 0 where it hides in idle time; by default a
    server's part of the step's bytes over `cluster.memory_bandwidth`.
    `retrieval`: measured time to fetch lost shards from peers, else it follows from the shards and
    the cards. `interval`: saves to the remote store, in the background and from memory, for what
    memory can't answer; longer than the job means none.
    """

    iteration_s: PositiveSeconds = Field(alias="iteration")
    behind: Annotated[int, Field(ge=0)] = 1
    stall_s: Seconds | None = Field(None, alias="stall")
    retrieval_s: Seconds | None = Field(None, alias="retrieval")
    interval_s: GivenInterval = Field(10_800.0, alias="interval")  # 3 h: Gemini's baseline

    def mirrored(
        self,
        context: Context,
        groups: Groups,
        bytes_per_step: float | None,
        takeover_s: float = 0.0,
        spares: int | None = None,
        *,
        restarts: bool = True,
    ) -> Plan:
        """The plan that mirrors steps in these groups; each copy of a step is so many bytes.

        `bytes_per_step`: None where they are not known. `restarts`: whether processes that are up
        are started again, too.
        """
        stall = copied(context.costs, self.stall_s, bytes_per_step, "stall")
        sent = (groups.copies - 1) * (bytes_per_step or 0.0)
        return Plan(
            recovery="full",
            schedules=every(self.interval_s, Save(blocking=False)),
            recover=memory_answers(groups, takeover_s, restarts=restarts),
            tiers=(Tier(MEMORY, "peers", load_s=self.retrieval_s), REMOTE),
            mirror=Mirror(MEMORY, self.iteration_s, self.behind),
            slowdown=stall.value / self.iteration_s,
            peer_bytes_per_s=sent / self.iteration_s,
            memory_overhead=float(_BUFFERS * groups.copies),
            spares=spares,
            own_costs=(stall,),
        )


class PeerMemory(InMemory):
    """Copy every step into the memory of peers, and save to the store for what they can't restore.

    Source: Gemini (SOSP 2023).

    Each step, the whole checkpoint is copied into the memory of the `copies` servers of a group,
    the shard's own one among them: (copies - 1) checkpoints cross the servers' cards in each
    `iteration`. They are cut in pieces and placed where the network is idle, so that they slow
    training only where cards are full; without `[model]` or `nic` nothing but `stall` does.
    Recovery is exact: everyone returns to the same step, and lost shards come from a peer, as long
    as every group has a member whose memory survives. A failure of the cluster, or of a whole
    group, falls back to the remote store, or to the start of the job without a save there.

    Memory: two buffers of each copy, own and peers', so that one is whole while the other is
    written. A replacement's copies of its peers' shards are taken to be there when its own shard
    is. With one copy only failures of processes and trainers are answered from memory.

    `copies`: servers of a group, which all hold each other's shards.

    Measured by others: `stall` of 0.18 to 1.84 s a step (ByteRobust, SOSP 2025, table 8, its
    "Memory save"); Gemini itself reports none. Assumed: `behind` = 1.
    """

    system: Literal["peer-memory"]
    copies: Annotated[int, Field(ge=1)] = 2

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Its interval and its copies."""
        most = min(context.servers, _MOST_COPIES)
        return (*super().settings(context), *whole_numbers("copies", 2, most))

    def plan(self, context: Context) -> Plan:
        """Copies must fit on the servers."""
        if self.copies > context.servers:
            raise ValueError(
                f"copies = {self.copies} is more than the {context.servers} parameter servers; "
                "each copy of a shard needs the memory of another server"
            )
        model = context.costs.model
        whole = None if model is None else model.checkpoint_bytes
        return self.mirrored(context, Groups(context.servers, self.copies), whole)


class HotSwap(InMemory):
    """Copy every step into a peer's memory, and keep spare machines that take over at once.

    Source: DeadPool/PHOENIX (arXiv 2607.01646).

    Each step, off the critical path, what peers can't rebuild is copied into ping-pong buffers of
    the own host and of one peer: neighbouring servers form pairs, the last three a ring where their
    number is odd. On parameter servers that is the rows which the step touched, where the model
    gives its rows and the job its samples (`RowModel.touched_bytes` of samples x iteration / useful
    time), else all embedding rows with their optimizer state; `snapshot` sets it, all servers
    together. The dense part, of which every trainer holds a copy, never travels.

    After a failure a spare takes over in `takeover`: classification, and new communicators at run
    time; the published bound, < 40 s, taken unchanged and without its load. Lost shards come
    from the pair's other server, and all go on from the last snapshot, `behind` = 1 step at most
    before the last full step. With none of the `spares` left the job waits for the first machine
    that is repaired, after its `costs.reschedule` (with exponential lives that is so for Erlang's
    B(spares + 1, nodes x repair / life) of the time). The loss of a pair, or of the cluster,
    falls back to the remote checkpoint. Processes that are up go on, so that a start
    (`costs.start`) is charged in that last case alone.

    `takeover`: from a failure until a spare has taken over. `spares`: machines that are ready.
    `snapshot`: bytes that all servers together copy to their peers in a step.

    Memory: two buffers of the own and the peer's shard, a reading of the paper. Assumed: `spares` =
    2, what ByteRobust (SOSP 2025) holds for 128 machines. Without spares and takeover it is
    `peer-memory` with two copies, but for what travels.
    """

    system: Literal["hot-swap"]
    takeover_s: Seconds = Field(_TAKEOVER_S, alias="takeover")
    spares: Annotated[int, Field(ge=0)] = 2
    snapshot_bytes: Bytes | None = Field(None, alias="snapshot")

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Return its interval, and the number of ready spares."""
        most = min(context.servers + context.trainers, _MOST_SPARES)
        return (*super().settings(context), *whole_numbers("spares", 0, most))

    def plan(self, context: Context) -> Plan:
        """Check that there are pairs, and that no more machines are ready than can fail."""
        nodes = context.servers + context.trainers
        if self.spares > nodes:
            raise ValueError(
                f"spares = {self.spares} is more than the {nodes} nodes of the job; one for each "
                "is the most that can be of use"
            )
        if context.servers < _PAIR:
            raise ValueError(
                "parameter_servers = 1 has no neighbour that could hold its shard; give the "
                'cluster two, or use system = "peer-memory" with copies = 1'
            )
        groups = Groups(context.servers, _PAIR)
        step = self._step_bytes(context)
        plan = self.mirrored(context, groups, step, self.takeover_s, self.spares, restarts=False)
        takeover = published(
            "takeover", self.takeover_s, _TAKEOVER_S, "DeadPool/PHOENIX, arXiv 2607.01646"
        )
        return replace(plan, own_costs=(*plan.own_costs, takeover))

    def _step_bytes(self, context: Context) -> float | None:
        """Return the bytes that one snapshot copies to peers, all together; None if unknown."""
        model = context.costs.model
        if self.snapshot_bytes is not None:
            return self.snapshot_bytes
        if context.rows is not None and context.samples is not None:
            share = self.iteration_s / context.useful_time_s
            return context.rows.touched_bytes(context.samples * share)
        return None if model is None else model.shard_bytes
