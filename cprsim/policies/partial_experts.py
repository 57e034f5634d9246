"""Partial experts: each save takes some experts of a mixture, in rotation."""

import math
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cprsim.basics.periods import whole_periods
from cprsim.basics.schema import Part, Seconds
from cprsim.contract.actions import Recover, Save
from cprsim.contract.answers import Answers, Case
from cprsim.contract.plan import Plan, Rotation, Rotations, every
from cprsim.contract.policy import Choice, Context, Interval, Policy, Setting
from cprsim.formulas.experts import checkpoint_share, rotation_left_s
from cprsim.job.derived import OwnCost, snapshot
from cprsim.job.tiers import REMOTE, Tier
from cprsim.policies.asynchronous import background_interval_s
from cprsim.policies.full import FULL_ROLLBACK, checkpoint_interval_s

#: The tier of the hosts' memory.
HOST = "host"
#: One that is read from, one that is written to, one that is stored from (MoC-System).
_BUFFERS = 3


def fresher_where_healthy(servers: int) -> Answers:
    """The whole job returns to its last save; hosts whose memory is left to what they hold.

    Where the memory of all is left, nothing is read from the store.
    """
    from_memory = Recover("all", source=HOST)
    return Answers(
        (
            Case(Recover("all"), severities=("cluster",)),
            Case(from_memory, severities=("process",)),
            Case(from_memory, servers=(0, 0)),
            Case(Recover("all"), servers=(servers, math.inf)),
            Case(Recover("all", healthy=HOST)),
        )
    )


