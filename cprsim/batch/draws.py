"""Random numbers of runs as arrays: failures, outcomes of saves and loads, delays, notices."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.shared import SharedDraws
from cprsim.basics.streams import COHORT, Cause, CohortDraws, stream
from cprsim.batch.records import dtype
from cprsim.failures.bursts import Shocks
from cprsim.failures.cohorts import InstantCohort, NodeCohort, RenewalCohort, ReplayCohort
from cprsim.failures.hit import Hit
from cprsim.failures.severity import Part
from cprsim.failures.silent import faults_s
from cprsim.failures.timeline import Cohort
from cprsim.failures.victims import CauseVictimRows, Victims
from cprsim.job.platform import Outages
from cprsim.job.severity import SEVERITIES
from cprsim.job.start import StartDraws, regroup_times, restart_times, restart_tries, starts_vary
from cprsim.machine import codes
from cprsim.machine.codes import NONE
from cprsim.machine.draws_row import DrawsRow
from cprsim.scenario import Scenario

_Rows = NDArray[np.intp]
_LEAST = 8


def stretches(values: _Rows) -> Iterator[tuple[int, int]]:
    """Yield the first place of each stretch of equal values, and the one after its last."""
    return pairwise([0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)])


class DrawnRows(NamedTuple):
    """Random numbers of replications.

    `rows`: a `DrawsRow` for each replication, with places in `numbers` and `choices`.
    """

    rows: Any
    numbers: NDArray[np.float64]
    choices: NDArray[np.int32]


class ScenarioDraws:
    """Random numbers of one scenario, as many as its runs have needed so far."""

    def __init__(self, scenario: Scenario, seed: int, shared: SharedDraws | None = None) -> None:
        self._scenario, self._seed, self._shared = scenario, seed, shared
        self._cohorts: dict[int, tuple[Cohort, CohortDraws | None]] = {}
        self._of_starts: dict[int, StartDraws] = {}
        self._first = _first_sizes(scenario)
        self._sizes = dict(self._first)
        self._lacks: set[int] = set()

    def forget(self) -> None:
        """Drop all numbers: the next runs are of other cohorts."""
        self._cohorts.clear()
        self._of_starts.clear()
        self._sizes = dict(self._first)

    def lacks(self, status: int) -> None:
        """Note that a run needs more numbers of the kind that `status` names."""
        self._lacks.add(status)

    def more(self) -> None:
        """Draw twice as many numbers from now on of each kind that runs lacked."""
        for status in self._lacks & self._sizes.keys():
            self._sizes[status] *= 2
        self._lacks.clear()

    def put(self, replications: _Rows, gathered: "Gathered", first: int) -> None:
        """Gather the numbers of replications, sorted by cohort, in rows from `first` on."""
        numbers = replications // COHORT
        for start, stop in stretches(numbers):
            number, rows = int(numbers[start]), replications[start:stop] % COHORT
            gathered.place = slice(first + start, first + stop)
            self._failures(gathered, number, rows)
            self._attempts(gathered, replications[start:stop].tolist())
            self._silent(gathered, replications[start:stop].tolist())
            self._put_notices(gathered, replications[start:stop].tolist())
            if starts_vary(self._scenario.costs):
                _put_starts(
                    gathered, self._start_draws(number), rows, self._sizes[codes.MORE_STARTS]
                )

    def _cohort(self, number: int) -> tuple[Cohort, CohortDraws | None]:
        if number not in self._cohorts:
            delay, found = self._scenario.costs.reschedule, None
            if isinstance(delay, Distribution):
                found = self._durations(delay, number)
            more = () if self._shared is None else (self._shared,)
            cohort = self._scenario.failure_model.process.cohort(self._seed, number, *more)
            self._cohorts[number] = cohort, found
        return self._cohorts[number]

    def _start_draws(self, number: int) -> StartDraws:
        if number not in self._of_starts:
            self._of_starts[number] = StartDraws(self._scenario.costs, self._seed, number)
        return self._of_starts[number]

    def _durations(self, law: Distribution, number: int) -> CohortDraws:
        if self._shared is None:
            return CohortDraws(law.sample, self._seed, number, Cause.RESCHEDULE)
        return self._shared.durations(law, self._seed, number, Cause.RESCHEDULE)

    def _failures(self, gathered: "Gathered", number: int, rows: _Rows) -> None:
        sizes, (cohort, delays) = self._sizes, self._cohort(number)
        if delays is not None:
            count = sizes[codes.MORE_DELAYS]
            gathered.numbers("delays", "delay_count", _columns(delays, rows, count))
        if isinstance(cohort, RenewalCohort | InstantCohort):
            if isinstance(cohort, RenewalCohort):
                count = sizes[codes.MORE_GAPS]
                gathered.numbers("gaps", "gap_count", _columns(cohort.gaps, rows, count))
                count = sizes[codes.MORE_VICTIMS]
            else:
                gathered.numbers("gaps", "gap_count", cohort.times_s[rows])
                count = cohort.times_s.shape[1]
            servers = self._scenario.cluster.parameter_servers
            _victims(gathered, cohort, count, rows, servers)
        elif isinstance(cohort, ReplayCohort):
            _logs(gathered, cohort, rows.tolist(), self._scenario.cluster.parameter_servers)
        else:
            assert isinstance(cohort, NodeCohort)
            _put_lives(gathered, cohort, sizes[codes.MORE_LIVES], rows)
            if cohort.bursts is not None:
                shocks = [
                    Shocks(cohort.bursts, cohort.lives.nodes, self._seed, number * COHORT + row)
                    for row in rows.tolist()
                ]
                _bursts(gathered, shocks, sizes[codes.MORE_BURSTS])
        if cohort.severities is not None:
            count = sizes[codes.MORE_SEVERITIES]
            severities = cohort.severities.upto(count)[rows, :count]
            gathered.choices("severities", "severity_count", severities)
            otherwise_s = self._scenario.costs.detect_s, codes.AS_ALL_S
            for column, part, other_s in zip(
                ("detections", "repairs"), get_args(Part), otherwise_s, strict=True
            ):
                if cohort.severities.has(part):
                    times_s = cohort.severities.times_s(part, count, other_s)[rows]
                    gathered.numbers(column, "severity_count", times_s)
        self._put_restarts(gathered, number, rows)

    def _put_restarts(self, gathered: "Gathered", number: int, rows: _Rows) -> None:
        """Gather how long restarts in place take, and numbers that decide whether they fail."""
        costs, count = self._scenario.costs, self._sizes[codes.MORE_RESTARTS]
        if costs.restart_fails:
            tries = restart_tries(self._seed, number)
            gathered.numbers("tries", "restart_count", _columns(tries, rows, count))
        if isinstance(costs.restart, Distribution):
            drawn = restart_times(costs.restart, self._seed, number)
            gathered.numbers("restarts", "restart_count", _columns(drawn, rows, count))
        if isinstance(costs.regroup, Distribution):
            drawn = regroup_times(costs.regroup, self._seed, number)
            gathered.numbers("regroups", "restart_count", _columns(drawn, rows, count))

    def _uniform(self, replications: list[int], cause: Cause, count: int) -> NDArray[np.float64]:
        return np.array([stream(self._seed, n, cause).random(count) for n in replications])

    def _silent(self, gathered: "Gathered", replications: list[int]) -> None:
        """Gather instants of silent faults, in seconds of training."""
        law = self._scenario.failures.silent
        if law is None:
            return
        count = self._sizes[codes.MORE_SILENT]
        drawn = [faults_s(law, self._seed, n, count) for n in replications]
        gathered.numbers("silent", "silent_count", np.array(drawn))

    def _put_notices(self, gathered: "Gathered", replications: list[int]) -> None:
        """Gather numbers that decide which failures are announced, and instants of false alarms."""
        notices, plans = self._scenario.failures.notice, self._scenario.plans.values()
        if notices is None or all(plan.on_notice is None for plan in plans):
            return
        drawn = self._uniform(replications, Cause.NOTICE, self._sizes[codes.MORE_NOTICES])
        gathered.numbers("notices", "notice_count", drawn)
        every_s, count = notices.false_alarm_every_s, self._sizes[codes.MORE_ALARMS]
        if every_s is None:
            return
        streams = [stream(self._seed, n, Cause.FALSE_ALARM) for n in replications]
        alarms_s = np.cumsum([each.exponential(every_s, count) for each in streams], axis=1)
        gathered.numbers("alarms", "alarm_count", alarms_s)

    def _attempts(self, gathered: "Gathered", replications: list[int]) -> None:
        """Gather outcomes of saves and loads, and outages of the store."""
        storage = self._scenario.cost_model.storage
        if storage is None or not storage.fails:
            return
        for name, cause, status in (
            ("void", Cause.SAVE_VOID, codes.MORE_VOIDS),
            ("load", Cause.LOAD_FAILED, codes.MORE_LOADS),
        ):
            drawn = self._uniform(replications, cause, self._sizes[status])
            gathered.numbers(f"{name}s", f"{name}_count", drawn)
        if storage.torn:  # one for each save that can fail
            drawn = self._uniform(replications, Cause.SAVE_TORN, self._sizes[codes.MORE_VOIDS])
            gathered.numbers("torn", "void_count", drawn)
        if storage.outages is not None:
            count = self._sizes[codes.MORE_OUTAGES]
            away = [_away_s(storage.outages, self._seed, n, count) for n in replications]
            gathered.numbers("outages", "outage_count", np.array(away))
            gathered.rows["outage_count"][gathered.place] //= 2  # a start and an end each


_NOTHING = np.zeros((), dtype(DrawsRow))
for _name, _value in vars(DrawsRow()).items():
    _NOTHING[_name] = _value


class Gathered:
    """Blocks of numbers, and the places of the numbers of each replication."""

    def __init__(self, count: int) -> None:
        self.rows = np.zeros(count, dtype(DrawsRow))
        self.rows[:] = _NOTHING
        self.place = slice(0, count)
        self._numbers: list[NDArray[np.float64]] = [np.zeros(1)]
        self._choices: list[NDArray[np.int32]] = [np.zeros(1, np.int32)]
        self._number_count = self._choice_count = 1

    def numbers(self, name: str, counted: str, block: NDArray[np.float64]) -> None:
        """Add a block of floats, a row for each replication."""
        self.at(name, self.add_numbers(block), block[0].size if len(block) else 0)
        self.rows[counted][self.place] = block.shape[1]

    def choices(self, name: str, counted: str | None, block: NDArray[Any]) -> None:
        """Add a block of integers, a row for each replication."""
        self.at(name, self.add_choices(block), block[0].size if len(block) else 0)
        if counted is not None:
            self.rows[counted][self.place] = block.shape[1]

    def at(self, name: str, first: int, stride: int) -> None:
        """Set the places of a block whose rows begin at `first`, `stride` apart."""
        self.rows[name][self.place] = first + stride * np.arange(self.place.stop - self.place.start)

    def add_numbers(self, block: NDArray[np.float64]) -> int:
        """Add floats; return the place of the first."""
        self._numbers.append(block.ravel())
        self._number_count += block.size
        return self._number_count - block.size

    def add_choices(self, block: NDArray[Any]) -> int:
        """Add integers; return the place of the first."""
        self._choices.append(block.astype(np.int32).ravel())
        self._choice_count += block.size
        return self._choice_count - block.size

    def drawn(self) -> DrawnRows:
        """Return all numbers gathered."""
        rows = self.rows.view(np.recarray)
        return DrawnRows(rows, np.concatenate(self._numbers), np.concatenate(self._choices))


def _columns(drawn: CohortDraws, rows: _Rows, count: int) -> NDArray[np.float64]:
    """Return the first `count` columns of some rows of a cohort."""
    if len(rows) == 1:
        return drawn.row(int(rows[0]), count)[np.newaxis, :count]
    return drawn.upto(count)[rows, :count]


def _victims(
    gathered: Gathered,
    cohort: RenewalCohort | InstantCohort,
    count: int,
    rows: _Rows,
    servers: int,
) -> None:
    victims, place = cohort.victims, gathered.place
    if isinstance(victims, CauseVictimRows):
        for at, row in enumerate(rows.tolist(), place.start):
            hits = [_told(victims.hit(row, i), servers) for i in range(count)]
            gathered.rows["hits"][at] = _in_a_row(gathered, hits)
        gathered.rows["victim_count"][place] = count
        return
    victims.upto(count)
    gathered.choices("victims", "victim_count", victims.servers[rows, :count])
    gathered.choices("victim_trainers", None, victims.trainers[rows, :count])
    for name, each in zip(("per_servers", "per_trainers"), victims.counts, strict=True):
        gathered.rows[name][place] = each
    if victims.of_servers is not None:
        gathered.choices("kinds", None, victims.of_servers[rows, :count])


def _put_lives(gathered: Gathered, cohort: NodeCohort, count: int, rows: _Rows) -> None:
    lives = cohort.lives
    firsts = [gathered.add_numbers(lives.generation(i)[rows]) for i in range(count)]
    gathered.at("lives", firsts[0], lives.nodes)
    gathered.rows["life_stride"][gathered.place] = len(rows) * lives.nodes
    gathered.rows["life_count"][gathered.place] = count
    if lives.offenders is None:
        return
    firsts = [gathered.add_numbers(lives.states(i)[rows]) for i in range(count)]
    gathered.at("states", firsts[0], lives.nodes)
    for name, value in lives.offenders.columns().items():
        gathered.rows[name][gathered.place] = value


def _bursts(gathered: Gathered, shocks: Sequence[Shocks], count: int) -> None:
    times_s = [[each.at_s(i) for i in range(count)] for each in shocks]
    gathered.numbers("bursts", "burst_count", np.array(times_s))
    struck = [[sorted(each.nodes(i)) for i in range(count)] for each in shocks]
    width = max(len(nodes) for each in struck for nodes in each)
    table = np.full((len(shocks), count, width), NONE)
    for row, each in zip(table, struck, strict=True):
        for place, nodes in zip(row, each, strict=True):
            place[: len(nodes)] = nodes
    gathered.choices("burst_nodes", None, table)
    gathered.rows["burst_width"][gathered.place] = width


def _put_starts(gathered: Gathered, draws: StartDraws, rows: _Rows, count: int) -> None:
    block = draws.upto(count)[rows]
    gathered.numbers("starts", "start_count", block.reshape(len(rows), -1))
    gathered.rows["start_count"][gathered.place] //= block.shape[-1]


def _logs(gathered: Gathered, cohort: ReplayCohort, rows: list[int], servers: int) -> None:
    """Gather failures at fixed times; replications of an unshifted log share them."""
    known: dict[int, tuple[int, int]] = {}
    keep = []
    for place, row in enumerate(rows, gathered.place.start):
        timeline = cohort.timeline(row)
        keep.append(timeline)  # `known` has them by address, so they must live as long
        if id(timeline.times_s) not in known:
            assert not isinstance(timeline.hits, Victims)
            hits = [_told(hit, servers) for hit in timeline.hits]
            known[id(timeline.times_s)] = (
                gathered.add_numbers(np.array(timeline.times_s)),
                _in_a_row(gathered, hits),
            )
        found = gathered.rows[place]
        found["gaps"], found["hits"] = known[id(timeline.times_s)]
        found["gap_count"], found["circle_s"] = len(timeline.times_s), timeline.period_s


def _told(hit: Hit, servers: int) -> list[int]:
    """Return the number of nodes hit, the severity, and the nodes, trainers after servers."""
    nodes = hit.nodes(servers)
    return [len(nodes), SEVERITIES.index(hit.severity), *nodes]


def _in_a_row(gathered: Gathered, lists: list[list[int]]) -> int:
    """Add lists one after the other; return the place of a table of their places."""
    first = gathered.add_choices(np.array([each for told in lists for each in told], np.int32))
    starts = first + np.cumsum([0, *map(len, lists)])[:-1]
    return gathered.add_choices(starts)


def _away_s(outages: Outages, seed: int, replication: int, count: int) -> NDArray[np.float64]:
    """Return the starts and ends of outages in turn, s."""
    gaps_s = stream(seed, replication, Cause.OUTAGE).exponential(outages.every_s, count)
    lasts = outages.lasts
    if isinstance(lasts, Distribution):
        lasts_s = lasts.sample(stream(seed, replication, Cause.OUTAGE, entity=1), count)
    else:
        lasts_s = np.full(count, lasts)
    return np.cumsum(np.column_stack([gaps_s, lasts_s]).ravel())


def _first_sizes(scenario: Scenario) -> dict[int, int]:
    """Return how many numbers are drawn at first, by status.

    About one run of a cohort needs more.
    """
    model, useful_s = scenario.failure_model, scenario.job.useful_time_s
    failures = useful_s / model.mtbf_s
    most = _doubled(failures + 4 * math.sqrt(failures) + 2)
    bursts, storage = scenario.failures.bursts, scenario.storage
    sizes = dict.fromkeys(range(codes.MORE_GAPS, codes.MORE_ROOM), most)
    sizes[codes.MORE_LIVES] = _generations(failures / model.nodes, model.nodes)
    sizes[codes.MORE_VOIDS] = 64
    sizes |= dict.fromkeys((codes.MORE_STARTS, codes.MORE_NOTICES), most)
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
