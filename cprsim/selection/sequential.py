"""More and more replications, until it is sure which candidate is best."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

from cprsim.selection.bounds import Bound
from cprsim.selection.certificate import (
    CONFIDENCE,
    WITHIN,
    Certificate,
    PairedSample,
    Rival,
    chance_of_a_miss,
    judge,
)

#: Gives the first so many replications of some candidates.
Play = Callable[[Sequence[int], int], PairedSample]

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
        Gives the first replications of the candidates that are left, in the order asked for.
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
    kept: list[bool | None] = [None] * candidates if known is None else list(known)
    looks = _looks(first, most)
    judged = sum(each is not False for each in kept)
    miss = chance_of_a_miss(judged, len(bounds), confidence) / len(looks)
    left, dropped = list(range(candidates)), dict[int, Rival]()
    for count in looks:
        sample = play(left, count)
        if sample.objective.shape != (len(left), count):
            raise ValueError(
                f"{len(left)} candidates and {count} replications were to be played, not "
                f"{sample.objective.shape}"
            )
        found = judge(
            sample,
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
        if tell is not None:
            tell(certificate)
        ended = certificate.verdict != "undecided" or count == most
        if ended or not (go_on is None or go_on(min(2 * count, most))):
            break
        if found.best is not None and kept[found.best]:
            dropped |= {each.candidate: each for each in found.rivals if each.standing == "worse"}
        left = [each for each in left if each not in dropped and kept[each] is not False]
    return certificate


def _looks(first: int, most: int) -> list[int]:
    """After how many replications the sample is looked at."""
    doubled = (first * 2**i for i in range(most.bit_length() + 1))
    return [*takewhile(lambda count: count < most, doubled), most]
