"""The top of a likelihood over two parameters."""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cprsim.errors import LogError
from cprsim.survival.sample import Floats

#: Parameters (2,) -> value, slopes (2,) and curvatures (2, 2); a value of -inf rules them out.
Curve: TypeAlias = Callable[[Floats], tuple[float, Floats, Floats]]

_CLOSE = 1e-9  # Newton's next error is the square of this
_STEPS = 200
_ROUNDING = 1e-13  # of a sum of thousands of terms, as a share of it


class NoMaximumError(LogError):
    """That a likelihood climbs for ever, or has no top that could be found."""


def maximum(
    curve: Curve, start: Floats, longest_step: float = math.inf
) -> tuple[Floats, float, Floats]:
    """Parameters at the maximum of `curve`, its value there, and its curvatures.

    Newton's method with two safeguards: a direction in which the curve isn't concave is climbed as
    if it were as concave as it is convex, and a step that doesn't climb is halved. A curve that is
    concave everywhere needs no `longest_step`.

    Raises
    ------
    NoMaximumError
        If it finds none.
    """
    x, (value, slopes, curvatures), small = start, curve(start), False
    for _ in range(_STEPS):
        bends, axes = np.linalg.eigh(curvatures)
        bends = np.maximum(np.abs(bends), 1e-12 * np.abs(bends).max())
        step = axes @ ((axes.T @ slopes) / bends)
        step *= min(1.0, longest_step / float(np.abs(step).max(initial=math.ulp(0.0))))
        while True:
            there = curve(x + step)
            small = float(np.abs(step).max()) < _CLOSE
            # So near the top, whether a step climbs is a matter of rounding: halved, it would end
            # a square root of that away.
            if small or there[0] >= value - _ROUNDING * abs(value):
                break
            step = step / 2
        x, (value, slopes, curvatures) = x + step, there
        if small:
            break
    if small and np.all(np.linalg.eigvalsh(curvatures) < 0):
        return x, value, curvatures
    raise NoMaximumError("the likelihood of a law has no maximum that could be found")
