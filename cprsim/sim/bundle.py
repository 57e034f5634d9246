"""A run of the machine in plain Python, with rows and lists for records and arrays."""

from typing import Any

from cprsim.machine.draws_row import DrawsRow
from cprsim.machine.rows import Row, RowList
from cprsim.machine.run_rows import LossRow, working_memory
from cprsim.sim.tables import Tables

#: Room at first for flows and for failures, each.
_FEW = 8


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
        self.draws, self.numbers, self.choices = DrawsRow(), (), ()
        self.outside = outside
        self._room = 0
        self._make_room(_FEW)
        self.run: Any = vars(self)["states"][0]

    def make_room(self) -> None:
        """Lengthen the tables, so that there is room for all flows that may begin at once.

        And for what each shard may lose at once: by a rollback, a loss and a refill.
        """
        run, losses, servers = self.run, vars(self)["losses"], self.plan.servers
        needed = run.flows + 2 * run.comings + _FEW
        if needed > self._room:
            self._make_room(2 * needed)
        if len(losses) < run.losses + 4 * servers:
            losses.extend(LossRow() for _ in range(run.losses + 8 * servers))

    def _make_room(self, flows: int) -> None:
        plan, self._room = self.plan, flows
        sizes = plan.servers, plan.nodes, max(plan.schedules, 1), plan.older, plan.leaves
        tables = working_memory(*sizes, plan.spares, flows)
        for name, (kind, length) in tables.items():
            if kind is int:
                count, width = length
                found = vars(self).setdefault(name, [])
                for each in found:
                    each.extend([0] * (width - len(each)))
                found += ([0] * width for _ in range(count - len(found)))
            elif issubclass(kind, Row):
                found = vars(self).setdefault(name, RowList())
                found.extend(kind() for _ in range(length - len(found)))
            else:
                vars(self).setdefault(name, [0.0] * length)
