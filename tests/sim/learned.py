"""What a job has learned and lost, by itself: its training, saves and losses are said by hand."""

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from cprsim.contract import Mirror, Save, Schedule, rules
from cprsim.machine import learning, state
from cprsim.machine.codes import NONE, SAVING
from cprsim.machine.node_lists import COUNT, FIRST
from cprsim.machine.plan_rows import AnswerRow, PlanRow, SaveRow, ScheduleRow
from cprsim.machine.run_rows import (
    CheckpointRow,
    FlowRow,
    LossRow,
    NodeRow,
    RunRow,
    ShardRow,
    TierRow,
)

_LIST = 0


class State:
    """Progress, and what is safe and lost, of servers with such schedules."""

    def __init__(
        self,
        useful_time_s: float,
        servers: int,
        schedules: Sequence[Schedule] = (),
        mirror: Mirror | None = None,
        update_shares: Sequence[float] = (),
        left_shares: Sequence[float] = (),
        room: int = 1000,
    ) -> None:
        self._tiers, self._mirror = [each.save.tier for each in schedules], mirror
        plan = PlanRow(
            servers=servers,
            useful_s=useful_time_s,
            schedules=len(schedules),
            per_shard=1.0 / rules.all_samples(useful_time_s, servers),
            updates=1,
            uneven=bool(update_shares),
            left=1 + len(update_shares),
            uneven_left=bool(left_shares),
            step_s=0.0 if mirror is None else mirror.step_s,
            behind=0.0 if mirror is None else mirror.behind,
        )
        self._it: Any = SimpleNamespace(
            plan=plan,
            run=RunRow(),
            real=[0.0, *update_shares, *left_shares],
            tiers=[TierRow(last=number) for number in range(len(schedules))],
            kept=[CheckpointRow() for _ in schedules],
            schedules=[ScheduleRow(period_s=each.period_s) for each in schedules],
            nodes=[NodeRow(back_epoch=-1) for _ in range(servers)],
            shards=[ShardRow(epoch=-1) for _ in range(servers * len(schedules))],
            lists=[[0] * (FIRST + servers)],
            losses=[LossRow() for _ in range(room)],
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._it.run, name)

    @property
    def learning_lost(self) -> float:
        """What the ledger would say now."""
        return learning.lost(self._it)

    def train_to(self, progress_s: float, slower_s: float = 0.0) -> None:
        """Train, which takes so much longer than at full speed."""
        self._it.run.progress_s = progress_s
        self._it.run.slowdown_s += slower_s

    def taken(self, save: Save) -> state.Held:
        """What a save takes now."""
        return state.taken(self._it, save.reads)

    def begun(self, save: Save) -> state.Held:
        """What a save takes that is under way from now on."""
        taken = self.taken(save)
        self._it.flows = [FlowRow(kind=SAVING, taken_updates_lost=taken.updates_lost)]
        self._it.run.flows = 1
        return taken

    def saved(self, tier: str) -> state.Held:
        """What a tier holds."""
        return state.saved(self._it, self._tiers.index(tier), False)

    def usable(self, taken: state.Held, save: Save) -> None:
        """What a save took is stored."""
        row = SaveRow(
            tier=self._tiers.index(save.tier),
            blocking=save.blocking,
            portion=save.portion,
            unsaved=len(self._it.real),
            unsaved_count=len(save.unsaved_s),
        )
        self._it.real += save.unsaved_s
        state.usable(self._it, taken, row, 1.0)

    def lose(self, servers: Iterable[int], tier: str) -> None:
        """Shards return to the last checkpoint of a tier."""
        state.lose(self._it, self._listed(servers), self._number(tier))

    def refill(self, servers: Iterable[int]) -> None:
        """Shards serve again."""
        state.refill(self._it, self._listed(servers))

    def roll_back(self, tier: str, lost: Iterable[int] = (), healthy: str | None = None) -> None:
        """The whole job returns; who isn't lost, to another tier."""
        answer = AnswerRow(
            source=self._number(tier),
            mirrored=self._mirror is not None and tier == self._mirror.tier,
            has_healthy=healthy is not None,
            healthy=NONE if healthy is None else self._number(healthy),
        )
        state.roll_back(self._it, answer, self._listed(lost))

    def _number(self, tier: str) -> int:
        return self._tiers.index(tier) if tier in self._tiers else NONE

    def _listed(self, servers: Iterable[int]) -> int:
        row, nodes = self._it.lists[_LIST], sorted(servers)
        row[COUNT] = len(nodes)
        row[FIRST : FIRST + len(nodes)] = nodes
        return _LIST
