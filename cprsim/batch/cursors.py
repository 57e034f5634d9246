"""Ways of many runs through their failure timelines: `cprsim.failures.timeline`, lane by lane."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT, CohortDraws
from cprsim.batch.hits import NODE, HitRows, padded
from cprsim.batch.lanes import Floats, Integers
from cprsim.failures.cohorts import InstantCohort, NodeCohort, RenewalCohort, ReplayCohort
from cprsim.failures.hit import SEVERITIES
from cprsim.failures.severity import SeverityRows
from cprsim.failures.timeline import Cohort


class Cursors(Protocol):
    """A cursor for each lane; methods are for the lanes given by number."""

    next_s: Floats
    absorbed: Integers

    def strike(self, lanes: Integers) -> HitRows:
        """Take the failures at `next_s`."""

    def replace(self, lanes: Integers, hits: HitRows, now_s: Floats) -> None:
        """The nodes that `hits` took down are placed anew."""

    def resume(self, lanes: Integers, now_s: Floats) -> Floats:
        """These jobs can be hit again.

        Returns how far the nearest failure is from `now_s`, before or after it, s: where that is no
        more than rounding, whether the downtime absorbed it is too close to call.
        """


def cursors_of(cohorts: Sequence[Cohort], place: Integers) -> Callable[[], Cursors]:
    """What makes cursors at time 0, as often as it is called; all of them share what is drawn.

    Lane i is row `place[i]` of the cohorts, counted through one after the other.
    """
    return PLAYED[type(cohorts[0])](cohorts, place)


class LaneDraws:
    """What is drawn for several cohorts as one array, a row for each lane."""

    def __init__(self, cohorts: Sequence[CohortDraws | SeverityRows], place: Integers) -> None:
        self._cohorts, self._place = cohorts, place
        self._drawn: NDArray[Any] = np.empty((len(place), 0))

    def at(self, lanes: Integers, index: Integers) -> NDArray[Any]:
        """The number at an index of each lane."""
        most = int(index.max(initial=-1)) + 1
        if self._drawn.shape[1] < most:
            rows = [each.upto(most) for each in self._cohorts]
            # Cohorts may have drawn unlike many columns, and a column that was drawn never changes:
            # as many are taken as all of them have, by all lanes at once.
            width = min(each.shape[1] for each in rows)
            self._drawn = np.concatenate([each[:, :width] for each in rows])[self._place]
        return np.asarray(self._drawn[lanes, index])


class _Grades:
    """How severe the nth failure of each lane is, where that is drawn."""

    def __init__(self, drawn: Sequence[SeverityRows | None], place: Integers) -> None:
        found = [each for each in drawn if each is not None]
        self._codes = LaneDraws(found, place) if found else None
        self._cluster = found[0].cluster if found else None

    def grade(self, hits: HitRows, lanes: Integers, index: Integers) -> HitRows:
        if self._codes is None or self._cluster is None:
            return hits
        return hits.graded(self._codes.at(lanes, index), self._cluster)


class _Victims:
    """What the nth failure of each lane takes down."""

    def __init__(
        self, cohorts: Sequence[RenewalCohort] | Sequence[InstantCohort], place: Integers
    ) -> None:
        self._victims, self._place = [each.victims for each in cohorts], place
        self._grades = _Grades([each.severities for each in cohorts], place)
        self._columns = 0

    def at(self, lanes: Integers, index: Integers) -> HitRows:
        self._draw(int(index.max(initial=-1)) + 1)
        servers, trainers = self._servers[lanes, index], self._trainers[lanes, index]
        if self._of_servers is not None:
            of_servers = self._of_servers[lanes, index][:, np.newaxis]
            servers = np.where(of_servers, servers, np.int32(-1))
            trainers = np.where(of_servers, np.int32(-1), trainers)
        hits = HitRows(servers, trainers, np.full(len(lanes), NODE))
        return self._grades.grade(hits, lanes, index)

    def _draw(self, columns: int) -> None:
        if columns <= self._columns:
            return
        for each in self._victims:
            each.upto(columns)
        self._columns = width = min(each.servers.shape[1] for each in self._victims)
        # From here on arrays are by lane: whoever asks gives numbers of lanes, never rows of
        # cohorts.
        place = self._place
        self._servers = np.concatenate([v.servers[:, :width] for v in self._victims])[place]
        self._trainers = np.concatenate([v.trainers[:, :width] for v in self._victims])[place]
        kinds = [v.of_servers[:, :width] for v in self._victims if v.of_servers is not None]
        self._of_servers = np.concatenate(kinds)[place] if kinds else None


class _InOrder:
    """Failures in an order of their own: the nth of a lane takes down what `victims` says."""

    next_s: Floats

    def __init__(self, victims: "_Victims | _LogVictims", lanes: int) -> None:
        self._victims = victims
        self._index = np.zeros(lanes, np.intp)
        self.absorbed = np.zeros(lanes, np.intp)

    def strike(self, lanes: Integers) -> HitRows:
        hits = self._victims.at(lanes, self._index[lanes])
        # Nothing can hit a job that is down: no failure is due until `resume` finds the next one.
        self._index[lanes] += 1
        self.next_s[lanes] = math.inf
        return hits

    def replace(self, lanes: Integers, hits: HitRows, now_s: Floats) -> None:
        """Nothing to do: the clock is the job's, or the times are fixed."""


