"""A cursor over a timeline that runs the machine's code, for callers outside a simulation."""

from types import SimpleNamespace
from typing import Any

from cprsim.failures.cohorts import NodeCohort
from cprsim.failures.hits import Hit
from cprsim.failures.timeline import Cursor, Timeline
from cprsim.job.severity import SEVERITIES
from cprsim.machine import cursors
from cprsim.machine.codes import OTHER
from cprsim.machine.node_lists import COUNT, FIRST, FIXED, SEVERITY, SPARE, STRUCK
from cprsim.machine.plan_rows import PlanRow
from cprsim.machine.run_rows import NodeRow, RunRow
from cprsim.sim.failure_draws import put_failures
from cprsim.sim.run_draws import RunDraws

#: Number of servers where the timeline doesn't know it.
_MANY = 1 << 16
#: Room for the nodes of a failure that names more nodes than the timeline knows.
_FEW = 4096


def cursor_of(timeline: Timeline) -> Cursor:
    """Return a cursor at time 0, with the job running."""
    servers, nodes = _counts(timeline)
    draws = RunDraws(timeline, servers)
    if draws.source == OTHER:
        own: Any = timeline
        found: Cursor = own.cursor()
        return found
    put_failures(draws, timeline, draws.rows, servers, 0.0)
    return _MachineCursor(draws, servers, nodes)


def _counts(timeline: Timeline) -> tuple[int, int]:
    """Return the numbers of servers and of all nodes, as far as the timeline knows them."""
    cohort = getattr(timeline, "cohort", None)
    known = getattr(timeline, "severities", None) or (
        cohort if isinstance(cohort, NodeCohort) else None
    )
    if known is None:
        return _MANY, 0
    cluster = known.cluster
    return cluster.parameter_servers, cluster.parameter_servers + cluster.trainers


class _MachineCursor:
    def __init__(self, draws: RunDraws, servers: int, nodes: int) -> None:
        leaves = 1 << max(nodes - 1, 0).bit_length()
        self._servers, self._run = servers, RunRow()
        # The part of a run that failures need.
        job: Any = SimpleNamespace(
            plan=PlanRow(servers=servers, nodes=nodes, leaves=leaves, source=draws.source),
            draws=draws.row,
            numbers=draws.numbers,
            choices=draws.choices,
            run=self._run,
            nodes=[NodeRow() for _ in range(nodes)],
            tree=[0.0] * (2 * leaves),
            lists=[[0] * (FIRST + max(nodes, _FEW)) for _ in range(FIXED)],
        )
        self._job = job
        cursors.start(job)

    @property
    def next_s(self) -> float:
        return self._run.next_s

    @property
    def absorbed(self) -> int:
        return self._run.absorbed

    @property
    def struck(self) -> int:
        """Number of the failure that struck last, as severities and causes are drawn by it."""
        return self._run.last_struck

    def ahead(self) -> Hit:
        cursors.look_ahead(self._job)
        return self._struck()

    def strike(self) -> Hit:
        self._run.now = self._run.next_s
        cursors.strike(self._job)
        return self._struck()

    def replace(self, hit: Hit, now_s: float) -> None:
        row, nodes = self._job.lists[SPARE], hit.nodes(self._servers)
        row[COUNT] = len(nodes)
        row[FIRST : FIRST + len(nodes)] = nodes
        self._run.now = now_s
        cursors.replace(self._job, SPARE)

    def resume(self, now_s: float) -> None:
        self._run.now = now_s
        cursors.resume(self._job)

    def pause(self, now_s: float) -> None:
        self._run.now = now_s
        cursors.pause(self._job)

    def go_on(self, now_s: float) -> None:
        self._run.now = now_s
        cursors.unpause(self._job)

    def _struck(self) -> Hit:
        row = self._job.lists[STRUCK]
        hit = Hit.of(row[FIRST : FIRST + row[COUNT]], self._servers)
        return hit._replace(severity=SEVERITIES[row[SEVERITY]])
