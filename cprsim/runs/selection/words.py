"""Certificates in words, for all that print one."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from cprsim.basics.units import listed
from cprsim.runs.selection.certificate import Certificate, Contender, UndecidedBound

#: Where no candidate is left.
NONE: Final = "no policy meets the limits"
_MOST_NAMES = 3


class Unit(NamedTuple):
    """The unit of differences: `size` of the objective is one of them."""

    name: str
    size: float

    def number(self, value: float) -> str:
        """Three digits, or all before the point."""
        count = value / self.size
        return f"{count:,.0f}" if abs(count) >= 100 else f"{count:.3g}"

    def text(self, value: float) -> str:
        """With its name."""
        return f"{self.number(value)} {self.name}"


#: Percentage points of the useful time.
POINTS: Final = Unit("points", 0.01)


def sentence(found: Certificate, names: Sequence[str], unit: Unit = POINTS) -> str:
    """Return which candidate is best and how certain that is; where it is open, why.

    The certainty is that of simulation noise. `names`: of the candidates, by their numbers.
    """
    said = standing(found, names, unit)
    is_claim = found.best is not None and found.verdict != "undecided" and not said.startswith("no")
    return f"{names[found.best or 0]} is {said}" if is_claim else said


def standing(found: Certificate, names: Sequence[str], unit: Unit = POINTS) -> str:
    """Return how certain it is that the best is the best: `sentence` without its name."""
    if found.best is None:
        return NONE
    if found.verdict == "undecided":
        return f"undecided: {_why(found, names, unit)}"
    sure = f"at {100 * found.confidence:g} % over simulation noise"
    if found.verdict == "tied":
        tied = listed([names[i] for i in found.tied])
        if all(each.high < found.within for each in found.rivals if each.standing == "tied"):
            return f"equal to {tied} within {unit.text(found.within)}: take either"
        return f"statistically tied with {tied} {sure}"
    if found.runner_up is None:
        return _same(found, names) or "the only one"
    return f"best {sure}"


def short(found: Certificate, names: Sequence[str]) -> str:
    """Return the sentence in a few words, for a cell of a table."""
    if found.best is None:
        return NONE
    said = "best"
    tied = some([names[i] for i in found.tied])
    if found.replications == 1 and found.why is not None:
        said = "undecided: one replication"
    elif found.why == "failures":
        said = f"undecided: only {found.met:,} failures count"
    elif found.why == "bound":
        said = f"undecided: {found.doubts[0].bound} of {names[found.doubts[0].candidate]}?"
    elif found.why == "margin":
        said = f"undecided: or {tied}"
    elif found.verdict == "tied":
        said = f"tied with {tied}"
    elif found.runner_up is None:
        said = "" if found.same else "the only one"
    return "; ".join(filter(None, (said, _same(found, names))))


def interval(rival: Contender, unit: Unit = POINTS) -> str:
    """By how much a rival is worse: the mean, and from where to where."""
    if not math.isfinite(rival.low):
        return unit.text(rival.margin)
    return between(rival.margin, rival.low, rival.high, unit)


def between(value: float, low: float, high: float, unit: Unit = POINTS) -> str:
    """A difference and the ends of its interval."""
    return f"{unit.text(value)} ({unit.number(low)} to {unit.number(high)})"


def some(names: Sequence[str]) -> str:
    """The first few of the names."""
    left = len(names) - _MOST_NAMES
    return f"{', '.join(names[:_MOST_NAMES])} and {left} more" if left > 0 else ", ".join(names)


def _same(found: Certificate, names: Sequence[str]) -> str:
    """Return which candidates equal the best in every replication; empty for none."""
    if not found.same:
        return ""
    if found.runner_up is None:
        return "no other differs"
    return f"same as {some([names[i] for i in found.same])}"


def _why(found: Certificate, names: Sequence[str], unit: Unit) -> str:
    if found.replications == 1:
        return "one replication shows no simulation noise"
    if found.why == "failures":
        return (
            f"only {found.met:,} of {found.replications:,} replications met a failure that makes a "
            f"difference; increase --replications to at least {found.needed:,}"
        )
    if found.why == "bound":
        return "; ".join(
            f"{names[each.candidate]} may exceed {each.bound} ({_level(each)})"
            for each in found.doubts
        )
    open_ones = (each for each in found.rivals if each.standing == "undecided")
    worst = min(open_ones, key=lambda each: each.low)
    return (
        f"{names[worst.candidate]} may be better by up to {unit.text(-worst.low)}; "
        "more replications may decide"
    )


def _level(doubt: UndecidedBound) -> str:
    if not math.isfinite(doubt.low):
        return f"{doubt.mean:.4f} in too few failures"
    return f"{doubt.mean:.4f}, {doubt.low:.4f} to {doubt.high:.4f}"
