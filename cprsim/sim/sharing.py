"""A job in an environment of other jobs, which share links and nodes with it."""

import math
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

import simpy

from cprsim.contract import Recover
from cprsim.machine import step, work
from cprsim.sim.driver import Player
from cprsim.sim.plan_costs import PlanCosts


class SharingPlayer(Player):
    """Plays one plan in an environment in which other jobs change the rates of its transfers.

    `job`: the run, as functions of the machine take it.
    """

    def __init__(self, plan_costs: PlanCosts, nodes: int) -> None:
        super().__init__(plan_costs, nodes)
        self.job: Any = self._job
        self.job.plan.shared = True
        self._fast = False, False  # they go past other jobs' events in one step
        plan = plan_costs.plan
        if plan.schedules:  # where its nodes are taken, it loads its last save
            last = Recover("all", source=plan.last_save.tier)
            self.job.plan.hands_over = self._rows.number_of_answer(last)

    def join(self, member: Any) -> None:
        """Let the job report its flows to `member` (`cprsim.clusters.links.SharingJob`)."""
        self._outside.member = member

    def process_shared(
        self, env: simpy.Environment, begun: Callable[[], None], stepped: Callable[[], None]
    ) -> Generator[simpy.Event, Any, None]:
        """Run the job as a process from now on; an interrupt says that its next event has moved.

        `begun` is called once the run is reset; `stepped` after that, and after each of its events.
        """
        job, start_s = self.job, env.now
        step.start(job)
        begun()
        stepped()
        while step.is_under_way(job):
            job.make_room()
            at_s = start_s + work.next_s(job)
            while at_s > env.now:
                with suppress(simpy.Interrupt):
                    yield env.timeout(at_s - env.now) if math.isfinite(at_s) else env.event()
                at_s = start_s + work.next_s(job)
            step.happen(job)
            stepped()
