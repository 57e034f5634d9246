"""Policies played on the same failures: those of one job, or of the jobs of a fleet."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.criteria import Criteria, useful_cost_of
from cprsim.basics.interrupts import Threads
from cprsim.basics.machine import cores
from cprsim.basics.streams import COHORT
from cprsim.contract import Plan, Policy
from cprsim.contract.expected import expected, loses_nothing
from cprsim.contract.failure_kinds import mean_delay_s
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import CprsimError, NowhereError
from cprsim.runs.engines import Engine, attempt, chosen, prepare
from cprsim.runs.fleet import Fleet
from cprsim.runs.hopeless import first_part
from cprsim.runs.measures import Basis, measured
from cprsim.runs.memory import memory_fault
from cprsim.runs.runner import map_tasks
from cprsim.runs.selection.certificate import MOST
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS

Values = NDArray[np.float64]
#: Among the measures of a job of a fleet: its useful node-seconds.
NODE_S = "node_s"


#: Replications that are played in one go.
_BLOCK = 16 * COHORT
#: Useful times that a run takes that is given up, and from which on a policy isn't searched.
NOWHERE, _HOPELESS = 100.0, 6.0
#: Failures in a job from which on one run says much, and useful times that the first part of such
#: a job takes, from which on the job is given up.
_MANY, _STEEP = 1000.0, 30.0
#: Replications are as many that so many failures are met, but not fewer; and if it takes longer, by
#: no more than this.
_MET, _FEWEST, _PATIENCE = 4096.0, 32, 50.0
#: How much longer the simulator takes than the compiled engine, about.
_INTERPRETED = 100
#: Seconds of the compiled engine for a run, a save and a failure, and to draw the life of a node,
#: and failures from a log; and to build a job of a fleet and its plans: measured
#: (docs/performance.md), about.
_RUN_S, _SAVE_S, _FAILURE_S, _NODE_S, _LOG_S, _JOB_S = 1e-6, 6e-8, 4e-7, 4e-8, 1.5e-3, 3e-3


@dataclass(frozen=True)
class Trial:
    """Replications of one policy, by number from `first` on.

    `measures`: of `runs.measures.MEASURES`, and `causes` in shares of the useful time, each of
    shape (replications,); `bounded`: by the criteria, of shape (bounds, replications). In a fleet,
    whose jobs differ, `measures` has their useful node-seconds as well, `NODE_S`.
    """

    measures: Mapping[str, Values]
    causes: Mapping[str, Values]
    objective: Values
    bounded: Values

    @property
    def count(self) -> int:
        """The number of replications."""
        return len(self.objective)

    def followed_by(self, more: "Trial") -> "Trial":
        """Return these replications and then those of `more`, of the same policy."""
        join = partial(np.concatenate, axis=-1)
        return Trial(
            {name: join([values, more.measures[name]]) for name, values in self.measures.items()},
            {cause: join([values, more.causes[cause]]) for cause, values in self.causes.items()},
            join([self.objective, more.objective]),
            join([self.bounded, more.bounded]),
        )


class Trials:
    """Policies of one job, played on the same failures; `criteria` says what of it counts."""

    #: Replications that a certificate may take, and whether each is a job of a fleet.
    most: ClassVar[int] = MOST
    of_fleet: ClassVar[bool] = False

    def __init__(self, scenario: Scenario, criteria: Criteria, seed: int) -> None:
        self.scenario, self.criteria, self.seed = scenario, criteria, seed
        self._policies, self._plans = dict[str, Policy](), dict[str, Plan]()
        self._refused, self._engines = dict[str, str](), dict[str, Engine]()

    def plan(self, policy: Policy) -> Plan | None:
        """Its plan; None where it can't be played, or takes more than it may."""
        key = self._key(policy)
        if key not in self._policies:
            self._policies[key] = policy
            job = self.scenario.with_policies({key: policy})
            try:
                plan = job.check(key)
                why_not = self.criteria.why_not(plan, self.scenario, policy.system)
            except (CprsimError, ValueError) as error:
                why_not = str(error)
            if why_not is None:
                self._plans[key] = plan
                self._engines |= chosen(job, [key], "auto")
            else:
                self._refused[key] = why_not
        return self._plans.get(key)

    def why_not(self, policy: Policy) -> str | None:
        """Why it can't be played, or None."""
        self.plan(policy)
        return self._refused.get(self._key(policy))

    def play(self, policies: Sequence[Policy], replications: range) -> list[Trial]:
        """Replications of policies that have a plan."""
        names = list(dict.fromkeys(map(self._key, policies)))
        engines = {name: self._engines[name] for name in names}
        prepare(engines.values(), "batch")  # the simulator takes a hundred times as long
        ledgers, jobs = self._ledgers(engines, replications)
        # Runs without progress take `NOWHERE` useful times, all but one of it lost.
        useful_s = np.array([job.job.useful_time_s for job in jobs])
        stuck = np.zeros_like(ledgers)
        for column, of_each in (
            ("wall", NOWHERE * useful_s),
            ("lost", (NOWHERE - 1) * useful_s),
            ("failures", np.ones(1)),
        ):
            stuck[..., COLUMNS.index(column)] = of_each[:, np.newaxis]
        ledgers = np.where(np.isnan(ledgers).any(axis=2, keepdims=True), stuck, ledgers)
        found = {name: self._trial(ledgers[:, i], name, jobs) for i, name in enumerate(names)}
        return [found[self._key(policy)] for policy in policies]

    def _ledgers(
        self, engines: dict[str, Engine], replications: range
    ) -> tuple[Values, list[Scenario]]:
        """Ledgers, shape (replications, policies, len(COLUMNS)); and the job, or that of each.

        In threads where what plays is compiled.
        """
        job = self.scenario.with_policies({name: self._policies[name] for name in engines})
        job.plans.update({name: self._plans[name] for name in engines})
        workers = cores() if set(engines.values()) == {"batch"} else 1
        size = min(-(-len(replications) // (workers * COHORT)) * COHORT, _BLOCK)
        blocks = [replications[i : i + size] for i in range(0, len(replications), size)]

        def play(block: range) -> Values:
            return attempt([(job, block)], engines, self.seed)

        with closing(map_tasks(play, blocks, workers, Threads)) as found:
            return np.concatenate([each for _, each in found]), [job]

    def _trial(self, ledgers: Values, name: str, jobs: Sequence[Scenario]) -> Trial:
        """Runs of a policy, from ledgers of shape (replications, columns)."""
        columns = dict(zip(COLUMNS, ledgers.T, strict=True))
        basis = Basis(*np.array([Basis.of(job, name) for job in jobs]).T)
        measures = measured(columns, basis)
        objective = measures[self.criteria.measure]
        if self.criteria.objective == "cost":
            objective = objective / np.array([useful_cost_of(job) for job in jobs]) - 1
        if self.of_fleet:
            measures[NODE_S] = basis.useful_s * basis.nodes
        return Trial(
            measures,
            {cause: columns[cause] / basis.useful_s for cause in OVERHEAD_CAUSES},
            objective,
            self.criteria.bounded(self.scenario, self._policies[name].system, measures),
        )

    def loses_nothing(self, policy: Policy) -> bool:
        """Return whether no failure takes learning for good, by its recovery."""
        plan = self.plan(policy)
        return plan is not None and loses_nothing(plan, self.scenario.context)

    def is_hopeless(self, policy: Policy) -> bool:
        """Return whether, to first order, it surely takes many times as long as it trains.

        With failures that strike recoveries, and lost computation, which grows exponentially.
        """
        plan = self.plan(policy)
        return plan is not None and self._longer(plan) > _HOPELESS

    def gets_nowhere(self, policy: Policy) -> bool:
        """Return whether a run that meets a great many failures is given up."""
        if self.scenario.job.useful_time_s / self.scenario.failure_model.mtbf_s <= _MANY:
            return False
        try:
            job = self.scenario.with_policies({"it": policy})
            if first_part(job, "it", self.seed) > _STEEP:
                return True
        except NowhereError:
            return True
        (trial,) = self.play([policy], range(1))
        return bool(trial.measures["overhead"][0] >= NOWHERE - 1)

    def _longer(self, plan: Plan) -> float:
        """Return the number of useful times that it takes at least, about."""
        context = self.scenario.context
        found = expected(plan, context)
        waits_s = mean_delay_s(context) if found.reschedule > 0 else 0.0
        again = context.failures_per_recovery(waits_s, 0.0)
        lost = math.expm1(min(2 * found.lost, 50.0)) / 2
        return min(1.0 + (found.overhead - found.lost + lost) * again, NOWHERE)

    def fit(self, policies: Sequence[Policy], within_s: float, most: int) -> int:
        """Return the replications of all that take about so long: a power of two, at most `most`.

        But enough to meet some failures, unless that takes very long, and for intervals to be
        believed.
        """
        met = self.scenario.job.useful_time_s / self.scenario.failure_model.mtbf_s
        at_most = within_s / self.seconds(policies)
        to_meet = min(_MET / max(met, 1.0), _PATIENCE * at_most)
        return 1 << int(math.log2(min(max(at_most, to_meet, _FEWEST), most)))

    def seconds(self, policies: Iterable[Policy]) -> float:
        """Return the seconds that a replication of each takes, in all, on one core of 2025, about.

        Independent of the machine, so that equal questions have equal answers.
        """
        job, failures = self.scenario.job, self.scenario.failures
        found = _NODE_S * self.scenario.failure_model.nodes * (failures.per == "node")
        found += _LOG_S * (failures.trace is not None)
        met = job.useful_time_s / self.scenario.failure_model.mtbf_s
        for policy in policies:
            key = self._key(policy)
            plan = self._plans[key]
            saves = math.fsum(each.saves_in(job.useful_time_s) for each in plan.schedules)
            run_s = _RUN_S + (_SAVE_S * saves + _FAILURE_S * met) * self._longer(plan)
            found += run_s if self._engines[key] == "batch" else _INTERPRETED * run_s
        return found

    @staticmethod
    def _key(policy: Policy) -> str:
        return json.dumps(policy.mapping(), sort_keys=True)


class FleetTrials(Trials):
    """`Trials` whose replication i is job i; `scenario` is the fleet's example.

    A policy of the fleet has in each job that job's drawn values. One that can't be
    planned for some job can't be played.
    """

    most = 1024
    of_fleet = True

    def __init__(self, fleet: Fleet, criteria: Criteria, seed: int) -> None:
        super().__init__(fleet.example, criteria, seed)
        self._fleet = fleet
        self._own = {self._key(each): name for name, each in fleet.example.policies.items()}
        self._jobs: list[Scenario] = []

    def seconds(self, policies: Iterable[Policy]) -> float:
        """Return the seconds that a job takes, about."""
        return _JOB_S + super().seconds(policies)

    def _ledgers(
        self, engines: dict[str, Engine], replications: range
    ) -> tuple[Values, list[Scenario]]:
        """Return ledgers of jobs under policies that have a plan in each of them; and the jobs."""
        jobs = [self._with(job, list(engines)) for job in self._of(replications)]
        parts = [(job, [i]) for i, job in zip(replications, jobs, strict=True)]
        return attempt(parts, engines, self.seed), jobs

    def gets_nowhere(self, policy: Policy) -> bool:  # noqa: ARG002
        """Return False: jobs without progress are left out one by one."""
        return False

    def why_not(self, policy: Policy) -> str | None:
        """Why a policy can't be played in one of the jobs, or None."""
        why = super().why_not(policy)
        if why:
            return why
        name = self._key(policy)
        for number, job in enumerate(self._of(range(self.most))):
            try:
                plan = self._with(job, [name]).check(name)
            except (CprsimError, ValueError) as error:
                return f"can't be in job {number}: {error}"
            lacks = memory_fault(plan, job.cost_model)
            if lacks is not None:
                return f"{lacks} in job {number}"
        return None

    def _of(self, numbers: range) -> list[Scenario]:
        if len(self._jobs) < numbers.stop:
            new = range(len(self._jobs), numbers.stop)
            self._jobs += self._fleet.jobs(self.seed, new)
        return self._jobs[numbers.start : numbers.stop]

    def _with(self, job: Scenario, names: Sequence[str]) -> Scenario:
        own = {key: job.policies[name] for key, name in self._own.items()}
        return job.with_policies({key: own.get(key, self._policies[key]) for key in names})
