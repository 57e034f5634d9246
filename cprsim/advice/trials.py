"""Policies of one job played on the same failures, whichever and however many they are."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.aims import Aim, useful_cost_of
from cprsim.basics.futures import Threads
from cprsim.basics.machine import cores
from cprsim.basics.streams import COHORT
from cprsim.contract import Plan, Policy
from cprsim.contract.failure_kinds import mean_delay_s
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import CprsimError, RunError
from cprsim.formulas.expected import expected, loses_nothing
from cprsim.runs.engines import Engine, attempt, chosen, prepare
from cprsim.runs.hopeless import first_part
from cprsim.runs.measures import Basis, measured
from cprsim.runs.runner import map_tasks
from cprsim.scenario import Scenario
from cprsim.selection.sequential import MOST
from cprsim.sim.engine import COLUMNS

Values = NDArray[np.float64]
#: Among the measures of a job of a fleet: its useful node-seconds.
NODE_S = "node_s"


@dataclass(frozen=True)
class Trial:
    """Replications of one policy, by number from `first` on.

    `measures`: of `runs.measures.MEASURES`, and `causes` in shares of the useful time, each of
    shape (replications,); `bounded`: by the aim, of shape (bounds, replications). In a fleet, whose
    jobs differ, `measures` has their useful node-seconds as well, `NODE_S`.
    """

    measures: Mapping[str, Values]
    causes: Mapping[str, Values]
    objective: Values
    bounded: Values

    @property
    def failures(self) -> Values:
        """How many each replication met."""
        return self.measures["failures"]

    @property
    def count(self) -> int:
        """The number of replications."""
        return len(self.objective)

    def followed_by(self, more: "Trial") -> "Trial":
        """Return these replications and then those of `more`, of the same policy."""

        def joined(one: Values, other: Values) -> Values:
            return np.concatenate([one, other], axis=-1)

        return Trial(
            {name: joined(values, more.measures[name]) for name, values in self.measures.items()},
            {cause: joined(values, more.causes[cause]) for cause, values in self.causes.items()},
            joined(self.objective, more.objective),
            joined(self.bounded, more.bounded),
        )


@dataclass(eq=False)
class Trials:
    """What was played of a job, and what plays it; `aim` says what of it counts.

    Raises `ScenarioError` or `ValueError` for a policy that can't be planned.
    """

    scenario: Scenario
    aim: Aim
    seed: int
    #: Replications that a certificate may take, and whether each is a job of a fleet.
    most: ClassVar[int] = MOST
    of_fleet: ClassVar[bool] = False
    _policies: dict[str, Policy] = field(default_factory=dict)
    _plans: dict[str, Plan] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)
    _engines: dict[str, Engine] = field(default_factory=dict)

    def plan(self, policy: Policy) -> Plan | None:
        """Its plan; None where it can't be played, or takes more than it may."""
        key = self._key(policy)
        if key not in self._plans and key not in self._refused:
            self._policies[key] = policy
            job = self.scenario.with_policies({key: policy})
            try:
                plan = job.check(key)
                why_not = self.aim.why_not(plan, self.scenario, policy.system)
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
        useful_s = np.array([job.job.useful_time_s for job in jobs])
        ledgers = _somewhere(ledgers, useful_s)
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
        play = partial(attempt, job, engines, seed=self.seed)
        with closing(map_tasks(play, blocks, workers, Threads)) as found:
            return np.concatenate([each for _, each in found]), [job]

    def _trial(self, ledgers: Values, name: str, jobs: Sequence[Scenario]) -> Trial:
        """Runs of a policy, from ledgers of shape (replications, columns)."""
        columns = dict(zip(COLUMNS, ledgers.T, strict=True))
        basis = Basis(*np.array([Basis.of(job, name) for job in jobs]).T)
        measures = measured(columns, basis)
        objective = measures[self.aim.measure]
        if self.aim.objective == "cost":
            objective = objective / np.array([useful_cost_of(job) for job in jobs]) - 1
        if self.of_fleet:
            measures[NODE_S] = basis.useful_s * basis.nodes
        return Trial(
            measures,
            {cause: columns[cause] / basis.useful_s for cause in OVERHEAD_CAUSES},
            objective,
            self.aim.bounded(self.scenario, self._policies[name].system, measures),
        )

    def loses_nothing(self, policy: Policy) -> bool:
        """Whether no failure takes any learning for good, by how it recovers."""
        plan = self.plan(policy)
        return plan is not None and loses_nothing(plan, self.scenario.context)

    def is_hopeless(self, policy: Policy) -> bool:
        """Whether first order leaves no doubt that it takes many times as long as it trains.

        With failures that strike recoveries, and lost computation, which grows exponentially.
        """
        plan = self.plan(policy)
        return plan is not None and self._longer(plan) > _HOPELESS

    def gets_nowhere(self, policy: Policy) -> bool:
        """Whether a run that meets a great many failures is given up."""
        if self.scenario.job.useful_time_s / self.scenario.failure_model.mtbf_s <= _MANY:
            return False
        try:
            job = self.scenario.with_policies({"it": policy})
            if first_part(job, "it", self.seed) > _STEEP:
                return True
        except RunError:
            return True
        (trial,) = self.play([policy], range(1))
        return bool(trial.measures["overhead"][0] >= NOWHERE - 1)

    def _longer(self, plan: Plan) -> float:
        """How many useful times it takes, at least, about."""
        context = self.scenario.context
        found = expected(plan, context)
        waits_s = mean_delay_s(context) if found.reschedule > 0 else 0.0
        again = context.failures_per_recovery(waits_s, 0.0)
        lost = math.expm1(min(2 * found.lost, 50.0)) / 2
        return min(1.0 + (found.overhead - found.lost + lost) * again, NOWHERE)

    def fit(self, policies: Sequence[Policy], within_s: float, most: int) -> int:
        """How many replications of all of them take so long about: a power of two, `most` at most.

        But enough to meet some failures, unless that takes very long, and for intervals to be
        believed.
        """
        met = self.scenario.job.useful_time_s / self.scenario.failure_model.mtbf_s
        at_most = within_s / self.seconds(policies)
        to_meet = min(_MET / max(met, 1.0), _PATIENCE * at_most)
        return 1 << int(math.log2(min(max(at_most, to_meet, _FEWEST), most)))

    def seconds(self, policies: Iterable[Policy]) -> float:
        """What a replication of each takes about, in all, on one core of 2025, s.

        So that as much is played wherever the same is asked, however fast the machine.
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


#: Replications that are played in one go.
_BLOCK = 16 * COHORT
#: What a run takes that gets nowhere, in useful times.
NOWHERE = 100.0
#: Useful times from which on a policy isn't searched.
_HOPELESS = 6.0
#: Failures in a job of which one run tells much, and useful times that the first part of such a
#: job takes, from which on the job is given up.
_MANY, _STEEP = 1000.0, 30.0
#: Replications are as many that so many failures are met, but not fewer.
_MET, _FEWEST = 4096.0, 32
#: And if it takes longer, by no more than this.
_PATIENCE = 50.0
#: How much longer the simulator takes than the compiled engine, about.
_INTERPRETED = 100
#: What the compiled engine takes for a run, a save and a failure, and to draw the life of a node,
#: and failures from a log, s; measured (docs/performance.md), about.
_RUN_S, _SAVE_S, _FAILURE_S, _NODE_S, _LOG_S = 1e-6, 6e-8, 4e-7, 4e-8, 1.5e-3


def _somewhere(values: Values, useful_s: Values) -> Values:
    """With a wall time for runs that get nowhere: `NOWHERE` useful times, all but one of it lost.

    `values`: shape (replications, policies, len(COLUMNS)); `useful_s`: of all, or of each.
    """
    nowhere = np.asarray(np.isnan(values).any(axis=2))
    stuck = np.zeros_like(values)
    stuck[..., COLUMNS.index("wall")] = np.reshape(NOWHERE * useful_s, (-1, 1))
    stuck[..., COLUMNS.index("lost")] = np.reshape((NOWHERE - 1) * useful_s, (-1, 1))
    stuck[..., COLUMNS.index("failures")] = 1.0
    return np.where(nowhere[..., np.newaxis], stuck, values)
