"""Failures of the replications of a cohort, drawn together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT, CohortDraws
from cprsim.failures.bursts import Bursts, Shocks
from cprsim.failures.nodes import Lives
from cprsim.failures.severity import SeverityRows
from cprsim.failures.timeline import AbsoluteTimeline, DrawnTimeline
from cprsim.failures.victims import CauseVictimRows, VictimRows
from cprsim.job.platform import Cluster


class _Drawn:
    def timeline(self, row: int) -> DrawnTimeline:
        """Return the timeline of one replication."""
        return DrawnTimeline(self, row)


@dataclass(frozen=True)
class RenewalCohort(_Drawn):
    """Failures of the job as a whole, by the gaps between them.

    Each gap counts from when the job runs again.
    """

    gaps: CohortDraws
    victims: VictimRows | CauseVictimRows
    severities: SeverityRows | None


@dataclass(frozen=True)
class InstantCohort(_Drawn):
    """Failures at `times_s`, shape (COHORT, failures), in order; each replication has as many."""

    times_s: NDArray[np.float64]
    victims: VictimRows | CauseVictimRows
    severities: SeverityRows | None


@dataclass(frozen=True)
class NodeCohort(_Drawn):
    """Failures of nodes by their lives, and of several at once.

    Node i is parameter server i below the number of these, else a trainer. Bursts end lives before
    their time, and so does a failure of the cluster.
    """

    lives: Lives
    cluster: Cluster
    bursts: Bursts | None
    severities: SeverityRows | None

    def shocks(self, row: int) -> Shocks:
        """Return the bursts of one replication."""
        assert self.bursts is not None
        seed, cohort = self.lives.key
        return Shocks(self.bursts, self.lives.nodes, seed, cohort * COHORT + row)


@dataclass(frozen=True)
class ReplayCohort:
    """A log, played to each replication by its number: `play(seed, replication)`."""

    play: Callable[[int, int], AbsoluteTimeline]
    seed: int
    number: int
    severities: SeverityRows | None

    def timeline(self, row: int) -> AbsoluteTimeline:
        """Return the log as one replication sees it."""
        found = self.play(self.seed, self.number * COHORT + row)
        found.severities, found.row = self.severities, row
        return found
