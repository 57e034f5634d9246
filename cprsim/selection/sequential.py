"""More and more replications, until it is sure which candidate is best."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from cprsim.selection.bounds import Bound
from cprsim.selection.certificate import (
    CONFIDENCE,
    WITHIN,
    Certificate,
    PairedSample,
    Rival,
    assess,
    chance_of_a_miss,
    check,
)

#: Plays some candidates on some of the timelines.
Play = Callable[[Sequence[int], range], PairedSample]

FIRST = 256
MOST = 65536


def certify(
    play: Play,
    candidates: int,
    bounds: Sequence[Bound],
    *,
    confidence: float = CONFIDENCE,
    within: float = WITHIN,
    first: int = FIRST,
    most: int = MOST,
    go_on: Callable[[int], bool] | None = None,
    tell: Callable[[Certificate], None] | None = None,
    known: Sequence[bool | None] | None = None,
) -> Certificate:
    """Play candidates until it is sure which is best, or `most` replications were played.

    The sample is looked at after `first` replications, and whenever it has doubled. Whoever is then
    surely worse than one that surely keeps to the bounds, or surely breaks one, is dropped; the
    others go on, on the same timelines for all. Each look may go wrong with an equal part of
    1 - `confidence` (Bonferroni), so the certificate holds whenever it ends. What was once sure of
    a bound stays so.

    Kim and Nelson's KN (ACM TOMACS 11, 2001) stops sooner where candidates are nearly equal, for it
    then names any of them; where they aren't it takes more, and its variances are those of its
    first stage, in which a rare failure may not have happened (docs/validation.md compares).

    Parameters
    ----------
    play
        Gives the replications of the candidates that are left, in the order asked for.
    candidates
        How many there are, in the order in which they are preferred where nothing tells them apart.
    first, most
        Replications at the first look and at the last.
    go_on
        Asked before each further look whether as many replications may be played as it has; ends
        the search if not. Always, by default.
    tell
        Told what is known after each look.
    known
        Of each candidate whether it may be chosen, where that is known before: False for one that
        is played at the first look only. None, or None of a candidate, for not known.

    Raises
    ------
    ValueError
        If a parameter makes no sense, or `play` returns another number of candidates, bounds or
        replications than was asked for.
    """
    if candidates < 1 or not 1 <= first <= most:
        raise ValueError(f"{candidates} candidates, {first} to {most} replications")
    check(confidence, within)
    looks = _looks(first, most)
    judged = candidates - (0 if known is None else sum(each is False for each in known))
    miss = chance_of_a_miss(judged, len(bounds), confidence) / len(looks)
    search = _Search(candidates, known)
    for count in looks:
        new = play(search.left, range(search.played, count))
        search.add(new, count)
        certificate = search.assessed(bounds, miss, confidence, within)
        if tell is not None:
            tell(certificate)
        ended = certificate.verdict != "undecided" or count == most
        if ended or not (go_on is None or go_on(min(2 * count, most))):
            break
        search.drop()
    return certificate


def _looks(first: int, most: int) -> list[int]:
    """After how many replications the sample is looked at."""
    doubled = (first * 2**i for i in range(most.bit_length() + 1))
    return [*takewhile(lambda count: count < most, doubled), most]


class _Search:
    """Who is left, what was played, and what is known of those who were dropped."""

    def __init__(self, candidates: int, known: Sequence[bool | None] | None) -> None:
        self.left = list(range(candidates))
        self.played = 0
        self._sample: PairedSample | None = None
        self._kept: list[bool | None] = [None] * candidates if known is None else list(known)
        self._dropped: dict[int, Rival] = {}
        self._worse: dict[int, Rival] = {}

    def add(self, new: PairedSample, count: int) -> None:
        """More replications of those who are left."""
        if new.objective.shape != (len(self.left), count - self.played):
            raise ValueError(
                f"{len(self.left)} candidates and {count - self.played} replications were to be "
                f"played, not {new.objective.shape}"
            )
        self._sample = new if self._sample is None else _joined(self._sample, new)
        self.played = count

    def assessed(
        self, bounds: Sequence[Bound], miss: float, confidence: float, within: float
    ) -> Certificate:
        """What is known now, of all candidates."""
        assert self._sample is not None
        known = [self._kept[each] for each in self.left]
        found = assess(self._sample, bounds, miss, confidence, within, known)
        for each, kept in zip(self.left, found.kept, strict=True):
            self._kept[each] = kept
        rivals = [replace(each, candidate=self.left[each.candidate]) for each in found.rivals]
        best = None if found.best is None else self.left[found.best]
        sure = best is not None and self._kept[best] is True
        self._worse = {each.candidate: each for each in rivals if each.standing == "worse" and sure}
        return replace(
            found,
            best=best,
            rivals=tuple(sorted([*rivals, *self._dropped.values()], key=lambda each: each.margin)),
            kept=tuple(self._kept),
            doubts=tuple(
                replace(each, candidate=self.left[each.candidate]) for each in found.doubts
            ),
        )

    def drop(self) -> None:
        """Leave out who is surely worse, and who surely breaks a bound."""
        assert self._sample is not None
        stay = [
            i
            for i, each in enumerate(self.left)
            if each not in self._worse and self._kept[each] is not False
        ]
        self._dropped |= self._worse
        self._worse = {}
        self.left = [self.left[i] for i in stay]
        self._sample = _part(self._sample, stay)


_BY_REPLICATION = ("objective", "bounded", "failures")


def _part(sample: PairedSample, stay: Sequence[int]) -> PairedSample:
    """That of some of its candidates."""
    rows = list(stay)
    part: dict[str, Any] = {name: getattr(sample, name)[rows] for name in _BY_REPLICATION}
    for name in ("lossless", "unmet"):
        of_each = getattr(sample, name)
        part[name] = None if of_each is None else of_each[rows]
    return replace(sample, **part)


def _joined(one: PairedSample, other: PairedSample) -> PairedSample:
    """The one, and then the other, of the same candidates."""
    both: dict[str, Any] = {
        name: np.concatenate([getattr(one, name), getattr(other, name)], axis=-1)
        for name in _BY_REPLICATION
    }
    return replace(other, **both)
