"""Laws of durations: what each draws, how long it lasts, and how its failure rate goes with age.

One class a law, whoever asks: who draws traces, fits lives, or shows both in a picture.
"""

from collections.abc import Callable
from typing import Final

from cprsim.basics.laws.ageing import Gamma, Lognormal, Weibull
from cprsim.basics.laws.law import AgeingLaw, Law
from cprsim.basics.laws.plain import Deterministic, Exponential, Uniform

#: By name, those that are given by their mean alone, and by their mean and their shape or cv.
BY_MEAN: Final[dict[str, Callable[[float], Law]]] = {
    "exponential": Exponential,
    "deterministic": Deterministic,
    "uniform": Uniform,
}
AGEING: Final[dict[str, Callable[[float, float], AgeingLaw]]] = {
    "weibull": Weibull,
    "gamma": Gamma,
    "lognormal": Lognormal,
}
