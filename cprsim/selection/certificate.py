"""Which of several candidates is best by replications on the same timelines, and how sure it is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.selection.bounds import Bound
from cprsim.selection.intervals import LEAST_MET, Means, intervals, rounding_of
from cprsim.selection.moments import PairedMoments

#: `none`: no candidate keeps to the bounds.
Verdict = Literal["best", "tied", "undecided", "none"]
#: Of a rival beside the best. `tied`: not surely worse, and better by no more than `within`.
Standing = Literal["worse", "tied", "undecided", "same"]
#: Why a verdict is undecided: too few `failures` were met; whether a candidate keeps to a `bound`
#: is open; the `margin` is too small for so few replications.
Why = Literal["failures", "bound", "margin"]
#: Standings of rivals that the best isn't surely better than, and that differ from it.
_NOT_WORSE = ("tied", "undecided")

CONFIDENCE = 0.95
#: What is no reason to prefer a candidate, in shares of the useful time: 0.1 points.
WITHIN = 0.001


@dataclass(frozen=True)
class PairedSample:
    """Replications of some candidates; column i of all was played on one timeline.

    Parameters
    ----------
    objective
        Shape (candidates, replications): what is to be least, in shares of useful time or in money.
    bounded
        Shape (candidates, bounds, replications): what is bounded; never below 0.
    failures
        Shape (candidates, replications): how many failures each met.
    can_fail
        Whether failures can happen at all. If not, replications that are alike are no luck.
    lossless
        Shape (candidates,): whether no failure changes what is bounded, by how the candidate
        recovers; None: of nobody is that known.
    unmet
        Shape (candidates,): what an event that no replication met may add to the objective of one,
        as where copies are lost together and a job starts anew; None: nothing.
    """

    objective: NDArray[np.float64]
    bounded: NDArray[np.float64]
    failures: NDArray[np.float64]
    can_fail: bool = True
    lossless: NDArray[np.bool_] | None = None
    unmet: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        shape = self.objective.shape
        if len(shape) != 2 or 0 in shape:
            raise ValueError(f"objective of shape {shape}: candidates and replications are needed")
        if self.failures.shape != shape:
            raise ValueError(f"failures of shape {self.failures.shape}, objective of {shape}")
        if self.bounded.ndim != 3 or self.bounded.shape[::2] != shape:
            raise ValueError(f"bounded of shape {self.bounded.shape}, objective of {shape}")

    @property
    def replications(self) -> int:
        """Of each candidate."""
        return int(self.objective.shape[1])

    @property
    def means(self) -> NDArray[np.float64]:
        """Shape (candidates,): of what is to be least."""
        return np.asarray(self.objective.mean(axis=1))

    def levels(self, miss: float) -> list[Means]:
        """Of each bound what is bounded, of all candidates."""
        failed, rounding = self.failures > 0, rounding_of(self.bounded)
        can_lose = np.full(len(self.objective), self.can_fail)
        if self.lossless is not None:
            can_lose &= ~self.lossless
        found = (
            intervals(self.bounded[:, i], failed, miss, rounding, can_lose)
            for i in range(self.bounded.shape[1])
        )
        # None is less than 0; infinite ends say that too little was met to tell.
        return [
            each._replace(low=np.where(np.isfinite(each.low), each.low.clip(min=0), each.low))
            for each in found
        ]

    def differences(self, best: int, others: Sequence[int], miss: float) -> Means:
        """What the others have more of what is to be least, replication by replication."""
        failed = (self.failures[others] > 0) | (self.failures[best] > 0)
        apart = self.objective[others] - self.objective[best]
        rounding = rounding_of(self.objective)
        found = intervals(apart, failed, miss, rounding, self.can_fail)
        if self.unmet is None:
            return found
        # What happens with this chance in a replication isn't met in any with that of a miss.
        chance = -math.log(miss / 2) / self.replications
        differs = np.abs(apart).max(axis=1) > rounding
        return found._replace(
            low=found.low - chance * self.unmet[best] * differs,
            high=found.high + chance * self.unmet[others] * differs,
        )


#: What a verdict is founded on: replications, or their moments.
Evidence = PairedSample | PairedMoments


@dataclass(frozen=True)
class Rival:
    """Another candidate: its mean less that of the best, with its simultaneous interval.

    The ends are infinite where too little was met to tell.
    """

    candidate: int
    margin: float
    low: float
    high: float
    standing: Standing


@dataclass(frozen=True)
class Doubt:
    """A mean that may or may not keep to a bound, with its simultaneous interval."""

    candidate: int
    bound: Bound
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Certificate:
    """What is known of which candidate is best; candidates are numbers from 0.

    Parameters
    ----------
    best
        The least mean of those that surely keep to the bounds; if none does so surely, of those
        that may.
    rivals
        All others that keep or may keep to the bounds, the nearest first.
    kept
        Of each candidate: whether it keeps to all bounds; None: not known.
    doubts
        Of those that are not known, each bound in question.
    replications
        Of the best.
    met
        Of these the ones that count: those with a failure that made a difference, where that is
        least known.
    why
        Why it is undecided; None if it isn't.
    """

    best: int | None
    rivals: tuple[Rival, ...]
    kept: tuple[bool | None, ...]
    doubts: tuple[Doubt, ...]
    replications: int
    met: int
    why: Why | None
    confidence: float = CONFIDENCE
    within: float = WITHIN

    @property
    def verdict(self) -> Verdict:
        """How sure it is.

        `best`: surely better than every other. `tied`: no other is better by more than `within`,
        though some aren't surely worse. `undecided`: more replications may tell, and `why`. `none`:
        no candidate keeps to the bounds.
        """
        if self.best is None:
            return "none"
        if self.why is not None:
            return "undecided"
        return "tied" if any(each.standing == "tied" for each in self.rivals) else "best"

    @property
    def tied(self) -> tuple[int, ...]:
        """Candidates than which the best isn't surely better, the same ones left out."""
        return tuple(each.candidate for each in self.rivals if each.standing in _NOT_WORSE)

    @property
    def same(self) -> tuple[int, ...]:
        """Candidates that differ from the best in no replication."""
        return tuple(each.candidate for each in self.rivals if each.standing == "same")

    @property
    def runner_up(self) -> Rival | None:
        """The nearest that isn't the same."""
        return next((each for each in self.rivals if each.standing != "same"), None)

    @property
    def needed(self) -> int:
        """Replications below which too few failures are to be expected."""
        return math.ceil(LEAST_MET * self.replications / max(self.met, 1))

    def renumbered(self, numbers: Sequence[int] | Mapping[int, int]) -> "Certificate":
        """Return the certificate with the number `numbers[i]` for candidate i; `kept` as it is."""
        return replace(
            self,
            best=None if self.best is None else numbers[self.best],
            rivals=tuple(replace(e, candidate=numbers[e.candidate]) for e in self.rivals),
            doubts=tuple(replace(e, candidate=numbers[e.candidate]) for e in self.doubts),
        )


