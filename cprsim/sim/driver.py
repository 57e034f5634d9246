"""The SimPy driver: a job is a process, by itself in an environment or with others."""

import math
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

import simpy

from cprsim.contract import Recover
from cprsim.contract.ledger import Ledger
from cprsim.contract.plan import user_code
from cprsim.machine import ledger as account
from cprsim.machine import step, work
from cprsim.machine.codes import DONE
from cprsim.machine.draws_row import DrawsRow
from cprsim.machine.rows import Running
from cprsim.machine.run_rows import LossRow, working_memory
from cprsim.scenario import Scenario
from cprsim.sim.observer import Observer
from cprsim.sim.outside import Outside, OwnController
from cprsim.sim.run_draws import RunDraws
from cprsim.sim.tables import PlanRows, Tables

#: Room at first for flows and for failures, each; a background save of each tier has its own.
_FEW = 8


class Bundle:
    """A run of the machine in plain Python, with rows and lists for records and arrays.

    As functions of the machine take it (`cprsim.machine.rows.Running`). `outside`: its observer,
    and its controller where the plan has one.
    """

    __slots__ = (*Running._fields, "_room")
    states: Any
    losses: Any

    def __init__(self, tables: Tables, outside: Any) -> None:
        (plan,) = tables.plans
        self.plan: Any = plan
        self.schedules, self.saves, self.answers = tables.schedules, tables.saves, tables.answers
        self.transfers, self.cases = tables.transfers, tables.cases
        self.whole, self.real = tables.whole, tables.real
        self.draws, self.numbers, self.choices = DrawsRow(), (), ()
        self.outside = outside
        self._room = 0
        self._make_room(_FEW + plan.schedules)
        self.run: Any = self.states[0]

    def make_room(self) -> None:
        """Lengthen the tables, so that there is room for all flows that may begin at once.

        And for what each shard may lose at once: by a rollback, a loss and a refill.
        """
        run, losses, servers = self.run, self.losses, self.plan.servers
        needed = run.flows + 2 * run.comings + _FEW + self.plan.schedules
        if needed > self._room:
            self._make_room(2 * needed)
        if len(losses) < run.losses + 4 * servers:
            losses += [LossRow() for _ in range(run.losses + 8 * servers)]

    def _make_room(self, flows: int) -> None:
        plan, self._room = self.plan, flows
        sizes = plan.servers, plan.nodes, max(plan.schedules, 1), plan.older, plan.leaves
        tables = working_memory(*sizes, plan.spares, flows)
        tables["losses"] = LossRow, 4 * plan.servers  # `make_room` adds more
        for name, (kind, length) in tables.items():
            found: Any = getattr(self, name, None)
            if found is None:
                found = [0.0] * length if kind is float else []
                setattr(self, name, found)
            if kind is int:
                count, width = length
                for each in found:
                    each.extend([0] * (width - len(each)))
                found += ([0] * width for _ in range(count - len(found)))
            elif kind is not float:
                found += [kind() for _ in range(length - len(found))]


class Player:
    """Plays one policy of a scenario, one run after the other.

    `job`: the run, as functions of the machine take it.
    """

    def __init__(self, scenario: Scenario, policy: str) -> None:
        tables = Tables()
        own = user_code(scenario.plan(policy)) is not None
        self.rows = PlanRows(tables, scenario, policy, own)
        tables.plans.append(self.rows.row(0))
        self._outside = (OwnController if own else Outside)(self.rows)
        self.job: Any = Bundle(tables, self._outside)
        self._outside.job = self.job
        self._fast = self.job.plan.fast_blocking, self.job.plan.fast_background

    def play(self, draws: RunDraws, observer: Observer | None = None) -> list[float]:
        """Play one run; return the columns of its ledger."""
        self.begin(draws, observer)
        env = simpy.Environment()
        env.run(until=env.process(self.process(env)))
        return self.ledger()

    def begin(self, draws: RunDraws, observer: Observer | None = None) -> None:
        """Set the random numbers and the observer of the next run."""
        job = self.job
        job.draws, job.numbers, job.choices = draws.row, draws.numbers, draws.choices
        job.plan.source = draws.source
        # A fast path shows an observer nothing of what is in it.
        job.plan.fast_blocking, job.plan.fast_background = (
            each and observer is None for each in self._fast
        )
        self._outside.begin(draws, observer)

    def ledger(self) -> list[float]:
        """Return the columns of the ledger of the last run."""
        status = self.job.run.status
        if status != DONE:
            raise RuntimeError(f"the run stopped before its end, with status {status}")
        found = [0.0] * len(Ledger.__dataclass_fields__)
        account.write(self.job, found)
        return found

    def end(self) -> None:
        """Let go of the run, so that no cycle of references keeps its rows."""
        self._outside.job = None

    def process(self, env: simpy.Environment) -> Generator[simpy.Event, Any, None]:
        """Run the job as a process, from its start to its end.

        It yields only where another process of the environment has an event before its next one.
        """
        job, start_s = self.job, env.now
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

    # --- Among other jobs ------------------------------------------------------------------------

    def join(self, member: Any) -> None:
        """Let the job share links: `member` learns of its flows (`cprsim.clusters.links`)."""
        plan, self._outside.member = self.job.plan, member
        plan.shared = True
        plan.fast_blocking = plan.fast_background = False  # they pass events of other jobs
        if self.rows.plan.schedules:  # where its nodes are taken, it loads its last save
            last = Recover("all", source=self.rows.plan.last_save.tier)
            plan.hands_over = self.rows.number_of_answer(last)

    def process_shared(
        self, env: simpy.Environment, begun: Callable[[], None], stepped: Callable[[], None]
    ) -> Generator[simpy.Event, Any, None]:
        """Run a job that shares links; an interrupt says that its next event has moved.

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
