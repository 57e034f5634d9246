"""Random numbers of one run, drawn one by one as the machine needs them.

The compiled engine has arrays, and starts a run over with longer ones where they are too short.
Here each kind of number has its own range of places, longer than any run needs.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, Draws, stream
from cprsim.failures.hit import Hit
from cprsim.failures.nodes import NodeTimeline
from cprsim.failures.notice import Notices
from cprsim.failures.severity import SeverityDraws
from cprsim.failures.timeline import AbsoluteTimeline, RenewalTimeline
from cprsim.job.platform import Outages
from cprsim.job.severity import SEVERITIES
from cprsim.job.start import Starts, has_starts, regroup_times, restart_times, restart_tries
from cprsim.machine.codes import ABSOLUTE, AS_ALL_S, LIVES, NONE, OTHER, RENEWAL, SHARED
from cprsim.machine.draws_row import DrawsRow
from cprsim.sim.plan_costs import PlanCosts

#: Bits of a place within one kind of number, and the number of such places.
_SHIFT: Final = 40
MANY: Final = 1 << _SHIFT
#: Number of places of one failure, or of one generation of nodes.
_STRIDE: Final = 1 << 20
#: Numbers drawn at once.
_BLOCK: Final = 16


class Numbers:
    """Numbers of several kinds, each in its own range of places."""

    def __init__(self) -> None:
        self._of: list[Callable[[int], Any]] = []

    def add(self, numbers: Callable[[int], Any]) -> int:
        """Add a kind; return the place of its first number."""
        self._of.append(numbers)
        return (len(self._of) - 1) << _SHIFT

    def __getitem__(self, place: int) -> Any:
        """Return the number at a place."""
        return self._of[place >> _SHIFT](place & (MANY - 1))


class InBlocks:
    """Numbers drawn in blocks, in order."""

    def __init__(self, draw: Callable[[int], Iterable[float]]) -> None:
        self._draw = draw
        self._drawn: list[float] = []

    def __call__(self, number: int) -> float:
        """Return number `number`, counted from 0."""
        while number >= len(self._drawn):
            self._drawn += self._draw(_BLOCK)
        return self._drawn[number]


class FailureDraws:
    """Failures of a timeline as a row and numbers; nodes after the servers are trainers.

    `source`: their source, by `cprsim.machine.codes`. For `OTHER`, a timeline with its own cursor,
    nothing is drawn.
    """

    def __init__(self, timeline: Any, servers: int) -> None:
        self._servers = servers
        # A timeline with its own cursor may have them too, for the detection of causes.
        self.severities: SeverityDraws | None = getattr(timeline, "severities", None)
        self.row, self.numbers, self.choices = DrawsRow(), Numbers(), Numbers()
        self.source = OTHER
        if isinstance(timeline, RenewalTimeline):
            self.source = RENEWAL
            self._gaps(timeline.gaps.__getitem__, MANY)
            self._hits(timeline.victims)
        elif isinstance(timeline, AbsoluteTimeline):
            self.source, times_s = ABSOLUTE, timeline.times_s
            self._gaps(times_s.__getitem__, len(times_s))
            self.row.circle_s = timeline.period_s
            self._hits(timeline.hits)
        elif isinstance(timeline, NodeTimeline):
            self._lives(timeline)
        else:
            return
        severities = self.severities
        if severities is not None:
            graded = lambda i: SEVERITIES.index(severities[i])  # noqa: E731
            self.row.severities, self.row.severity_count = self.choices.add(graded), MANY

    def cause(self, failure: int) -> str:
        """Return the name of the cause of a failure; empty where none is drawn."""
        if self.severities is None:
            return ""
        return self.severities.rows.kinds[self.severities.cause(failure)].name

    def _gaps(self, gaps: Callable[[int], float], count: int) -> None:
        self.row.gaps, self.row.gap_count = self.numbers.add(gaps), count

    def _hits(self, hits: Any) -> None:
        """Add the nodes that each failure hits: their number, its severity, and the nodes."""
        servers, known = self._servers, dict[int, list[int]]()

        def told(place: int) -> int:
            failure, number = divmod(place, _STRIDE)
            if failure not in known:
                hit: Hit = hits[failure]
                nodes = hit.nodes(servers)
                known[failure] = [len(nodes), SEVERITIES.index(hit.severity), *nodes]
            return known[failure][number]

        first = self.choices.add(told)
        self.row.hits = self.choices.add(lambda failure: first + failure * _STRIDE)

    def _lives(self, timeline: NodeTimeline) -> None:
        row, shocks = self.row, timeline.shocks
        shared = shocks is not None or timeline.severities is not None
        self.source = SHARED if shared else LIVES
        row.lives = self.numbers.add(lambda place: timeline.life_s(*divmod(place, _STRIDE)))
        row.life_count, row.life_stride = MANY, _STRIDE
        if timeline.offenders is not None:
            row.states = self.numbers.add(lambda place: timeline.state(*divmod(place, _STRIDE)))
            for name, value in timeline.offenders.columns().items():
                setattr(row, name, value)
        if shocks is None:
            return
        row.bursts, row.burst_count = self.numbers.add(shocks.at_s), MANY
        row.burst_width = width = shocks.most

        def node(place: int) -> int:
            burst, number = divmod(place, width)
            nodes = sorted(shocks.nodes(burst))
            return nodes[number] if number < len(nodes) else NONE

        row.burst_nodes = self.choices.add(node)


class RunDraws(FailureDraws):
    """All random numbers of one run."""

    def __init__(self, plan_costs: PlanCosts, timeline: Any, seed: int, replication: int) -> None:
        super().__init__(timeline, plan_costs.servers)
        self._plan_costs, self._key = plan_costs, (seed, replication)
        self._of_store()
        self._of_silent_faults()
        self._of_cures()
        if plan_costs.notices is not None:
            self._of_notices(plan_costs.notices)

    def waits(self, delays: Callable[[int], float] | None, starts: Starts) -> None:
        """Add rescheduling delays, where they are drawn, and durations of starts, s."""
        row = self.row
        if delays is not None:
            row.delays, row.delay_count = self.numbers.add(delays), MANY
        if has_starts(self._plan_costs.costs.costs):
            of_start = lambda place: starts[place // 4][place % 4]  # noqa: E731
            row.starts, row.start_count = self.numbers.add(of_start), MANY

    def _uniform(self, cause: Cause) -> int:
        drawn = stream(*self._key, cause).random
        return self.numbers.add(InBlocks(lambda count: drawn(count).tolist()))

    def _of_store(self) -> None:
        row, storage = self.row, self._plan_costs.costs.storage
        if storage is None or not storage.fails:
            return
        row.voids, row.void_count = self._uniform(Cause.SAVE_VOID), MANY
        row.loads, row.load_count = self._uniform(Cause.LOAD_FAILED), MANY
        if storage.torn:
            row.torn = self._uniform(Cause.SAVE_TORN)
        if storage.outages is not None:
            row.outages = self.numbers.add(InBlocks(partial(Away(storage.outages, *self._key))))
            row.outage_count = MANY

    def _of_cures(self) -> None:
        """Add detections and repairs of causes, and restarts in place."""
        row, costs, severities = self.row, self._plan_costs.costs.costs, self.severities
        if severities is not None and severities.rows.has("detect"):
            detection_s = lambda i: severities.time_s("detect", i, costs.detect_s)  # noqa: E731
            row.detections = self.numbers.add(detection_s)
        if severities is not None and severities.rows.has("repair"):
            repair_s = lambda i: severities.time_s("repair", i, AS_ALL_S)  # noqa: E731
            row.repairs = self.numbers.add(repair_s)
        seed, (number, place) = self._key[0], divmod(self._key[1], COHORT)
        row.restart_count = MANY
        if costs.restart_fails:
            row.tries = self.numbers.add(Draws(restart_tries(seed, number), place).__getitem__)
        if isinstance(costs.restart, Distribution):
            drawn = restart_times(costs.restart, seed, number)
            row.restarts = self.numbers.add(Draws(drawn, place).__getitem__)
        if isinstance(costs.regroup, Distribution):
            drawn = regroup_times(costs.regroup, seed, number)
            row.regroups = self.numbers.add(Draws(drawn, place).__getitem__)

    def _of_silent_faults(self) -> None:
        law = self._plan_costs.scenario.failures.silent
        if law is None:
            return
        faults = _Summed(partial(law.sample, stream(*self._key, Cause.SILENT)))
        self.row.silent, self.row.silent_count = self.numbers.add(InBlocks(faults)), MANY

    def _of_notices(self, notices: Notices) -> None:
        row = self.row
        row.notices, row.notice_count = self._uniform(Cause.NOTICE), MANY
        every_s = notices.false_alarm_every_s
        if every_s is not None:
            alarms = _Summed(partial(stream(*self._key, Cause.FALSE_ALARM).exponential, every_s))
            row.alarms, row.alarm_count = self.numbers.add(InBlocks(alarms)), MANY

    def alarm_nodes(self) -> Callable[[int], float]:
        """Return the nodes of false alarms, by number of the alarm."""
        nodes = stream(*self._key, Cause.FALSE_ALARM, entity=1).integers
        return InBlocks(lambda _: [float(nodes(self._plan_costs.nodes))])


class _Summed:
    """Instants whose gaps are drawn, s."""

    def __init__(self, gaps: Callable[[int], Any]) -> None:
        self._gaps, self._last_s = gaps, 0.0

    def __call__(self, count: int) -> list[float]:
        found = []
        for gap_s in self._gaps(count).tolist():
            self._last_s += gap_s
            found.append(self._last_s)
        return found


class Away:
    """Starts and ends of outages in turn, s."""

    def __init__(self, outages: Outages, seed: int, replication: int) -> None:
        self._outages, self._last_s = outages, 0.0
        # Two streams, so that another law of durations changes no gap between outages.
        self._of_gaps = stream(seed, replication, Cause.OUTAGE)
        self._of_lengths = stream(seed, replication, Cause.OUTAGE, entity=1)

    def __call__(self, count: int) -> list[float]:
        """Return the next `count` of them."""
        lasts, count = self._outages.lasts, count // 2
        gaps_s = self._of_gaps.exponential(self._outages.every_s, count).tolist()
        lasts_s: Sequence[float] = [lasts] * count if isinstance(lasts, float) else ()
        if isinstance(lasts, Distribution):
            lasts_s = lasts.sample(self._of_lengths, count).tolist()
        found = []
        for gap_s, last_s in zip(gaps_s, lasts_s, strict=True):
            found += [self._last_s + gap_s, self._last_s + gap_s + last_s]
            self._last_s = found[-1]
        return found