class _RenewingCursors(_InOrder):
    """Each gap is counted from when the job runs again."""

    def __init__(self, gaps: LaneDraws, victims: _Victims, lanes: int) -> None:
        super().__init__(victims, lanes)
        self._gaps = gaps
        self.next_s = self._gaps.at(np.arange(lanes), self._index)

    def resume(self, lanes: Integers, now_s: Floats) -> Floats:
        self.next_s[lanes] = now_s + self._gaps.at(lanes, self._index[lanes])
        # A gap drawn anew begins now: no failure lies in the downtime, so none can be near its end.
        return np.full(len(lanes), math.inf)


def _renewing(cohorts: Sequence[RenewalCohort], place: Integers) -> Callable[[], _RenewingCursors]:
    gaps = LaneDraws([each.gaps for each in cohorts], place)
    return partial(_RenewingCursors, gaps, _Victims(cohorts, place), len(place))


class _FixedCursors(_InOrder):
    """Failures at instants that nothing moves.

    `times_s`: shape (lanes, most + 1), infinite after the last of a lane.
    """

    def __init__(
        self, times_s: Floats, victims: "_Victims | _LogVictims", laps: "_Laps | None" = None
    ) -> None:
        super().__init__(victims, len(times_s))
        self._times_s, self._laps = times_s, laps
        self.next_s = self._at_s(np.arange(len(times_s)))

    def _at_s(self, lanes: Integers) -> Floats:
        index = self._index[lanes]
        if self._laps is not None:
            return self._laps.at_s(self._times_s, lanes, index)
        return np.asarray(self._times_s[lanes, np.minimum(index, self._times_s.shape[1] - 1)])

    def resume(self, lanes: Integers, now_s: Floats) -> Floats:
        # What lies strictly inside the downtime is absorbed.
        at_s = self._at_s(lanes)
        margin_s = np.abs(at_s - now_s)
        while (inside := at_s < now_s).any():
            self._index[lanes[inside]] += 1
            self.absorbed[lanes[inside]] += 1
            at_s = self._at_s(lanes)
            margin_s = np.minimum(margin_s, np.abs(at_s - now_s))
        self.next_s[lanes] = at_s
        return margin_s


def _fixed(cohorts: Sequence[InstantCohort], place: Integers) -> Callable[[], _FixedCursors]:
    times_s = np.concatenate([each.times_s for each in cohorts])[place]
    times_s = np.concatenate([times_s, np.full((len(place), 1), math.inf)], axis=1)
    return partial(_FixedCursors, times_s, _Victims(cohorts, place))


class _Laps(NamedTuple):
    """Logs that come again, each `period_s` later: how many failures a lap has in each lane."""

    length: Integers
    period_s: float

    def at_s(self, times_s: Floats, lanes: Integers, index: Integers) -> Floats:
        length = self.length[lanes]
        lap, place = np.divmod(index, np.maximum(length, 1))
        with np.errstate(invalid="ignore"):  # the 0th lap of one that never ends
            later_s = np.where(lap > 0, lap * self.period_s, 0.0)
        return np.where(length > 0, times_s[lanes, place] + later_s, math.inf)


class _LogVictims(NamedTuple):
    """What the failures of a lap take down: those of lane i from `first[i]` on in `hits`."""

    hits: HitRows
    first: Integers
    length: Integers
    grades: _Grades

    def at(self, lanes: Integers, index: Integers) -> HitRows:
        hits = self.hits.take(self.first[lanes] + index % self.length[lanes])
        return self.grades.grade(hits, lanes, index)


