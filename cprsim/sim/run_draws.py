"""Random numbers of one run, drawn as the machine needs them."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from cprsim.failures.cohorts import SeverityRows
from cprsim.failures.timeline import AbsoluteTimeline, Timeline
from cprsim.machine import codes
from cprsim.machine.draws_row import DrawsRow
from cprsim.sim.failure_draws import Draw, DrawHits, Kind, listed, source_of

#: Bits of a place within one kind of number, and the number of such places.
_SHIFT: Final = 40
MANY: Final = 1 << _SHIFT
#: Number of places of one failure.
_STRIDE: Final = 1 << 20
#: Numbers drawn at first, and generations of nodes.
_FIRST, _GENERATIONS = 16, 1


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
        self._list_hits(lambda failure: listed(timeline.hits[failure], servers), 0)

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
