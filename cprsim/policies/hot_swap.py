"""Hot swap: spares take the place of failed machines in seconds, with the last step's state."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import Bytes, Seconds
from cprsim.contract import Context, Groups, Plan, Setting, whole_numbers
from cprsim.job.derived import published
from cprsim.policies.peer_memory import InMemory

#: Who holds a shard: its own server, and the other one of its pair.
_COPIES = 2
#: Until a spare has taken over; the bound that is published.
_TAKEOVER_S = 40.0
#: Machines ready that a search tries: ByteRobust (SOSP 2025) holds 2 for 128, 4 for 1024.
_MOST_SPARES = 8


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
        if context.servers < _COPIES:
            raise ValueError(
                "parameter_servers = 1 has no neighbour that could hold its shard; give the "
                'cluster two, or use system = "peer-memory" with copies = 1'
            )
        groups = Groups(context.servers, _COPIES)
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
