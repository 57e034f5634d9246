"""The best of several candidates, by replications on the same timelines, and its certainty."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.runs.selection.bounds import Bound
from cprsim.runs.selection.intervals import LEAST_MET, Means, rounding_of
from cprsim.runs.selection.samples import PairedMoments, PairedSample

#: `none`: no candidate is within the bounds.
Verdict = Literal["best", "tied", "undecided", "none"]
#: Of a rival of the best. `tied`: not surely worse, and better by no more than `within`.
Standing = Literal["worse", "tied", "undecided", "same"]
#: Why a verdict is undecided: too few `failures` were met; whether a candidate meets a `bound`
#: is open; the `margin` is too small for so few replications. The first that applies.
Why = Literal["failures", "bound", "margin"]
#: Standings of rivals that the best isn't surely better than, and that differ from it.
_NOT_WORSE = ("tied", "undecided")

CONFIDENCE = 0.95
#: What is no reason to prefer a candidate, in shares of the useful time: 0.1 points.
WITHIN = 0.001
#: Replications at the first look at a sample, and at the last.
FIRST, MOST = 256, 65536


class Contender(NamedTuple):
    """Another candidate: its mean less that of the best, with its simultaneous interval.

    The ends are infinite where too few failures were met.
    """

    candidate: int
    margin: float
    low: float
    high: float
    standing: Standing


class UndecidedBound(NamedTuple):
    """A mean that may or may not be within a bound, with its simultaneous interval."""

    candidate: int
    bound: Bound
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Certificate:
    """The evidence on which candidate is best; candidates are numbers from 0.

    `best`: the lowest mean of those surely within the bounds; if none does surely, of those
    that may. `rivals`: all others that are or may be within the bounds, the nearest first. `kept`,
    of each candidate: whether it meets all bounds; None: not known. `doubts`: of those, each
    bound in question. `replications`: of the best; `met`: those of them that count, with a failure
    that made a difference, where that is least known. `why`: why it is undecided, or None.
    """

    best: int | None
    rivals: tuple[Contender, ...]
    kept: tuple[bool | None, ...]
    doubts: tuple[UndecidedBound, ...]
    replications: int
    met: int
    why: Why | None
    confidence: float = CONFIDENCE
    within: float = WITHIN

    @property
    def verdict(self) -> Verdict:
        """The certainty of the choice.

        `best`: surely better than every other. `tied`: no other is better by more than `within`,
        though some aren't surely worse. `undecided`: more replications may decide, and `why`.
        `none`: no candidate is within the bounds.
        """
        if self.best is None:
            return "none"
        if self.why is not None:
            return "undecided"
        return "tied" if any(each.standing == "tied" for each in self.rivals) else "best"

    @property
    def tied(self) -> tuple[int, ...]:
        """Candidates that the best isn't surely better than, without equal ones."""
        return tuple(each.candidate for each in self.rivals if each.standing in _NOT_WORSE)

    @property
    def same(self) -> tuple[int, ...]:
        """Candidates that differ from the best in no replication."""
        return tuple(each.candidate for each in self.rivals if each.standing == "same")

    @property
    def runner_up(self) -> Contender | None:
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
            rivals=tuple(e._replace(candidate=numbers[e.candidate]) for e in self.rivals),
            doubts=tuple(e._replace(candidate=numbers[e.candidate]) for e in self.doubts),
        )

    def against(self, chosen: Contender) -> "Certificate":
        """Return the certificate with a rival as the best, by differences of its intervals."""
        assert self.best is not None
        is_same = chosen.standing == "same"
        ends = (-chosen.margin, -chosen.high, -chosen.low)
        rivals = [Contender(self.best, *ends, "same" if is_same else "tied")]
        for each in self.rivals:
            if each is not chosen:
                low, high = each.low - chosen.high, each.high - chosen.low
                standing: Standing = each.standing if is_same else "worse" if low > 0 else "tied"
                margin = each.margin - chosen.margin
                rivals.append(Contender(each.candidate, margin, low, high, standing))
        rivals.sort(key=lambda each: each.margin)
        return replace(self, best=chosen.candidate, rivals=tuple(rivals))


