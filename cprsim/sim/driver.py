"""The SimPy driver: a job is a process, by itself in an environment or with others."""

import math
from collections.abc import Generator
from typing import Any

import simpy

from cprsim.contract.ledger import Ledger
from cprsim.contract.plan import user_code
from cprsim.machine import ledger as account
from cprsim.machine import step, work
from cprsim.sim.bundle import Bundle
from cprsim.sim.draws import RunDraws
from cprsim.sim.observer import Observer
from cprsim.sim.outside import Outside, OwnController
from cprsim.sim.plan_costs import PlanCosts
from cprsim.sim.tables import PlanRows, Tables


class Player:
    """Plays one plan of a scenario, one run after the other."""

    def __init__(self, plan_costs: PlanCosts, nodes: int) -> None:
        self.plan_costs = plan_costs
        tables = Tables()
        own = user_code(plan_costs.plan) is not None
        self._rows = plan_rows = PlanRows(tables, plan_costs, own)
        tables.plans.append(plan_rows.plan(nodes, 0))
        self._outside = (OwnController if own else Outside)(plan_costs, plan_rows)
        self._job = self._outside.job = Bundle(tables, self._outside)
        self._fast = self._job.plan.fast_blocking, self._job.plan.fast_background

    def play(self, draws: RunDraws, observer: Observer | None = None) -> list[float]:
        """Play one run; return the columns of its ledger."""
        self.begin(draws, observer)
        env = simpy.Environment()
        env.run(until=env.process(self.process(env)))
        return self.ledger()

    def begin(self, draws: RunDraws, observer: Observer | None = None) -> None:
        """Set the random numbers and the observer of the next run."""
        job: Any = self._job
        job.draws, job.numbers, job.choices = draws.row, draws.numbers, draws.choices
        job.plan.source = draws.source
        # A fast path shows an observer nothing of what is in it.
        job.plan.fast_blocking, job.plan.fast_background = (
            each and observer is None for each in self._fast
        )
        self._outside.begin(draws, observer)

    def ledger(self) -> list[float]:
        """Return the columns of the ledger of the last run."""
        found = [0.0] * len(Ledger.__dataclass_fields__)
        job: Any = self._job
        account.write(job, found)
        return found

    def process(self, env: simpy.Environment) -> Generator[simpy.Event, Any, None]:
        """Run the job as a process, from its start to its end.

        It yields only where another process of the environment has an event before its next one.
        """
        job: Any = self._job
        start_s = env.now
        step.start(job)
        while step.is_under_way(job):
            job.make_room()
            others_s = env.peek()
            if others_s < math.inf:
                at_s = start_s + work.next_s(job)
                if others_s <= at_s:
                    yield env.timeout(max(at_s - env.now, 0.0))
            step.happen(job)
        yield env.timeout(max(start_s + job.run.now - env.now, 0.0))
