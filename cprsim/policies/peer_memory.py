"""Peer memory: the state of every step in the hosts' own memory and in that of their peers."""

import math
from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import PositiveSeconds, Seconds
from cprsim.contract import (
    REMOTE,
    Answers,
    Case,
    Context,
    GivenInterval,
    Groups,
    Mirror,
    Plan,
    Policy,
    Recover,
    Save,
    Setting,
    Tier,
    every,
    whole_numbers,
)
from cprsim.job.derived import mirrored_step

#: The tier of all copies in hosts' memory, a server's own one and those that it keeps for peers.
MEMORY = "memory"
#: A copy is whole while the next one is written: each server has two buffers for each copy.
_BUFFERS = 2
#: Copies of a shard that a search tries.
_MOST_COPIES = 4


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
        stall = mirrored_step(context.costs, self.stall_s, bytes_per_step)
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