def judge(
    evidence: PairedSample | PairedMoments,
    bounds: Sequence[Bound],
    *,
    confidence: float = CONFIDENCE,
    within: float = WITHIN,
    miss: float | None = None,
    known: Sequence[bool | None] | None = None,
) -> Certificate:
    """Return which candidate is best, and how sure that is, of a sample as it is.

    Differences are taken replication by replication, so what a timeline does to all candidates
    cancels. There are C - 1 comparisons and C statements a bound for C candidates; each interval
    (`intervals`) may miss with an equal part of 1 - `confidence` (Bonferroni).

    That allows for the best having been picked by its result: if the true best, b, is another, one
    of the C - 1 comparisons of b, or a statement about a bound, has to go wrong (b is the unknown
    control: Edwards and Hsu, JASA 78, 1983, for common random numbers as in Nelson and Matejcik,
    Management Science 41, 1995). So a candidate that isn't the best is called so with a chance of
    up to 1 - `confidence`, several being equally good included, however they vary and hang
    together; as far as the intervals hold.

    Parameters
    ----------
    evidence
        Of candidates in the order in which they are preferred where they are equal.
    bounds
        The bounds on `evidence.bounded`.
    within
        A difference of the objective that is no reason to prefer a candidate.
    miss
        The chance with which each interval may miss, where this is one look of several.
    known
        Of each candidate whether it meets the bounds, where that was known before.
    """
    count = len(evidence.means)
    if miss is None:
        miss = chance_of_a_miss(count, len(bounds), confidence)
    kept: list[bool | None] = list(known) if known else [None] * count
    in_question: list[tuple[UndecidedBound, int]] = []
    levels = list(zip(evidence.levels(miss), bounds, strict=True))
    for i in (i for i in range(count) if kept[i] is None):
        answers = [_keeps(means, bound, i) for means, bound in levels]
        kept[i] = False if False in answers else None if None in answers else True
        for (means, bound), answer in zip(levels, answers, strict=True):
            if kept[i] is None and answer is None:
                ends = (float(each[i]) for each in means[:3])
                in_question.append((UndecidedBound(i, bound, *ends), int(means.met[i])))
    replications, best = evidence.replications, _lowest(evidence.means, kept)
    if best is None:
        return Certificate(None, (), tuple(kept), (), replications, 0, None, confidence, within)
    others = [i for i, each in enumerate(kept) if i != best and each is not False]
    rivals = _rivals(evidence, best, others, miss, within) if others else []
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
        tuple(kept),
        tuple(doubt for doubt, _ in doubts),
        replications,
        min((counted for _, counted in opened), default=replications),
        min((why for why, _ in opened), key=("failures", "bound", "margin").index, default=None),
        confidence,
        within,
    )


def chance_of_a_miss(candidates: int, bounds: int, confidence: float) -> float:
    """Return the chance that each interval may miss with, so that all of them hold together."""
    return (1 - confidence) / max(candidates - 1 + candidates * bounds, 1)


def _keeps(means: Means, bound: Bound, candidate: int) -> bool | None:
    """Return whether a candidate surely meets a bound, surely doesn't, or neither."""
    most = bound.most_mean
    slack = rounding_of(np.array([most]))
    # What is never negative, and once more than 0, is more than 0 in the mean.
    if means.low[candidate] > most + slack or (most == 0 and means.mean[candidate] > slack):
        return False
    return True if means.high[candidate] <= most + slack else None


def _lowest(means: NDArray[np.float64], kept: Sequence[bool | None]) -> int | None:
    """The candidate with the lowest mean of those surely within the bounds, else maybe."""
    for answer in (True, None):
        candidates = [i for i, each in enumerate(kept) if each is answer]
        if candidates:
            least = min(means[i] for i in candidates)
            slack = rounding_of(np.array([least]))
            return next(i for i in candidates if means[i] <= least + slack)
    return None


def _rivals(
    evidence: PairedSample | PairedMoments,
    best: int,
    others: Sequence[int],
    miss: float,
    within: float,
) -> list[tuple[Contender, int]]:
    """Compare the others with the best; each with the number of replications that count."""
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
        found.append((Contender(other, margin, low, high, standing), int(met)))
    return found


def certify(
    play: Callable[[Sequence[int], int], PairedSample],
    candidates: int,
    bounds: Sequence[Bound],
    *,
    confidence: float = CONFIDENCE,
    within: float = WITHIN,
    first: int = FIRST,
    most: int = MOST,
    known: Sequence[bool | None] | None = None,
) -> Iterator[Certificate]:
    """Yield what is known after each look, until it is sure which candidate is best.

    The sample is looked at after `first` replications, and whenever it has doubled, up to `most`. A
    candidate that is then surely worse than one surely within the bounds, or surely breaks one, is
    dropped; the others continue, on the same timelines for all. Each look may go wrong with an
    equal part of 1 - `confidence` (Bonferroni), so the certificate holds whenever it ends. What was
    once sure of a bound stays so.

    Kim and Nelson's KN (ACM TOMACS 11, 2001) stops sooner where candidates are nearly equal, for it
    then names any of them; where they aren't it takes more, and its variances are those of its
    first stage, in which a rare failure may not have happened (docs/validation.md compares).

    Parameters
    ----------
    play
        Returns the first so many replications of the candidates that are left.
    candidates
        Their number; they are in the order in which they are preferred where they are equal.
    known
        Of each candidate whether it may be chosen, where that is known before: False for one that
        is played at the first look only. None, or None of a candidate, for not known.
    """
    kept: list[bool | None] = [None] * candidates if known is None else list(known)
    looks = [first * 2**i for i in range(most.bit_length()) if first * 2**i < most] + [most]
    judged = sum(each is not False for each in kept)
    miss = chance_of_a_miss(judged, len(bounds), confidence) / len(looks)
    left, dropped = list(range(candidates)), dict[int, Contender]()
    for count in looks:
        found = judge(
            play(left, count),
            bounds,
            confidence=confidence,
            within=within,
            miss=miss,
            known=[kept[each] for each in left],
        ).renumbered(left)
        for each, keeps in zip(left, found.kept, strict=True):
            kept[each] = keeps
        rivals = sorted((*found.rivals, *dropped.values()), key=lambda each: each.margin)
        certificate = replace(found, rivals=tuple(rivals), kept=tuple(kept))
        yield certificate
        if certificate.verdict != "undecided":
            return
        if found.best is not None and kept[found.best]:
            dropped |= {each.candidate: each for each in found.rivals if each.standing == "worse"}
        left = [each for each in left if each not in dropped and kept[each] is not False]
