"""A run of the machine in plain Python, with rows and lists for records and arrays."""

from typing import Any

from cprsim.machine.codes import CAUSES
from cprsim.machine.draws_row import DrawsRow
from cprsim.machine.node_lists import FIRST, FIXED
from cprsim.machine.plan_rows import TransferRow
from cprsim.machine.run_rows import (
    ComingRow,
    FlowRow,
    KeptRow,
    LinkRow,
    LossRow,
    NodeRow,
    RunRow,
    ShardRow,
    TierRow,
)
from cprsim.sim.tables import Tables

#: Room at first for flows and for failures, each.
_FEW = 8


class RowList(list[Any]):
    """Rows of one kind; an assignment copies the numbers into the row in that place."""

    def __setitem__(self, place: Any, row: Any) -> None:
        self[place].become(row)


class Bundle:
    """A run under way, as functions of the machine take it (`cprsim.machine.rows.Running`).

    `outside`: its observer, and its controller where the plan has one.
    """

    def __init__(self, tables: Tables, outside: Any) -> None:
        (plan,) = tables.plans
        self.plan: Any = plan
        self.schedules, self.saves, self.answers = tables.schedules, tables.saves, tables.answers
        self.transfers, self.cases = tables.transfers, tables.cases
        self.whole, self.real = tables.whole, tables.real
        self.run = RunRow()
        self.draws, self.numbers, self.choices = DrawsRow(), (), ()
        tiers, older = max(plan.schedules, 1), max(plan.older, 1)
        self.tiers, self.kept, self.links, self.rated, self.nodes, self.shards = (
            RowList(kind() for _ in range(count))
            for kind, count in (
                (TierRow, tiers),
                (KeptRow, tiers * older),
                (LinkRow, 3),
                (TransferRow, 2),
                (NodeRow, plan.nodes),
                (ShardRow, plan.servers * tiers),
            )
        )
        self.spent = [0.0] * CAUSES
        self.tree = [0.0] * (2 * plan.leaves)
        self.ready_s = [0.0] * plan.spares
        self.flows, self.ended, self.comings = RowList(), RowList(), RowList()
        self.losses = RowList()
        self._width = FIRST + 4 * plan.nodes + _FEW
        self.lists: list[list[int]] = [[0] * self._width for _ in range(FIXED)]
        self.outside = outside
        self._room = 0
        self.make_room()

    def make_room(self) -> None:
        """Lengthen the tables, so that there is room for all flows that may begin at once.

        And for what each shard may lose at once: by a rollback, a loss and a refill.
        """
        run = self.run
        if len(self.losses) < run.losses + 4 * self.plan.servers:
            more = run.losses + 8 * self.plan.servers
            self.losses.extend(LossRow() for _ in range(more))
        needed = run.flows + 2 * run.comings + _FEW
        if needed <= self._room:
            return
        self._room = 2 * needed
        for rows, kind in ((self.flows, FlowRow), (self.ended, FlowRow), (self.comings, ComingRow)):
            rows.extend(kind() for _ in range(self._room - len(rows)))
        more = FIXED + 4 * self._room - len(self.lists)
        self.lists.extend([0] * self._width for _ in range(more))