def judge(
    evidence: Evidence,
    bounds: Sequence[Bound],
    *,
    confidence: float = CONFIDENCE,
    within: float = WITHIN,
    miss: float | None = None,
    known: Sequence[bool | None] | None = None,
) -> Certificate:
    """Say which candidate is best, and how sure that is, of a sample as it is.

    Differences are taken replication by replication, so what a timeline does to all candidates
    cancels. There are C - 1 comparisons and C statements a bound for C candidates; each interval
    (`intervals`) may miss with an equal part of 1 - `confidence` (Bonferroni).

    That allows for the best having been picked by its result: if the true best, b, is another, one
    of the C - 1 comparisons of b, or a statement about a bound, has to go wrong (b is the unknown
    control: Edwards and Hsu, JASA 78, 1983, for common random numbers as in Nelson and Matejcik,
    Management Science 41, 1995). So a candidate that isn't the best is called so with a chance of
    1 - `confidence` at most, several being equally good included, however they vary and hang
    together; as far as the intervals hold.

    Parameters
    ----------
    evidence
        Of candidates in the order in which they are preferred where nothing else tells them apart.
    bounds
        What is bounded in `evidence`.
    within
        What is no reason to prefer a candidate, in the unit of the objective.
    miss
        The chance with which each interval may miss, where this is one look of several.
    known
        What was known of each candidate and the bounds before.

    Raises
    ------
    ValueError
        If shapes don't agree, or a parameter makes no sense.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence:g} is not between 0 and 1")
    if not within >= 0:
        raise ValueError(f"within {within:g} is negative")
    if miss is None:
        miss = chance_of_a_miss(len(evidence.means), len(bounds), confidence)
    kept, in_question = _kept(evidence, bounds, miss, known)
    replications = evidence.replications
    best = _least(evidence.means, kept)
    if best is None:
        return Certificate(None, (), kept, (), replications, 0, None, confidence, within)
    others = [i for i, each in enumerate(kept) if i != best and each is not False]
    rivals = _rivals(evidence, best, others, miss, within)
    matter = {best} | {rival.candidate for rival, _ in rivals if rival.standing in _NOT_WORSE}
    doubts = [each for each in in_question if each[0].candidate in matter]
    # Of each question that is open: why, and how many replications counted.
    opened: list[tuple[Why, int]] = [
        ("margin" if math.isfinite(rival.high) else "failures", counted)
        for rival, counted in rivals
        if rival.standing == "undecided"
    ]
    opened += [
        ("bound" if math.isfinite(doubt.high) else "failures", counted) for doubt, counted in doubts
    ]
    return Certificate(
        best,
        tuple(sorted((rival for rival, _ in rivals), key=lambda each: each.margin)),
        kept,
        tuple(doubt for doubt, _ in doubts),
        replications,
        min((counted for _, counted in opened), default=replications),
        min((why for why, _ in opened), key=("failures", "bound", "margin").index, default=None),
        confidence,
        within,
    )


def chance_of_a_miss(candidates: int, bounds: int, confidence: float) -> float:
    """What each interval may miss with, so that all of them hold together."""
    return (1 - confidence) / max(candidates - 1 + candidates * bounds, 1)


def _kept(
    evidence: Evidence, bounds: Sequence[Bound], miss: float, known: Sequence[bool | None] | None
) -> tuple[tuple[bool | None, ...], list[tuple[Doubt, int]]]:
    """Whether candidates keep to the bounds; where that is open, and how many count there."""
    kept: list[bool | None] = list(known) if known else [None] * len(evidence.means)
    levels = list(zip(evidence.levels(miss), bounds, strict=True))
    doubts: list[tuple[Doubt, int]] = []
    for i, before in enumerate(kept):
        if before is not None:
            continue
        answers = [_keeps(means, bound, i) for means, bound in levels]
        kept[i] = False if False in answers else None if None in answers else True
        if kept[i] is None:
            for (means, bound), answer in zip(levels, answers, strict=True):
                if answer is None:
                    ends = (float(each[i]) for each in (means.mean, means.low, means.high))
                    doubts.append((Doubt(i, bound, *ends), int(means.met[i])))
    return tuple(kept), doubts


def _keeps(means: Means, bound: Bound, candidate: int) -> bool | None:
    """Whether a candidate surely keeps to a bound, surely doesn't, or neither."""
    most = bound.most_mean
    slack = rounding_of(np.array([most]))
    # What is never negative, and once more than 0, is more than 0 in the mean.
    if means.low[candidate] > most + slack or (most == 0 and means.mean[candidate] > slack):
        return False
    return True if means.high[candidate] <= most + slack else None


def _least(means: NDArray[np.float64], kept: Sequence[bool | None]) -> int | None:
    """The candidate with the least mean of those that surely keep to the bounds, else may."""
    for answer in (True, None):
        candidates = [i for i, each in enumerate(kept) if each is answer]
        if candidates:
            least = min(means[i] for i in candidates)
            slack = rounding_of(np.array([least]))
            return next(i for i in candidates if means[i] <= least + slack)
    return None


def _rivals(
    evidence: Evidence, best: int, others: Sequence[int], miss: float, within: float
) -> list[tuple[Rival, int]]:
    """The others beside the best, and how many replications count in each comparison."""
    if not others:
        return []
    rounding = rounding_of(evidence.means)
    found = []
    for other, *ends, met in zip(others, *evidence.differences(best, others, miss), strict=True):
        margin, low, high = map(float, ends)
        standing: Standing = "undecided"
        if -rounding <= low and high <= rounding:
            standing = "same"
        elif low > 0:
            standing = "worse"
        elif low > -within:
            standing = "tied"
        found.append((Rival(other, margin, low, high, standing), int(met)))
    return found
