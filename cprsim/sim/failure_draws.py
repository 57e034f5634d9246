"""Random numbers of failures, put into what gathers them: one run's, or those of many.

The compiled engine gathers blocks of many runs in arrays (`cprsim.batch.engine`), the simulator
those of one (`cprsim.sim.run_draws`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

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
from cprsim.failures.timeline import AbsoluteTimeline, DrawnTimeline
from cprsim.job.severity import SEVERITIES
from cprsim.machine import codes

#: Draws a block, shape (replications, count, ...), for a count of numbers, or of groups of them.
Draw = Callable[[int], NDArray[Any]]
#: Draws the nodes that each of so many failures hits, for each replication: see `listed`.
DrawHits = Callable[[int], list[list[list[int]]]]
Rows = NDArray[np.intp]
#: Of real numbers, or of nodes and severities.
Kind = Literal["numbers", "choices"]


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
                [listed(hit, servers) for hit in victims.hits(row, most or count)]
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


def listed(hit: Hit, servers: int) -> list[int]:
    """Return the number of nodes hit, the severity, and the nodes, trainers after servers."""
    nodes = hit.nodes(servers)
    return [len(nodes), SEVERITIES.index(hit.severity), *nodes]


def listed_of(timeline: AbsoluteTimeline, servers: int) -> list[list[int]]:
    """Return the nodes hit by each failure of a timeline."""
    return [listed(hit, servers) for hit in timeline.hits]
