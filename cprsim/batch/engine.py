"""The compiled engine: replications of scenarios, with the same ledgers as `cprsim.sim` gives."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.interrupts import Threads
from cprsim.basics.streams import COHORT
from cprsim.batch.borrowed import arrays, records
from cprsim.batch.compiled import play_runs
from cprsim.batch.gathered import Gathered, first_sizes
from cprsim.batch.readiness import note_compiled
from cprsim.failures.shared import SharedDraws
from cprsim.machine.codes import DONE, GIVEN_UP, MORE_ROOM
from cprsim.machine.rows import Row
from cprsim.machine.run_rows import working_memory
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.draws import ScenarioDraws, source_of
from cprsim.sim.engine import COLUMNS
from cprsim.sim.tables import Tables

#: Largest number of replications at once: more take memory and gain no speed.
_MOST = 64 * COHORT
#: Largest count of random numbers drawn for these: for nodes, and for failures in useful time.
_NUMBERS = 4_000_000
#: Largest count of their saves, about: a second of work, which Ctrl-C cannot interrupt.
_SAVES = 100_000_000
_FLOWS = 8


class Part(NamedTuple):
    """Replications of a scenario, by number, under policies, by name."""

    scenario: Scenario
    policies: Sequence[str]
    replications: NDArray[np.intp]


def simulate(
    scenario: Scenario,
    policies: Sequence[str],
    replications: Sequence[int],
    seed: int,
    threads: int = 1,
) -> NDArray[np.float64]:
    """Return what `cprsim.sim.engine.simulate` does, for policies that can be compiled.

    `threads`: number of threads; results do not depend on it.
    """
    numbers = np.asarray(replications, np.intp)
    values = np.empty((len(numbers), len(policies), len(COLUMNS)))
    size = _chunk(scenario, policies)
    played = Playing([(scenario, policies)], seed, threads)
    for start in range(0, len(numbers), size):
        played.run([numbers[start : start + size]], values[start : start + size])
    return values


def simulate_all(parts: Sequence[Part], seed: int) -> list[NDArray[np.float64]]:
    """Return the ledgers of each part, as `simulate` does; quick for many small scenarios.

    The parts draw from the same streams, and shared numbers are drawn once. The ledger of a run
    that makes no progress is NaN.
    """
    counts = [len(part.replications) * len(part.policies) for part in parts]
    values = np.empty((sum(counts), len(COLUMNS)))
    played = Playing([part[:2] for part in parts], seed, shared=SharedDraws())
    played.run([part.replications for part in parts], values, tells=False)
    return [
        own.reshape(len(part.replications), len(part.policies), len(COLUMNS))
        for part, own in zip(parts, np.split(values, np.cumsum(counts)[:-1]), strict=True)
    ]


def _chunk(scenario: Scenario, policies: Sequence[str]) -> int:
    failures, job = scenario.failure_model, scenario.job
    drawn = 1 + failures.mean_hit.servers + failures.mean_hit.trainers
    numbers = failures.nodes + job.useful_time_s / failures.mtbf_s * drawn
    plans = [scenario.plan(name) for name in policies]
    saves = sum(each.saves_in(job.useful_time_s) for plan in plans for each in plan.schedules)
    fit = min(_NUMBERS / numbers, _SAVES / max(saves, 1.0))
    return max(min(_MOST, int(fit) // COHORT * COHORT), COHORT)


class Playing:
    """Scenarios, each under some policies, as rows of numbers."""

    def __init__(
        self,
        scenarios: Sequence[tuple[Scenario, Sequence[str]]],
        seed: int,
        threads: int = 1,
        shared: SharedDraws | None = None,
    ) -> None:
        self._scenarios, self._seed, self._threads = scenarios, seed, threads
        self._draws = [ScenarioDraws(scenario, seed, shared) for scenario, _ in scenarios]
        # How many random numbers of each kind are drawn for a run, by status.
        self._sizes = [first_sizes(scenario) for scenario, _ in scenarios]
        tables = Tables()
        for scenario, policies in scenarios:
            source = source_of(scenario.failure_model.process.cohort(0, 0))
            for name in policies:
                tables.add(scenario, name, source)
        self._tables = arrays(tables)
        self._policies = np.array([len(policies) for _, policies in scenarios])
        self._first_plan = np.cumsum(self._policies) - self._policies

    def run(
        self,
        replications: Sequence[NDArray[np.intp]],
        ledgers: NDArray[np.float64],
        tells: bool = True,
    ) -> None:
        """Play replications of each scenario; write ledgers, scenario by scenario, by replication.

        `tells`: raise the error of a run that makes no progress; otherwise its ledger is NaN.
        """
        ledgers = ledgers.reshape(-1, len(COLUMNS))
        statuses = np.zeros(len(ledgers), np.int64)
        owner = np.repeat(np.arange(len(replications)), [len(each) for each in replications])
        numbers = np.concatenate(replications)
        # Ledgers of a replication are adjacent, and those of its scenario follow each other.
        first = np.cumsum(self._policies[owner]) - self._policies[owner]
        lacking, room = np.lexsort((numbers // COHORT, owner)), _FLOWS
        sizes = [dict(each) for each in self._sizes]
        while len(lacking):
            owners = owner[lacking]
            drawn = self._gather(owners, numbers[lacking], sizes)
            self._run(self._runs(owners, first[lacking]), drawn, room, ledgers, statuses)
            if not statuses.any():
                break
            room *= 2 if MORE_ROOM in statuses else 1
            more = (statuses != DONE) & (statuses != GIVEN_UP)
            again = np.maximum.reduceat(more, first)[lacking]
            lacks = {
                (owner[place], status)
                for place in lacking[again].tolist()
                for status in statuses[first[place] : first[place] + self._policies[owner[place]]]
            }
            for number, status in lacks:
                if status in sizes[number]:
                    sizes[number][status] *= 2
            lacking = lacking[again]
        for draws in self._draws:
            draws.forget()
        if tells:
            self._give_up(statuses, owner, numbers, first, ledgers)
        else:
            ledgers[statuses != DONE] = np.nan

    def _gather(
        self, owners: NDArray[np.intp], numbers: NDArray[np.intp], sizes: list[dict[int, int]]
    ) -> tuple[NDArray[Any], ...]:
        """Draw for runs of these scenarios and numbers, sorted by scenario and cohort."""
        gathered, cohorts = Gathered(len(owners)), numbers // COHORT
        new = (np.diff(owners) != 0) | (np.diff(cohorts) != 0)
        for start, stop in pairwise([0, *(np.flatnonzero(new) + 1).tolist(), len(owners)]):
            number = owners[start]
            gathered.place, gathered.sizes = slice(start, stop), sizes[number]
            rows = numbers[start:stop] % COHORT
            self._draws[number].put(gathered, int(cohorts[start]), rows)
        return gathered.drawn()

    def _runs(self, owners: NDArray[np.intp], first: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the numbers of the plan, of the random numbers and of the ledger of each run."""
        policies = self._policies[owners]
        rows = np.repeat(np.arange(len(owners)), policies)
        policy = np.arange(len(rows)) - np.repeat(np.cumsum(policies) - policies, policies)
        return np.column_stack(
            [self._first_plan[owners[rows]] + policy, rows, first[rows] + policy]
        )

    def _run(
        self,
        runs: NDArray[np.int64],
        drawn: tuple[NDArray[Any], ...],
        room: int,
        ledgers: NDArray[np.float64],
        statuses: NDArray[np.int64],
    ) -> None:
        bounds = np.linspace(0, len(runs), self._threads + 1).astype(int).tolist()

        def some(first: int, last: int) -> None:
            own = _room(self._tables[0], room + 1)
            play_runs(runs, first, last, self._tables, drawn, own, ledgers, statuses)

        if self._threads == 1:
            some(*bounds)
            _note_where_kept()
            return
        with Threads(self._threads) as pool:
            parts = [pool.submit(some, *each) for each in pairwise(bounds)]
        for part in parts:  # all have ended; their errors are raised here
            part.result()

    def _give_up(
        self,
        statuses: NDArray[np.int64],
        owner: NDArray[np.intp],
        numbers: NDArray[np.intp],
        first: NDArray[np.intp],
        ledgers: NDArray[np.float64],
    ) -> None:
        """Raise the simulator's error for runs that make no progress.

        A run that the simulator does finish gets its ledger.
        """
        for place in np.flatnonzero(statuses).tolist():
            replication = int(np.searchsorted(first, place, side="right")) - 1
            scenario, policies = self._scenarios[owner[replication]]
            policy = policies[place - first[replication]]
            number = int(numbers[replication])
            ledgers[place] = sim.simulate(scenario, [policy], [number], self._seed)[0, 0]


def make_ready() -> None:
    """Compile the machine, or load it from disk, by playing a run that ends at once."""
    job = {"useful_time": "1 s"}
    failures = {"distribution": "exponential", "mean": "1 d"}
    tables = {"job": job, "failures": failures, "cluster": {"parameter_servers": 1}}
    costs, policies = {"save": "1 s", "load": "1 s"}, {"it": {"system": "full"}}
    simulate(Scenario(**tables, costs=costs, policies=policies), ["it"], [0], 0)


def _note_where_kept() -> None:
    """Record the folder of the machine code just compiled, so that no command compiles it again."""
    if play_runs.stats.cache_misses and play_runs.stats.cache_path is not None:
        note_compiled(Path(play_runs.stats.cache_path))


def _room(plans: Any, flows: int) -> tuple[NDArray[Any], ...]:
    """Return the working memory of one thread's run."""
    names = ("servers", "nodes", "older", "leaves", "spares")
    most = {name: int(plans[name].max()) for name in names}
    tables = working_memory(**most, tiers=max(int(plans.schedules.max()), 1), flows=flows)
    return tuple(
        records(kind, length)
        if issubclass(kind, Row)
        else np.zeros(length, np.int32 if kind is int else kind)
        for kind, length in tables.values()
    )
