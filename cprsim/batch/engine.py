"""The compiled engine: replications of scenarios, with the same ledgers as `cprsim.sim` gives.

Random numbers of many runs are gathered in arrays, and drawn again, twice as many, for runs that
needed more.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT
from cprsim.batch.borrowed import arrays, records
from cprsim.batch.compiled import play_runs
from cprsim.batch.readiness import note_compiled
from cprsim.failures.shared import SharedDraws
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.machine import codes
from cprsim.machine.draws_row import DrawsRow
from cprsim.machine.rows import Row
from cprsim.machine.run_rows import working_memory
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.draws import ScenarioDraws
from cprsim.sim.engine import COLUMNS
from cprsim.sim.failure_draws import Draw, DrawHits, Kind, listed_of, source_of
from cprsim.sim.tables import Tables

#: Largest number of replications at once: more take memory and gain no speed.
_MOST = 64 * COHORT
#: Largest count of random numbers drawn at once: for nodes, and for failures in useful time.
_NUMBERS = 4_000_000
#: Largest count of saves played at once, about: a second of work, which Ctrl-C cannot interrupt.
_SAVES = 100_000_000
_FLOWS = 8
#: Random numbers of a kind that are drawn for a run, at least.
_LEAST = 8
Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class Part(NamedTuple):
    """Replications of a scenario, by number, under policies, by name."""

    scenario: Scenario
    policies: Sequence[str]
    replications: Places


def simulate(
    scenario: Scenario, policies: Sequence[str], replications: Sequence[int], seed: int
) -> Floats:
    """Return what `cprsim.sim.engine.simulate` does, for policies that can be compiled."""
    numbers, size = np.asarray(replications, np.intp), _chunk(scenario, policies)
    values = np.empty((len(numbers), len(policies), len(COLUMNS)))
    for start in range(0, len(numbers), size):
        part = Part(scenario, policies, numbers[start : start + size])
        ledgers, statuses = _play_all([part], seed)
        # A run that was given up: the simulator raises its error, or plays it to its end.
        for place in np.flatnonzero(statuses).tolist():
            replication, policy = divmod(place, len(policies))
            number = int(part.replications[replication])
            ledgers[place] = sim.simulate(scenario, [policies[policy]], [number], seed)[0, 0]
        values[start : start + size] = ledgers.reshape(-1, *values.shape[1:])
    return values


def simulate_all(parts: Sequence[Part], seed: int) -> list[Floats]:
    """Return the ledgers of each part, as `simulate` does; quick for many small scenarios.

    The parts draw from the same streams, and shared numbers are drawn once. The ledger of a run
    that makes no progress is NaN.
    """
    ledgers, statuses = _play_all(parts, seed, SharedDraws())
    ledgers[statuses != codes.DONE] = np.nan
    counts = [len(part.replications) * len(part.policies) for part in parts]
    return [
        own.reshape(len(part.replications), len(part.policies), len(COLUMNS))
        for part, own in zip(parts, np.split(ledgers, np.cumsum(counts)[:-1]), strict=True)
    ]


def make_ready() -> None:
    """Compile the machine, or load it from disk, by playing a run that ends at once."""
    job = {"useful_time": "1 s"}
    failures = {"distribution": "exponential", "mean": "1 d"}
    tables = {"job": job, "failures": failures, "cluster": {"parameter_servers": 1}}
    costs, policies = {"save": "1 s", "load": "1 s"}, {"it": {"system": "full"}}
    simulate(Scenario(**tables, costs=costs, policies=policies), ["it"], [0], 0)


def _chunk(scenario: Scenario, policies: Sequence[str]) -> int:
    failures, job = scenario.failure_model, scenario.job
    drawn = 1 + failures.mean_hit.servers + failures.mean_hit.trainers
    numbers = failures.nodes + job.useful_time_s / failures.mtbf_s * drawn
    plans = [scenario.plan(name) for name in policies]
    saves = sum(each.saves_in(job.useful_time_s) for plan in plans for each in plan.schedules)
    fit = min(_NUMBERS / numbers, _SAVES / max(saves, 1.0))
    return max(min(_MOST, int(fit) // COHORT * COHORT), COHORT)


def _play_all(
    parts: Sequence[Part], seed: int, shared: SharedDraws | None = None
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the ledger and the status of each run, part by part, by replication."""
    tables = _tables(parts)  # first: what is drawn depends on the plans
    draws = [ScenarioDraws(part.scenario, seed, shared) for part in parts]
    # How many random numbers of each kind are drawn for a run, by status.
    sizes = [first_sizes(part.scenario) for part in parts]
    counts = np.array([len(part.policies) for part in parts])
    first_plan = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(parts)), [len(part.replications) for part in parts])
    numbers, policies = np.concatenate([part.replications for part in parts]), counts[owner]
    first = np.cumsum(policies) - policies  # the first run of each replication
    ledgers = np.empty((policies.sum(), len(COLUMNS)))
    statuses = np.zeros(len(ledgers), np.int64)
    lacking, room = np.lexsort((numbers // COHORT, owner)), _FLOWS
    while len(lacking):
        drawn = _gathered(draws, sizes, owner[lacking], numbers[lacking])
        # Of each run the numbers of its plan, of its random numbers and of its ledger.
        own = policies[lacking]
        rows = np.repeat(np.arange(len(lacking)), own)
        policy = np.arange(len(rows)) - np.repeat(np.cumsum(own) - own, own)
        plan, ledger = first_plan[owner[lacking]][rows] + policy, first[lacking][rows] + policy
        runs = np.column_stack([plan, rows, ledger])
        play_runs(runs, tables, drawn, _room(tables[0], room + 1), ledgers, statuses)
        if play_runs.stats.cache_misses and play_runs.stats.cache_path is not None:
            note_compiled(Path(play_runs.stats.cache_path))  # so that no command compiles it again
        if not statuses.any():
            break
        room *= 2 if codes.MORE_ROOM in statuses else 1
        more = (statuses != codes.DONE) & (statuses != codes.GIVEN_UP)
        lacking = lacking[np.maximum.reduceat(more, first)[lacking]]
        lacks = {
            (owner[place], status)
            for place in lacking.tolist()
            for status in statuses[first[place] : first[place] + policies[place]]
        }
        for number, status in lacks:
            if status in sizes[number]:
                sizes[number][status] *= 2
    return ledgers, statuses


def _tables(parts: Sequence[Part]) -> tuple[NDArray[Any], ...]:
    tables = Tables()
    for scenario, policies, _ in parts:
        source = source_of(scenario.failure_model.process.cohort(0, 0))
        for name in policies:
            tables.add(scenario, name, source)
    return arrays(tables)


def _room(plans: Any, flows: int) -> tuple[NDArray[Any], ...]:
    """Return the working memory of a run."""
    names = ("servers", "nodes", "older", "leaves", "spares")
    most = {name: int(plans[name].max()) for name in names}
    tables = working_memory(**most, tiers=max(int(plans.schedules.max()), 1), flows=flows)
    return tuple(
        records(kind, length)
        if issubclass(kind, Row)
        else np.zeros(length, np.int32 if kind is int else kind)
        for kind, length in tables.values()
    )


# --- Random numbers ------------------------------------------------------------------------------


def _gathered(
    draws: Sequence[ScenarioDraws], sizes: Sequence[dict[int, int]], owners: Places, numbers: Places
) -> tuple[NDArray[Any], ...]:
    """Draw for runs of these scenarios and numbers, sorted by scenario and cohort."""
    gathered, cohorts = Gathered(len(owners)), numbers // COHORT
    new = (np.diff(owners) != 0) | (np.diff(cohorts) != 0)
    for start, stop in pairwise([0, *(np.flatnonzero(new) + 1).tolist(), len(owners)]):
        number = owners[start]
        gathered.place, gathered.sizes = slice(start, stop), sizes[number]
        rows = numbers[start:stop] % COHORT
        draws[number].put(gathered, int(cohorts[start]), rows)
    return gathered.drawn()


class Gathered:
    """Blocks of numbers, and the places of the numbers of each replication; a `Sink`.

    What is added is for the replications in `place`, as many numbers of each kind as `sizes` has,
    by status.
    """

    def __init__(self, count: int) -> None:
        self.rows = records(DrawsRow, count)
        self.place, self.sizes = slice(0, count), dict[int, int]()
        self._numbers, self._choices = _Blocks(float), _Blocks(np.int32)

    def drawn(self) -> tuple[Any, Floats, NDArray[np.int32]]:
        """Return a `DrawsRow` for each replication, and the numbers and choices at its places."""
        return self.rows, self._numbers.all(), self._choices.all()

    def put(self, **columns: Any) -> None:
        """Set columns to values."""
        for name, value in columns.items():
            self.rows[name][self.place] = value

    def add(
        self, to: Kind, column: str, counted: str | None, status: int | None, draw: Draw
    ) -> None:
        """Take real numbers, or nodes or severities (choices)."""
        block = draw(self._size(status))
        stride = block.size // max(len(block), 1)
        blocks = self._numbers if to == "numbers" else self._choices
        self.put(**{column: blocks.append(block) + stride * np.arange(len(block))})
        if counted is not None:
            self.put(**{counted: block.shape[1]})

    def _size(self, status: int | None) -> int:
        return 0 if status is None else self.sizes[status]

    def add_hits(self, status: int | None, draw: DrawHits) -> None:
        """Take nodes hit by each failure, in lists of different lengths."""
        drawn = draw(self._size(status))
        self.put(hits=[self._in_a_row(each) for each in drawn], victim_count=len(drawn[0]))

    def add_logs(self, timelines: Sequence[AbsoluteTimeline], servers: int) -> None:
        """Take failures at fixed times; replications of an unshifted log share them."""
        known: dict[int, tuple[int, int]] = {}
        for place, timeline in enumerate(timelines, self.place.start):
            own, times_s = self.rows[place], timeline.times_s
            if id(times_s) not in known:
                gaps = self._numbers.append(np.array(times_s))
                known[id(times_s)] = gaps, self._in_a_row(listed_of(timeline, servers))
            own.gaps, own.hits = known[id(times_s)]
            own.gap_count, own.circle_s = len(times_s), timeline.period_s

    def _in_a_row(self, lists: Sequence[Sequence[int]]) -> int:
        """Add lists one after the other; return the place of a table of their places."""
        first = self._choices.append(np.array([each for told in lists for each in told], np.int32))
        return self._choices.append(first + np.cumsum([0, *map(len, lists)])[:-1])


class _Blocks:
    """Blocks of numbers one after the other."""

    def __init__(self, kind: Any) -> None:
        self._kind, self._blocks, self._count = kind, [np.zeros(1, kind)], 1

    def append(self, block: NDArray[Any]) -> int:
        """Add a block; return the place of its first number."""
        self._blocks.append(block.astype(self._kind, copy=False).ravel())
        self._count += block.size
        return self._count - block.size

    def all(self) -> NDArray[Any]:
        """Return all of them."""
        return np.concatenate(self._blocks)


def first_sizes(scenario: Scenario) -> dict[int, int]:
    """Return how many numbers are drawn at first, by the status of a run that lacks some.

    About one run of a cohort needs more than that.
    """
    model, useful_s = scenario.failure_model, scenario.job.useful_time_s
    failures = useful_s / model.mtbf_s
    most = _doubled(failures + 4 * math.sqrt(failures) + 2)
    bursts, storage = scenario.failures.bursts, scenario.storage
    sizes = dict.fromkeys(range(codes.MORE_GAPS, codes.MORE_ROOM), most)
    sizes[codes.MORE_LIVES] = _generations(failures / model.nodes, model.nodes)
    sizes[codes.MORE_VOIDS] = 64
    if scenario.failures.notice is not None:
        alarms = useful_s * scenario.failures.notice.false_alarms_per_s
        sizes[codes.MORE_ALARMS] = _doubled(alarms + 4 * math.sqrt(alarms) + 2)
    if bursts is not None:
        sizes[codes.MORE_BURSTS] = _doubled(1.5 * useful_s / bursts.gap_s(model.nodes))
    if storage is not None and storage.outages is not None:
        sizes[codes.MORE_OUTAGES] = _doubled(1.5 * useful_s / storage.outages.every_s)
    if scenario.failures.silent is not None:
        sizes[codes.MORE_SILENT] = _doubled(1.5 * useful_s / scenario.failures.silent.expected_s)
    return sizes


def _doubled(count: float) -> int:
    """Return `_LEAST`, doubled until it is no less than `count`."""
    return _LEAST << max(math.ceil(math.log2(max(count, 1.0) / _LEAST)), 0)


def _generations(deaths: float, nodes: int) -> int:
    """Return how many lives to draw for each place, with `deaths` failures on average.

    About one run of a cohort has a node that needs more.
    """
    count, term, left = 1, math.exp(-deaths), 1 - math.exp(-deaths)
    while left * nodes > 1 / COHORT and count < 1000:
        term *= deaths / count
        left -= term
        count += 1
    return count + 1
