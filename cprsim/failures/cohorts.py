"""Failures of the replications of a cohort, drawn together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT, CohortDraws, Draws
from cprsim.failures.bursts import Bursts, Shocks
from cprsim.failures.nodes import Lives, NodeTimeline
from cprsim.failures.severity import SeverityDraws, SeverityRows, drawn
from cprsim.failures.timeline import AbsoluteTimeline, RenewalTimeline
from cprsim.failures.victims import CauseVictimRows, VictimRows, Victims
from cprsim.job.platform import Cluster


@dataclass(frozen=True)
class RenewalCohort:
    """Failures of the job as a whole, by the gaps between them."""

    gaps: CohortDraws
    victims: VictimRows | CauseVictimRows
    severities: SeverityRows | None

    def timeline(self, row: int) -> RenewalTimeline:
        """Return the timeline of one replication."""
        return RenewalTimeline(
            Draws(self.gaps, row), Victims(self.victims, row), drawn(self.severities, row)
        )


@dataclass(frozen=True)
class InstantCohort:
    """Failures at `times_s`, shape (COHORT, failures), in order; each replication has as many."""

    times_s: NDArray[np.float64]
    victims: VictimRows | CauseVictimRows
    severities: SeverityRows | None

    def timeline(self, row: int) -> AbsoluteTimeline:
        """Return the timeline of one replication."""
        return AbsoluteTimeline(
            self.times_s[row].tolist(),
            Victims(self.victims, row),
            severities=drawn(self.severities, row),
        )


@dataclass(frozen=True)
class NodeCohort:
    """Failures of nodes by their lives, and of several at once."""

    lives: Lives
    cluster: Cluster
    bursts: Bursts | None
    severities: SeverityRows | None

    def timeline(self, row: int) -> NodeTimeline:
        """Return the timeline of one replication."""
        shocks = None
        if self.bursts is not None:
            seed, cohort = self.lives.key
            shocks = Shocks(self.bursts, self.lives.nodes, seed, cohort * COHORT + row)
        return NodeTimeline(
            self.lives,
            row,
            self.cluster.parameter_servers,
            shocks,
            drawn(self.severities, row),
        )


@dataclass(frozen=True)
class ReplayCohort:
    """A log, played to each replication as `play(seed, replication, severities)` says."""

    play: Callable[[int, int, SeverityDraws | None], AbsoluteTimeline]
    seed: int
    number: int
    severities: SeverityRows | None

    def timeline(self, row: int) -> AbsoluteTimeline:
        """Return the log as one replication sees it."""
        return self.play(self.seed, self.number * COHORT + row, drawn(self.severities, row))