class PartialExperts(Policy):
    """Save a few experts at a time, in rotation; a failure takes the whole job back.

    Source: PEC, later MoC-System (arXiv 2408.04307).

    For towers of mixtures of experts. Each save holds everything that is no expert and the next
    `per_save` of the `experts`; equation 6: it writes `1 - e + e K/N` of a full checkpoint, `e`
    being the `expert_share`. A failure takes the whole job back to its last save, but the experts
    that this one left out come from older ones: what they had learned since is lost, on average
    over the experts `(N/K - 1) interval / 2` of training. `updates_lost` is that, over the experts
    alone: the paper's PLT, the proportion of lost tokens, if all experts get as many. What is lost
    of the embedding rows, which every save holds, is nothing.

    `interval`: training from one save to the next. `"optimal"` weighs time alone, not what is lost.
    `snapshot_experts`: how many experts of each save, K_s >= K, are kept in the memory of the hosts
    (the paper's second level), which hosts that are up return to, in `snapshot_load` where nothing
    has to come from the store. `snapshot`: how long training waits for a save, the paper's max(0,
    T_snapshot - T_forward_backward); by default a server's part of what is copied over
    `cluster.memory_bandwidth`.

    `experts`: how many there are, N. `per_save`: how many of them a save holds, K. `expert_share`:
    share of a full checkpoint that they are. `blocking`: whether training waits for a save.
    `snapshot_load`: time to return to the experts in the hosts' memory. `plt_limit`: the PLT beyond
    which K grows.

    `dynamic`: K doubles with each failure after which the PLT of the run is beyond `plt_limit`. The
    policy estimates it from the rollbacks that it sees.

    Measured by others: `expert_share` 0.86, of GPT-350M-16E; `plt_limit` 3.75 %, up to which the
    loss of GPT-125M-8E stayed the same. Assumed: one expert a save.
    """

    system: Literal["partial-experts"]
    experts: Annotated[int, Field(ge=1)]
    per_save: Annotated[int, Field(ge=1)] = 1
    interval: Interval = "optimal"
    expert_share: Annotated[float, Field(ge=0, le=1), Part] = 0.86
    blocking: bool = False
    snapshot_s: Seconds | None = Field(None, alias="snapshot")
    snapshot_experts: Annotated[int, Field(ge=1)] | None = None
    snapshot_load_s: Seconds = Field(0.0, alias="snapshot_load")
    dynamic: bool = False
    plt_limit: Annotated[float, Field(gt=0, le=1), Part] = 0.0375

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        kept = self.snapshot_experts
        if self.per_save > self.experts:
            raise ValueError(
                f"per_save = {self.per_save} is more than the {self.experts} experts; give at most "
                "as many"
            )
        if kept is not None and not self.per_save <= kept <= self.experts:
            raise ValueError(
                f"snapshot_experts = {kept} must be from per_save = {self.per_save} to experts = "
                f"{self.experts}: what is stored comes from the snapshot"
            )
        if self.blocking and self.snapshot_s is not None:
            raise ValueError("'snapshot' goes with blocking = false; set that, or leave it out")
        return self

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Its interval, and the experts of a save: powers of two, and all."""
        found = {2**power for power in range(self.experts.bit_length())} | {self.experts}
        per_save = tuple(sorted(each for each in found if each <= self.experts))
        return (*super().settings(context), Choice("per_save", per_save))

    def plan(self, context: Context) -> Plan:
        """Resolve the interval; rotations of each K that the run may use."""
        copied = self._snapshot(context)
        own_costs = () if copied is None else (copied,)
        stall_s = 0.0 if copied is None else copied.value
        period_s = self._period_s(context, stall_s)
        rotations = tuple(self._rotations(context, period_s))
        first = rotations[0]
        schedules = every(period_s, first.stored)
        tiers: tuple[Tier, ...] = (Tier(REMOTE.name, snapshot_s=stall_s),)
        recover: Answers = FULL_ROLLBACK
        # What is stored in the background lies in memory until then.
        memory = 0.0 if self.blocking else self._share(self.per_save)
        if first.kept is not None:
            schedules = every(period_s, first.kept) + schedules
            tiers = (Tier(HOST, "host", save_s=0.0, load_s=self.snapshot_load_s), *tiers)
            recover = fresher_where_healthy(context.servers)
            memory = _BUFFERS * self._share(self.snapshot_experts or self.experts)
        limit_s = self.plt_limit * context.useful_time_s
        turns = len(rotations) > 1 or first.kept is not None
        sequence = Rotations(rotations, context.servers, limit_s) if turns else None
        return Plan(
            "full",
            schedules,
            recover,
            tiers,
            sequence=sequence,
            memory_overhead=memory,
            own_costs=own_costs,
        )

    def _snapshot(self, context: Context) -> OwnCost | None:
        """Return what a save in the background stalls training for; None where saves block."""
        if self.blocking:
            return None
        return snapshot(
            context.costs, self.snapshot_s, self._share(self.snapshot_experts or self.per_save)
        )

    def _period_s(self, context: Context, stall_s: float) -> float:
        save_s = self._save_s(context, writes=self._share(self.per_save))
        if self.blocking:
            return checkpoint_interval_s(self.interval, save_s, context.mtbf_s)
        return background_interval_s(self.interval, stall_s, save_s, context.mtbf_s)

    def _share(self, per_save: int) -> float:
        return checkpoint_share(self.expert_share, self.experts, per_save)

    def _rotations(self, context: Context, period_s: float) -> Iterator[Rotation]:
        """One for each K, from `per_save`, doubled until all experts are saved if `dynamic`."""
        saves = max(whole_periods(context.useful_time_s, period_s), 1)
        per_save, kept = self.per_save, self.snapshot_experts
        while True:
            stored = self._save(REMOTE.name, self.blocking, per_save, period_s, saves)
            if kept is None:
                yield Rotation(stored, None)
            else:
                most = max(kept, per_save)
                yield Rotation(stored, self._save(HOST, True, most, period_s, saves))
            if not self.dynamic or per_save == self.experts:
                return
            per_save = min(2 * per_save, self.experts)

    def _save(self, tier: str, blocking: bool, per_save: int, period_s: float, saves: int) -> Save:
        # Without experts, and with all of them in each save, nothing is left.
        if per_save == self.experts or self.expert_share == 0 or math.isinf(period_s):
            return Save(tier, blocking)
        steady = max(math.ceil(self.experts / per_save) - 1, 1)
        left_s = rotation_left_s(self.experts, per_save, period_s, min(saves, steady))
        return Save(tier, blocking, unsaved_s=tuple(left_s), writes=self._share(per_save))
