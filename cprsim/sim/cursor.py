"""The way through a timeline by itself, for those who make failures of it outside a simulation."""

from typing import Any

from cprsim.failures.hit import SEVERITIES, Hit
from cprsim.failures.timeline import Cursor, Timeline
from cprsim.machine import cursors
from cprsim.machine.codes import OTHER
from cprsim.machine.node_lists import COUNT, FIRST, FIXED, SEVERITY, SPARE, STRUCK
from cprsim.machine.rows import NodeRow, PlanRow, RunRow
from cprsim.sim.drawn import FailureDraws

#: Of timelines that don't know of how many nodes they are.
_MANY = 1 << 16


def cursor(timeline: Timeline) -> Cursor:
    """Start a timeline at time 0 with the job running."""
    found: Any = _Cursor(timeline)
    return timeline.cursor() if found.is_of_another_kind else found


class _Cursor:
    """What functions of the machine are given of a run, as far as failures need it."""

    outside = None

    def __init__(self, timeline: Timeline) -> None:
        servers, nodes = getattr(timeline, "servers", _MANY), getattr(timeline, "nodes", 0)
        draws = FailureDraws(timeline, servers)
        self.draws, self.numbers, self.choices = draws.row, draws.numbers, draws.choices
        self.is_of_another_kind = draws.source == OTHER
        if self.is_of_another_kind:
            return
        leaves = 1 << max(nodes - 1, 0).bit_length()
        self.plan: Any = PlanRow(servers=servers, nodes=nodes, leaves=leaves, source=draws.source)
        self.run = RunRow()
        self.nodes = [NodeRow() for _ in range(nodes)]
        self.tree = [0.0] * (2 * leaves)
        self.lists = [[0] * (FIRST + max(nodes, _FEW)) for _ in range(FIXED)]
        cursors.start(self._it)

    @property
    def _it(self) -> Any:
        return self

    @property
    def next_s(self) -> float:
        """When the next failure strikes."""
        return self.run.next_s

    @property
    def absorbed(self) -> int:
        """Failures that fell into a downtime."""
        return self.run.absorbed

    def ahead(self) -> Hit:
        """What the failure at `next_s` is to take down."""
        cursors.look_ahead(self._it)
        return self._struck()

    def strike(self) -> Hit:
        """Take the failure at `next_s`."""
        self.run.now = self.run.next_s
        cursors.strike(self._it)
        return self._struck()

    def replace(self, hit: Hit, now_s: float) -> None:
        """The nodes that `hit` took down are placed anew."""
        self.run.now = now_s
        row, nodes = self.lists[SPARE], hit.nodes(self.plan.servers)
        row[COUNT] = len(nodes)
        row[FIRST : FIRST + len(nodes)] = nodes
        cursors.replace(self._it, SPARE)

    def resume(self, now_s: float) -> None:
        """The job can be hit again."""
        self.run.now = now_s
        cursors.resume(self._it)

    def pause(self, now_s: float) -> None:
        """The job runs on no nodes."""
        self.run.now = now_s
        cursors.pause(self._it)

    def go_on(self, now_s: float) -> None:
        """It runs again after a pause."""
        self.run.now = now_s
        cursors.go_on(self._it)

    def _struck(self) -> Hit:
        row = self.lists[STRUCK]
        hit = Hit.of(row[FIRST : FIRST + row[COUNT]], self.plan.servers)
        return hit._replace(severity=SEVERITIES[row[SEVERITY]])


#: Nodes that there is room for where a failure of a log tells more than there are.
_FEW = 4096