def _replayed(cohorts: Sequence[ReplayCohort], place: Integers) -> Callable[[], _FixedCursors]:
    timelines = [cohorts[each // COHORT].timeline(each % COHORT) for each in place.tolist()]
    # Replayed logs are drawn run by run (see `basics.streams`), so lanes differ in length: one
    # array for all, infinite after the last failure of each, and one list of hits, lane after lane.
    count = np.array([len(each.times_s) for each in timelines], np.intp)
    times_s = np.full((len(place), int(count.max(initial=0)) + 1), math.inf)
    for lane, each in enumerate(timelines):
        times_s[lane, : count[lane]] = each.times_s
    listed = [each.hits[i] for each in timelines for i in range(len(each.times_s))]
    hits = HitRows(
        padded([hit.servers for hit in listed]),
        padded([hit.trainers for hit in listed]),
        np.array([SEVERITIES.index(hit.severity) for hit in listed], np.intp),
    )
    first = np.cumsum(count) - count
    victims = _LogVictims(hits, first, count, _Grades([each.severities for each in cohorts], place))
    return partial(_FixedCursors, times_s, victims, _Laps(count, timelines[0].period_s))


class _LifeCursors:
    """Each node fails at the end of its life; only a replaced one starts new."""

    def __init__(self, cohorts: Sequence[NodeCohort], place: Integers) -> None:
        self._lives = [each.lives for each in cohorts]
        self._place = place
        self._servers = cohorts[0].cluster.parameter_servers
        self._ends_s = np.concatenate([each.generation(0) for each in self._lives])[place]
        self._generation = np.zeros(self._ends_s.shape, np.intp)
        self._running = np.ones(len(place), np.bool_)
        self.absorbed = np.zeros(len(place), np.intp)
        self.next_s = self._ends_s.min(axis=1)

    def strike(self, lanes: Integers) -> HitRows:
        ends_s = self._ends_s[lanes]
        struck = ends_s == self.next_s[lanes][:, np.newaxis]  # lives that end together are one
        # Who is down has no life that could end: infinite until it is placed anew.
        self._ends_s[lanes] = np.where(struck, math.inf, ends_s)
        self._running[lanes], self.next_s[lanes] = False, math.inf
        return HitRows.from_marked(struck, self._servers, np.full(len(lanes), NODE))

    def replace(self, lanes: Integers, hits: HitRows, now_s: Floats) -> None:
        for nodes, first in ((hits.servers, 0), (hits.trainers, self._servers)):
            for column in nodes.T:
                hit = column >= 0
                self._place_anew(lanes[hit], column[hit] + first, now_s[hit])
        # Placed beside training (a rebuild), a node can be the next to fail. A job that is down
        # stays at infinity: its next failure is found by `resume`.
        running = lanes[self._running[lanes]]
        self.next_s[running] = self._ends_s[running].min(axis=1)

    def resume(self, lanes: Integers, now_s: Floats) -> Floats:
        margin_s = np.abs(self._ends_s[lanes] - now_s[:, np.newaxis]).min(axis=1)
        # A node that failed in the downtime is replaced with the others, before the job goes on.
        dead, node = np.nonzero(self._ends_s[lanes] < now_s[:, np.newaxis])
        np.add.at(self.absorbed, lanes[dead], 1)
        self._place_anew(lanes[dead], node, now_s[dead])
        self._running[lanes] = True
        self.next_s[lanes] = self._ends_s[lanes].min(axis=1)
        return np.asarray(margin_s)

    def _place_anew(self, lanes: Integers, nodes: Integers, now_s: Floats) -> None:
        # The nth life of a place is the same number in every policy and engine, whatever happened
        # to other nodes before: only how often this place was filled counts.
        generation = self._generation[lanes, nodes] + 1
        self._generation[lanes, nodes] = generation
        cohort, row = np.divmod(self._place[lanes], COHORT)
        life_s = np.empty(len(lanes))
        for each in np.unique(generation):
            for number, lives in enumerate(self._lives):
                here = (generation == each) & (cohort == number)
                if here.any():
                    life_s[here] = lives.generation(int(each))[row[here], nodes[here]]
        self._ends_s[lanes, nodes] = now_s + life_s


#: Kinds of failures that can be played, and by whom; all others are the simulator's.
PLAYED: dict[type[Cohort], Callable[[Sequence[Any], Integers], Callable[[], Cursors]]] = {
    RenewalCohort: _renewing,
    InstantCohort: _fixed,
    NodeCohort: partial(partial, _LifeCursors),
    ReplayCohort: _replayed,
}
