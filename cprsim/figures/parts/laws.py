"""Laws of durations in pictures: how they look, what they are called."""

from typing import Any

from cprsim.basics.distributions import Distribution
from cprsim.figures.parts import style
from cprsim.figures.parts.texts import duration, number


def line_style(law: Distribution, best: bool) -> dict[str, Any]:
    """Return the look of its line: the best law's is thick and whole, others' thin and dashed."""
    name = law.distribution
    return {
        "color": style.LAW_COLOURS[name],
        "linewidth": 1.8 if best else 1.0,
        "linestyle": "-" if best else (0, style.LAW_DASHES[name]),
    }


def described(law: Distribution) -> str:
    """Return its name, mean and shape or cv, for people."""
    words = f"{law.distribution}, mean {duration(law.expected_s)}"
    if law.shape is not None:
        words += f", shape {number(law.shape)}"
    return words if law.cv is None else f"{words}, cv {number(law.cv)}"
