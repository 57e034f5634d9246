"""Failure timelines: drawn once per replication, replayed by every policy.

A timeline has the failures that would happen; a cursor is one policy's way through it, since some
failures depend on when the job runs: a renewed clock starts when the policy's recovery lets it, a
node's life starts when the policy's replacement is placed. The draws are the same for all of them.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cprsim.failures.hits import Hit

if TYPE_CHECKING:
    from cprsim.failures.cohorts import SeverityRows


class Cursor(Protocol):
    """One policy's way through a timeline. All times are wall-clock seconds, never decreasing."""

    @property
    def next_s(self) -> float:
        """When the next failure strikes; infinite if none does."""

    @property
    def absorbed(self) -> int:
        """Failures that fell into a downtime, when the job holds no nodes: they did not strike."""

    def ahead(self) -> Hit:
        """Return the nodes that the failure at `next_s` takes down."""

    def strike(self) -> Hit:
        """Take the failure at `next_s`; none other comes before `resume`."""

    def replace(self, hit: Hit, now_s: float) -> None:
        """Place the nodes that `hit` took down again at `now_s`."""

    def resume(self, now_s: float) -> None:
        """The job can be hit again from `now_s` on; a renewed clock starts."""

    def pause(self, now_s: float) -> None:
        """Stop failures: the job runs on no nodes from `now_s` on; a renewed clock stops."""

    def go_on(self, now_s: float) -> None:
        """It runs again after a pause; what fell strictly inside is absorbed."""


class Timeline:
    """The failures of one replication: data, through which `cprsim.sim.cursor` finds the way.

    One of another kind has its `cursor()`, which starts over at time 0. `severities`: of its
    cohort, where they are drawn, in which it is replication `row`.
    """

    severities: "SeverityRows | None" = None
    row = 0


class Cohort(Protocol):
    """The failures of a cohort of replications (see `cprsim.basics.streams`)."""

    def timeline(self, row: int) -> Timeline:
        """Return the timeline of one of its replications."""


class DrawnTimeline(Timeline):
    """The failures of replication `row` of a cohort, drawn with those of the others."""

    def __init__(self, cohort: Any, row: int) -> None:
        self.cohort, self.row, self.severities = cohort, row, cohort.severities


class AbsoluteTimeline(Timeline):
    """Failures at wall-clock times that nothing moves, as in a replayed log.

    `hits[i]`: nodes that the failure at `times_s[i]`, in order, hits. With a finite `period_s`
    they come again and again, that much later each time, and with another severity each time
    where severities are drawn.
    """

    def __init__(
        self, times_s: Sequence[float], hits: Sequence[Hit], period_s: float = math.inf
    ) -> None:
        self.times_s, self.hits, self.period_s = times_s, hits, period_s
