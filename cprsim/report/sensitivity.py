"""How far an answer depends on its inputs, in sentences."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cprsim.basics.units import percent
from cprsim.selection.words import listed

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice
    from cprsim.advice.robustness import Doubled, Lever, Robustness, World

#: Inputs that are twice as bad.
_WITH = {
    "MTBF": "with a failure every {value}",
    "save bandwidth": "with saves at {value}",
    "rescheduling": "with rescheduling in {value}",
    "detection": "with detection in {value}",
}


def robust_lines(advice: "Advice", robust: "Robustness | None") -> Iterator[str]:
    """What the answer assumes, with the effect of each, and the range over which it holds."""
    best = advice.best
    if best is None or robust is None:
        return
    now = best.objective.mean
    changes = [each for each in robust.assumptions if each.more.mean > robust.within / 2]
    changes.sort(key=lambda each: -each.more.mean)
    if changes:
        said = ", ".join(f"{percent(now + each.more.mean)} {_with(each)}" for each in changes)
        yield f"If one input is twice as bad, {percent(now)} % becomes {said}."
    unknown = [each.name for each in robust.assumptions if each.basis == "unknown"]
    if unknown:
        yield f"Not known and charged as 0, of {best.candidate.system}: {', '.join(unknown)}."
    held = {each.name: _held(each, *each.range(robust.within)) for each in robust.levers}
    others = [name for name, said in held.items() if not said]
    parts = [f"for {', '.join(filter(None, held.values()))}"] * (len(others) < len(held))
    if others:
        parts.append(f"if {listed(others).replace(' and ', ' or ')} is 1/4 to 4 times yours")
    if parts:
        yield f"Still the best {', and '.join(parts)}."


def _with(each: "Doubled") -> str:
    """An input that is twice as bad, in words."""
    if each.value.startswith("a save in "):
        return f"with {each.value}"
    basis = "" if each.basis == "given" else f" ({each.basis})"
    return _WITH.get(each.name, "with {name} of {value}").format(**each._asdict()) + basis


def _held(lever: "Lever", low: "World", high: "World") -> str:
    """The range over which the choice stays the best; empty for all that was tried.

    Open where nothing farther was tried.
    """
    from_first, to_last = low is lever.worlds[0], high is lever.worlds[-1]
    if from_first and to_last:
        return ""
    if from_first:
        return f"{lever.name} up to {high.value}"
    if to_last:
        return f"{lever.name} from {low.value}"
    return f"{lever.name} {low.value} to {high.value}"
