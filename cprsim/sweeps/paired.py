"""The best of several candidates that were played on the same timelines, and how sure that is."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.runs.summaries import half_width

#: How sure it is that the best is the best.
Certainty = Literal["clear", "tied", "same", "only", "unknown"]

#: Shares of useful time no larger than this are nothing: ledgers add up to no more.
ROUNDING = 1e-9
_MISS = 0.05  # chance of a wrong verdict


@dataclass(frozen=True)
class Comparison:
    """The best candidate beside all others; candidates are numbers from 0.

    Parameters
    ----------
    best
        The one with the least mean.
    same
        Others that differ from it in no replication.
    tied
        Others than which it isn't surely better, the nearest first.
    runner_up
        The next best that isn't the same; None if there is none.
    margin, low, high
        By how much the mean of the runner-up is larger, with its interval; else not numbers.
    """

    best: int
    same: tuple[int, ...] = ()
    tied: tuple[int, ...] = ()
    runner_up: int | None = None
    margin: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @property
    def verdict(self) -> Certainty:
        """Whether it is better than every other."""
        if self.runner_up is None:
            return "same" if self.same else "only"
        if math.isnan(self.low):
            return "unknown"
        return "tied" if self.tied else "clear"


def compare(overheads: NDArray[np.float64], lost: NDArray[np.float64]) -> Comparison:
    """Find the candidate with the least mean overhead, and compare it with every other.

    Differences are taken replication by replication, so what a timeline does to all candidates
    cancels. Student's t gives each mean difference an interval, at 1 - 5 % / m for the m
    candidates that differ from the best (Bonferroni). The best is `clear` if no interval holds 0.

    That allows for the best having been picked by its result: if the true best, b, is another,
    one test of b against the one that was picked has to go wrong, and there are m such tests (b is
    the unknown control: Edwards and Hsu, JASA 78, 1983, with paired t and Bonferroni's inequality
    for common random numbers as in Nelson and Matejcik, Management Science 41, 1995). So with a
    chance of 95 % at least the true best is the one named or among those tied with it, and a wrong
    one is called clear with 5 % at most, several being equally good included, however the
    candidates vary and hang together; as far as Student's t holds for the means.

    Parameters
    ----------
    overheads
        Shape (candidates, replications); column i was played on one timeline.
    lost
        Shape (candidates,): of those that are the same, the one with the least is the best.
    """
    first = int(overheads.mean(axis=1).argmin())
    same = np.abs(overheads - overheads[first]).max(axis=1) <= ROUNDING
    equals = np.flatnonzero(same).tolist()
    best = min(equals, key=lambda each: (lost[each], each))
    equals.remove(best)
    others = np.flatnonzero(~same)
    if others.size == 0:
        return Comparison(best, tuple(equals))
    differences = overheads[others] - overheads[best]
    margins, halves = differences.mean(axis=1), half_width(differences, _MISS / others.size)
    order = margins.argsort(kind="stable")
    # Not a number: one replication shows nothing.
    tied = [int(others[i]) for i in order if not margins[i] - halves[i] > 0]
    margin, half = float(margins[order[0]]), float(halves[order[0]])
    return Comparison(
        best,
        tuple(equals),
        tuple(tied),
        int(others[order[0]]),
        margin,
        margin - half,
        margin + half,
    )
