"""Flows of the machine by themselves: links by any name, flows by handle."""

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from cprsim.job.transfer import Transfer, uncontended_rate
from cprsim.machine import fabric
from cprsim.machine.codes import NONE, SAVING
from cprsim.machine.plan_rows import LINKS, TransferRow
from cprsim.machine.run_rows import FlowRow, RunRow


class Flow:
    """A transfer on its way, and afterwards."""

    def __init__(self, transfer: Transfer, row: Any) -> None:
        self.transfer, self.row = transfer, row

    rate = property(lambda self: self.row.rate)
    done = property(lambda self: self.row.done)
    volume = property(lambda self: self.row.volume)
    ends_at = property(lambda self: self.row.ends_at)


class Fabric:
    """Up to six links, of any names, and the flows on them."""

    def __init__(self, capacities: Mapping[str, float]) -> None:
        self._capacities = dict(capacities)
        self._links = list(capacities)
        free = [float("inf")] * (len(LINKS) - len(self._links))
        plan = SimpleNamespace(
            tight=(1 << len(LINKS)) - 1, capacity=[*capacities.values(), *free], shared=False
        )
        run = RunRow(next_end_s=float("inf"), foreground=NONE)
        self._it: Any = SimpleNamespace(plan=plan, run=run, flows=[], ended=[])
        self._flows: dict[int, Flow] = {}  # by number, those that are open
        self._opened = 0

    @property
    def next_end_s(self) -> float:
        return float(self._it.run.next_end_s)

    def open(self, transfer: Transfer, now: float, volume: float | None = None) -> Flow:
        it, uses = self._it, dict(transfer.uses)
        it.run.now = now
        for rows in (it.flows, it.ended):
            rows.extend(FlowRow() for _ in range(it.run.flows + 2 - len(rows)))
        row = TransferRow(
            volume=transfer.volume,
            limit=uncontended_rate(transfer, self._capacities),
            share=transfer.weight / transfer.unit,
            linked=bool(transfer.uses),
            uses=[uses.get(link, 0.0) for link in self._links]
            + [0.0] * (len(LINKS) - len(self._links)),
        )
        volume = transfer.volume if volume is None else volume
        place = fabric.open_flow(it, SAVING, row, volume)
        self._opened += 1
        flow = self._flows[self._opened] = Flow(transfer, it.flows[place])
        flow.row.save = self._opened
        return flow

    def close(self, flow: Flow, now: float) -> None:
        self._it.run.now = now
        number = flow.row.save
        places = [each.save for each in self._it.flows[: self._it.run.flows]]
        fabric.close_flow(self._it, places.index(number))
        self._end(number, flow.row, rate=0.0, ends_at=math.inf)

    def advance(self, now: float) -> list[Flow]:
        self._it.run.now = now
        count = fabric.advance(self._it)
        return [self._end(row.save, row) for row in self._it.ended[:count]]

    def _end(self, number: int, row: Any, **changed: float) -> Flow:
        flow = self._flows.pop(number)
        flow.row = FlowRow()
        flow.row.become(row)
        for name, value in changed.items():
            setattr(flow.row, name, value)
        return flow
