"""Random numbers of runs: what is drawn for each, whichever engine plays it.

Each kind of number is drawn as a block with a row for each of some replications of a cohort, as
long as it is needed. The compiled engine gathers blocks of many runs in arrays
(`cprsim.batch.engine`). `RunDraws` lengthens those of one run whenever the machine needs more.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, stream
from cprsim.failures.causes import Part
from cprsim.failures.cohorts import (
    CauseVictimRows,
    InstantCohort,
    NodeCohort,
    RenewalCohort,
    ReplayCohort,
    SeverityRows,
    Shocks,
    VictimRows,
)
from cprsim.failures.hits import Hit
from cprsim.failures.shared import CohortNumbers, CohortStreams, SharedDraws
from cprsim.failures.timeline import AbsoluteTimeline, Cohort, DrawnTimeline, Timeline
from cprsim.job.costs import Costs
from cprsim.job.delays import Delay
from cprsim.job.platform import Outages
from cprsim.job.severity import SEVERITIES
from cprsim.job.start import start_of, starts_vary
from cprsim.machine import codes
from cprsim.machine.draws_row import DrawsRow
from cprsim.scenario import Scenario

#: Draws a block, shape (replications, count, ...), for a count of numbers, or of groups of them.
Draw = Callable[[int], NDArray[Any]]
#: Draws the nodes that each of so many failures hits, for each replication: see `_listed`.
DrawHits = Callable[[int], list[list[list[int]]]]
Rows = NDArray[np.intp]
#: Draws so many numbers, or groups of them, for some replications of a cohort.
DrawRows = Callable[[Rows, int], NDArray[Any]]
#: Of real numbers, or of nodes and severities.
Kind = Literal["numbers", "choices"]

#: Bits of a place within one kind of number, and the number of such places.
_SHIFT: Final = 40
MANY: Final = 1 << _SHIFT
#: Number of places of one failure.
_STRIDE: Final = 1 << 20
#: Numbers drawn at first, and generations of nodes.
_FIRST, _GENERATIONS = 16, 1


class Sink(Protocol):
    """A taker of random numbers of some runs, by columns of `DrawsRow`.

    `counted`: the column of their count; `status`: what the machine says where it needs more, or
    None for numbers of which there are no more.
    """

    def put(self, **columns: float) -> None:
        """Set columns to values."""

    def add(
        self, to: Kind, column: str, counted: str | None, status: int | None, draw: Draw
    ) -> None:
        """Take real numbers, or nodes or severities (choices)."""

    def add_hits(self, status: int | None, draw: DrawHits) -> None:
        """Take nodes hit by each failure, in lists of different lengths."""

    def add_logs(self, timelines: Sequence[AbsoluteTimeline], servers: int) -> None:
        """Take failures at fixed times."""


class ScenarioDraws:
    """All random numbers of the runs of a scenario."""

    def __init__(self, scenario: Scenario, seed: int, shared: SharedDraws | None = None) -> None:
        self._scenario, self._seed, self._shared = scenario, seed, shared
        self._failures: dict[int, Cohort] = {}
        self._cohorts: dict[int, list[tuple[str, str, int, DrawRows]]] = {}
        self._by_run = list(self._drawn_by_run())

    def forget(self) -> None:
        """Drop all numbers: the next runs are of other cohorts."""
        self._failures.clear()
        self._cohorts.clear()

    def of_run(self, replication: int, timeline: Timeline | None = None) -> "RunDraws":
        """Return the numbers of one run, with the failures of `timeline` where one is given."""
        number, row = divmod(replication, COHORT)
        if timeline is None:
            if number not in self._failures:
                self.forget()  # replications come in order, and a cohort may fill much memory
            timeline = self._failing(number).timeline(row)
        found = RunDraws(timeline, self._scenario.cluster.parameter_servers)
        found.alarm_rng = partial(stream, self._seed, replication, Cause.FALSE_ALARM, entity=1)
        put_failures(found, timeline, found.rows, found.servers, self._scenario.costs.detect_s)
        self._put_others(found, number, np.array([row]))
        return found

    def put(self, sink: Sink, number: int, rows: Rows) -> None:
        """Put the numbers of some replications of a cohort."""
        servers, failures = self._scenario.cluster.parameter_servers, self._failing(number)
        put_failures(sink, failures, rows, servers, self._scenario.costs.detect_s)
        self._put_others(sink, number, rows)

    def _failing(self, number: int) -> Cohort:
        if number not in self._failures:
            process = self._scenario.failure_model.process
            self._failures[number] = process.cohort(self._seed, number, self._shared)
        return self._failures[number]

    def _put_others(self, sink: Sink, number: int, rows: Rows) -> None:
        if number not in self._cohorts:
            self._cohorts[number] = list(self._drawn_by_cohort(number))
        runs = (number * COHORT + rows).tolist()
        for column, counted, status, draw in self._cohorts[number]:
            sink.add("numbers", column, counted, status, partial(draw, rows))
        for column, counted, status, of_run in self._by_run:
            sink.add("numbers", column, counted, status, partial(_each, of_run, runs))

    def _drawn_by_cohort(self, number: int) -> Iterator[tuple[str, str, int, DrawRows]]:
        """Yield what is drawn for all replications of a cohort: columns, status, and how."""
        costs, streams = self._scenario.costs, CohortStreams(self._seed, number, self._shared)
        of_restarts = "restart_count", codes.MORE_RESTARTS
        if isinstance(costs.reschedule, Distribution):
            delays = streams.durations(costs.reschedule, Cause.RESCHEDULE)
            yield "delays", "delay_count", codes.MORE_DELAYS, delays.of
        if costs.restart_fails:
            yield "tries", *of_restarts, streams.uniform(Cause.RESTART_FAILS).of
        if isinstance(costs.restart, Distribution):
            yield "restarts", *of_restarts, streams.durations(costs.restart, Cause.RESTART).of
        if isinstance(costs.regroup, Distribution):
            yield "regroups", *of_restarts, streams.durations(costs.regroup, Cause.REGROUP).of
        if starts_vary(costs):
            yield "starts", "start_count", codes.MORE_STARTS, _starts(costs, streams)

    def _drawn_by_run(self) -> Iterator[tuple[str, str, int, Callable[[int, int], Any]]]:
        """Yield what each run draws from its own streams: columns, status, and how."""
        seed, storage = self._seed, self._scenario.cost_model.storage
        silent, notices = self._scenario.failures.silent, self._scenario.failures.notice

        def uniform(cause: Cause) -> Callable[[int, int], Any]:
            return lambda run, count: stream(seed, run, cause).random(count)

        def instants(law: Callable[[np.random.Generator, int], Any], cause: Cause) -> Any:
            return lambda run, count: np.cumsum(law(stream(seed, run, cause), count))

        if storage is not None and storage.fails:
            yield "voids", "void_count", codes.MORE_VOIDS, uniform(Cause.SAVE_VOID)
            yield "loads", "load_count", codes.MORE_LOADS, uniform(Cause.LOAD_FAILED)
            if storage.torn:  # one for each save that can fail
                yield "torn", "void_count", codes.MORE_VOIDS, uniform(Cause.SAVE_TORN)
            if storage.outages is not None:
                away = partial(away_s, storage.outages, seed)
                yield "outages", "outage_count", codes.MORE_OUTAGES, away
        if silent is not None:
            faults = instants(silent.sample, Cause.SILENT)
            yield "silent", "silent_count", codes.MORE_SILENT, faults
        plans = self._scenario.plans.values()
        if notices is None or all(plan.on_notice is None for plan in plans):
            return
        yield "notices", "notice_count", codes.MORE_NOTICES, uniform(Cause.NOTICE)
        every_s = notices.false_alarm_every_s
        if every_s is not None:
            alarms = instants(lambda rng, n: rng.exponential(every_s, n), Cause.FALSE_ALARM)
            yield "alarms", "alarm_count", codes.MORE_ALARMS, alarms


def _starts(costs: Costs, streams: CohortStreams) -> DrawRows:
    """Return what draws starts and ends, s, shape (rows, count, 4), as of `StartCosts`.

    The n-th start and the n-th end of a replication take the same under every policy, each part of
    them of a separate stream.
    """
    laws: dict[Cause, CohortNumbers] = {}

    def draw(rows: Rows, count: int) -> NDArray[Any]:
        def seconds(delay: Delay, cause: Cause) -> NDArray[Any]:
            if not isinstance(delay, Distribution):
                return np.full((len(rows), count), delay)
            laws[cause] = laws.get(cause) or streams.durations(delay, cause)
            return laws[cause].of(rows, count)

        return np.stack(start_of(costs, seconds), axis=-1)

    return draw


def away_s(outages: Outages, seed: int, replication: int, count: int) -> NDArray[np.float64]:
    """Return when each outage of a replication starts and ends, s, shape (count, 2)."""
    # Two streams, so that another law of durations changes no gap between outages.
    gaps_s = stream(seed, replication, Cause.OUTAGE).exponential(outages.every_s, count)
    lasts = outages.lasts
    if isinstance(lasts, Distribution):
        lasts_s = lasts.sample(stream(seed, replication, Cause.OUTAGE, entity=1), count)
    else:
        lasts_s = np.full(count, lasts)
    return np.cumsum(np.column_stack([gaps_s, lasts_s]).ravel()).reshape(count, 2)


def _each(draw: Callable[[int, int], Any], runs: Sequence[int], count: int) -> NDArray[Any]:
    return np.array([draw(run, count) for run in runs])


# --- Failures ------------------------------------------------------------------------------------


def source_of(failures: Any) -> int:
    """Return the source of failures of a timeline or a cohort, by `cprsim.machine.codes`."""
    cohort = failures.cohort if isinstance(failures, DrawnTimeline) else failures
    if isinstance(cohort, RenewalCohort):
        return codes.RENEWAL
    if isinstance(cohort, InstantCohort | ReplayCohort | AbsoluteTimeline):
        return codes.ABSOLUTE
    return codes.LIVES if isinstance(cohort, NodeCohort) else codes.OTHER


def put_failures(sink: Sink, failures: Any, rows: Rows, servers: int, detect_s: float) -> None:
    """Put the failures of some replications of a cohort, or of one timeline.

    Of a timeline of another kind, which has its own cursor, only times of causes are put.
    """
    cohort = failures.cohort if isinstance(failures, DrawnTimeline) else failures
    if isinstance(cohort, RenewalCohort):
        sink.add("numbers", "gaps", "gap_count", codes.MORE_GAPS, partial(cohort.gaps.of, rows))
        _put_victims(sink, cohort.victims, rows, servers, None)
    elif isinstance(cohort, InstantCohort):
        sink.add("numbers", "gaps", "gap_count", None, lambda _: cohort.times_s[rows])
        _put_victims(sink, cohort.victims, rows, servers, cohort.times_s.shape[1])
    elif isinstance(cohort, ReplayCohort):
        sink.add_logs([cohort.timeline(row) for row in rows.tolist()], servers)
    elif isinstance(cohort, AbsoluteTimeline):
        sink.add_logs([cohort], servers)
    elif isinstance(cohort, NodeCohort):
        _put_lives(sink, cohort, rows)
    severities: SeverityRows | None = getattr(cohort, "severities", None)
    if severities is None:
        return
    if source_of(cohort) != codes.OTHER:
        graded = partial(severities.of_failures, rows)
        sink.add("choices", "severities", "severity_count", codes.MORE_SEVERITIES, graded)
    otherwise_s = detect_s, codes.AS_ALL_S
    for column, part, other_s in zip(
        ("detections", "repairs"), get_args(Part), otherwise_s, strict=True
    ):
        if severities.has(part):
            times_s = partial(severities.times_s, part, rows, otherwise_s=other_s)
            sink.add("numbers", column, "severity_count", codes.MORE_SEVERITIES, times_s)


def _put_victims(
    sink: Sink, victims: VictimRows | CauseVictimRows, rows: Rows, servers: int, most: int | None
) -> None:
    """Put the nodes hit by failures of which each replication has `most`, if not ever more."""
    status = codes.MORE_VICTIMS if most is None else None
    if isinstance(victims, CauseVictimRows):
        sink.add_hits(
            status,
            lambda count: [
                [_listed(hit, servers) for hit in victims.hits(row, most or count)]
                for row in rows.tolist()
            ],
        )
        return

    def drawn(name: str, count: int) -> NDArray[Any]:
        found: NDArray[Any] = getattr(victims.upto(most or count), name)
        return found[rows, : count if most is None else most]

    sink.add("choices", "victims", "victim_count", status, partial(drawn, "servers"))
    sink.add("choices", "victim_trainers", None, status, partial(drawn, "trainers"))
    if victims.of_servers is not None:
        sink.add("choices", "kinds", None, status, partial(drawn, "of_servers"))
    sink.put(per_servers=victims.counts[0], per_trainers=victims.counts[1])


def _put_lives(sink: Sink, cohort: NodeCohort, rows: Rows) -> None:
    def of_generations(of: Callable[[int], NDArray[Any]], count: int) -> NDArray[Any]:
        found = np.empty((len(rows), count, cohort.nodes))
        for number in range(count):
            found[:, number] = of(number)[rows]
        return found

    drawn = partial(of_generations, cohort.generation)
    sink.add("numbers", "lives", "life_count", codes.MORE_LIVES, drawn)
    sink.put(life_stride=cohort.nodes)
    if cohort.offenders is not None:
        states = partial(of_generations, cohort.states)
        sink.add("numbers", "states", "life_count", codes.MORE_LIVES, states)
        offenders = cohort.offenders
        sink.put(
            bad_share=offenders.share,
            bad_times=offenders.times,
            cured=offenders.cured,
            misdiagnosed=offenders.misdiagnosed,
            retired_after=offenders.retired_after or 0,
        )
    if cohort.bursts is None:
        return
    shocks = [cohort.shocks(row) for row in rows.tolist()]

    def struck(count: int) -> NDArray[Any]:
        found = np.full((len(shocks), count, shocks[0].most), codes.NONE)
        for row, each in zip(found, shocks, strict=True):
            for number, place in enumerate(row):
                nodes = sorted(each.nodes(number))
                place[: len(nodes)] = nodes
        return found

    sink.add("numbers", "bursts", "burst_count", codes.MORE_BURSTS, partial(_instants, shocks))
    sink.add("choices", "burst_nodes", None, codes.MORE_BURSTS, struck)
    sink.put(burst_width=shocks[0].most)


def _instants(shocks: Sequence[Shocks], count: int) -> NDArray[np.float64]:
    return np.array([[each.at_s(i) for i in range(count)] for each in shocks])


def _listed(hit: Hit, servers: int) -> list[int]:
    """Return the number of nodes hit, the severity, and the nodes, trainers after servers."""
    nodes = hit.nodes(servers)
    return [len(nodes), SEVERITIES.index(hit.severity), *nodes]


def listed_of(timeline: AbsoluteTimeline, servers: int) -> list[list[int]]:
    """Return the nodes hit by each failure of a timeline."""
    return [_listed(hit, servers) for hit in timeline.hits]


# --- One run -------------------------------------------------------------------------------------


class RunDraws:
    """The numbers of one run, drawn as the machine needs them; a `Sink`.

    `source`: of its failures, by `cprsim.machine.codes`. `rows`: its place in the cohort of the
    timeline. `alarm_rng` makes the stream of the nodes of false alarms.
    """

    alarm_rng: Callable[[], np.random.Generator]

    def __init__(self, timeline: Timeline, servers: int) -> None:
        self.timeline, self.servers, self.source = timeline, servers, source_of(timeline)
        # A timeline of somebody's own may lack both.
        self._severities: SeverityRows | None = getattr(timeline, "severities", None)
        self.rows = np.array([getattr(timeline, "row", 0)])
        self.row, self.numbers, self.choices = DrawsRow(), Numbers(), Numbers()

    def put(self, **columns: float) -> None:
        """Set columns to values."""
        for name, value in columns.items():
            setattr(self.row, name, value)

    def add(
        self, to: Kind, column: str, counted: str | None, status: int | None, draw: Draw
    ) -> None:
        """Take real numbers, or nodes or severities (choices)."""
        first = _GENERATIONS if status == codes.MORE_LIVES else _FIRST
        numbers: Numbers = getattr(self, to)
        self.put(**{column: numbers.add(GrowingNumbers(draw, first))})
        if counted is not None:
            self.put(**{counted: MANY if status is not None else draw(0).shape[1]})

    def add_hits(self, status: int | None, draw: DrawHits) -> None:
        """Take nodes hit by each failure, in lists of different lengths."""
        count = MANY if status is not None else len(draw(0)[0])
        self._list_hits(GrowingNumbers(lambda n: draw(n)[0], _FIRST), count)

    def add_logs(self, timelines: Sequence[AbsoluteTimeline], servers: int) -> None:
        """Take failures at fixed times."""
        (timeline,) = timelines
        gaps = self.numbers.add(timeline.times_s.__getitem__)
        self.put(gaps=gaps, gap_count=len(timeline.times_s), circle_s=timeline.period_s)
        self._list_hits(lambda failure: _listed(timeline.hits[failure], servers), 0)

    def _list_hits(self, listed: Callable[[int], list[int]], count: int) -> None:
        known = dict[int, list[int]]()

        def number(place: int) -> int:
            failure, at = divmod(place, _STRIDE)
            if failure not in known:
                known[failure] = listed(failure)
            return known[failure][at]

        first = self.choices.add(number)
        hits = self.choices.add(lambda failure: first + failure * _STRIDE)
        self.put(hits=hits, victim_count=count)

    def cause(self, failure: int) -> str:
        """Return the name of the cause of a failure; empty where none is drawn."""
        if self._severities is None:
            return ""
        (causes,) = self._severities.causes(self.rows, failure + 1).tolist()
        name: str = self._severities.kinds[causes[failure]].name
        return name


class Numbers:
    """Numbers of several kinds, each in its own range of places, longer than any run needs."""

    def __init__(self) -> None:
        self._of: list[Callable[[int], Any]] = []

    def add(self, numbers: Callable[[int], Any]) -> int:
        """Add a kind; return the place of its first number."""
        self._of.append(numbers)
        return (len(self._of) - 1) << _SHIFT

    def __getitem__(self, place: int) -> Any:
        """Return the number at a place."""
        return self._of[place >> _SHIFT](place & (MANY - 1))


class GrowingNumbers:
    """Numbers of one kind of one run: at first `count`, and more whenever they are used up.

    Generations of nodes, which are long, one by one.
    """

    def __init__(self, draw: Callable[[int], Any], count: int) -> None:
        self._draw, self._count = draw, count
        self._known: list[Any] = []

    def __call__(self, number: int) -> Any:
        """Return number `number`, counted from 0."""
        while number >= len(self._known):
            drawn = self._draw(self._count)
            self._known = drawn if isinstance(drawn, list) else drawn[0].ravel().tolist()
            self._count = 2 * self._count if self._count >= _FIRST else self._count + 1
        return self._known[number]
