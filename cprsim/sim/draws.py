"""Random numbers of runs: what is drawn for each, whichever engine plays it.

Each kind of number is drawn as a block with a row for each of some replications of a cohort, as
long as it is needed. The compiled engine gathers blocks of many runs in arrays
(`cprsim.batch.engine`). `RunDraws` lengthens those of one run whenever the machine needs more.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, stream
from cprsim.failures.shared import CohortNumbers, CohortStreams, SharedDraws
from cprsim.failures.timeline import Cohort, Timeline
from cprsim.job.costs import Costs
from cprsim.job.delays import Delay
from cprsim.job.platform import Outages
from cprsim.job.start import start_of, starts_vary
from cprsim.machine import codes
from cprsim.scenario import Scenario
from cprsim.sim.failure_draws import Rows, Sink, put_failures
from cprsim.sim.run_draws import RunDraws

#: Draws so many numbers, or groups of them, for some replications of a cohort.
DrawRows = Callable[[Rows, int], NDArray[Any]]


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

    def of_run(self, replication: int, timeline: Timeline | None = None) -> RunDraws:
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
