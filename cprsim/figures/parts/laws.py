"""Laws of durations in pictures: their rates and quantiles, how they look, what they are called."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.figures.parts import style, ticks

Floats = NDArray[np.float64]
_TINY: Final = 1e-290  # nearer to 0 a survival loses digits


def line_style(law: Distribution, best: bool) -> dict[str, Any]:
    """How its line looks: the best law's is thick and whole, the others' are thin and dashed."""
    name = law.distribution
    return {
        "color": style.LAW_COLOURS[name],
        "linewidth": 1.8 if best else 1.0,
        "linestyle": "-" if best else (0, style.LAW_DASHES[name]),
    }


def described(law: Distribution) -> str:
    """Its name, mean and shape or cv, for people."""
    words = f"{law.distribution}, mean {ticks.duration(law.expected_s)}"
    if law.shape is not None:
        words += f", shape {ticks.number(law.shape)}"
    return words if law.cv is None else f"{words}, cv {ticks.number(law.cv)}"


def hazard_of(law: Distribution, age_s: Floats) -> Floats:
    """Failure rate of a fitted law: density / survival, 1/s.

    `age_s`: seconds, > 0, shape (n,). Not a number where a float holds neither.
    """
    with np.errstate(all="ignore"):
        rates = _HAZARD[law.distribution](law, age_s)
    return np.where(np.isfinite(rates), rates, np.nan)


def quantile_of(law: Distribution, survival: Floats) -> Floats:
    """Durations that a fitted law outlasts with these chances (between 0 and 1), seconds."""
    with np.errstate(all="ignore"):
        return _QUANTILE[law.distribution](law, survival)


def _gamma_hazard(law: Distribution, age_s: Floats) -> Floats:
    from scipy.special import gammaln  # noqa: PLC0415  (scipy is slow to import)

    shape = law.shape or 1.0
    x, left = age_s * shape / law.expected_s, law.survival(age_s)
    log_density = (shape - 1) * np.log(x) - x - gammaln(shape)
    return np.where(left > _TINY, np.exp(log_density) / left, np.nan) * shape / law.expected_s


def _weibull_hazard(law: Distribution, age_s: Floats) -> Floats:
    shape, scale_s = law.shape or 1.0, _weibull_scale(law)
    return shape / scale_s * (age_s / scale_s) ** (shape - 1)


def _lognormal_hazard(law: Distribution, age_s: Floats) -> Floats:
    from scipy.special import log_ndtr  # noqa: PLC0415

    mu, sigma = _lognormal_parameters(law)
    z = (np.log(age_s) - mu) / sigma
    log_density = -(z**2) / 2 - math.log(sigma * math.sqrt(2 * math.pi)) - np.log(age_s)
    return np.exp(log_density - log_ndtr(-z))


def _gamma_quantile(law: Distribution, survival: Floats) -> Floats:
    from scipy.special import gammainccinv  # noqa: PLC0415

    shape = law.shape or 1.0
    return np.asarray(gammainccinv(shape, survival) * law.expected_s / shape, dtype=np.float64)


def _lognormal_quantile(law: Distribution, survival: Floats) -> Floats:
    from scipy.special import ndtri  # noqa: PLC0415

    mu, sigma = _lognormal_parameters(law)
    return np.exp(mu - sigma * ndtri(survival))


def _weibull_scale(law: Distribution) -> float:
    return law.expected_s / math.gamma(1 + 1 / (law.shape or 1.0))


def _lognormal_parameters(law: Distribution) -> tuple[float, float]:
    variance = math.log1p((law.cv or 1.0) ** 2)
    return math.log(law.expected_s) - variance / 2, math.sqrt(variance)


_Function = Callable[[Distribution, Floats], Floats]
#: For the laws that can be fitted.
_HAZARD: Final[dict[str, _Function]] = {
    "exponential": lambda law, age_s: np.full(age_s.shape, 1 / law.expected_s),
    "gamma": _gamma_hazard,
    "weibull": _weibull_hazard,
    "lognormal": _lognormal_hazard,
}
_QUANTILE: Final[dict[str, _Function]] = {
    "exponential": lambda law, left: -law.expected_s * np.log(left),
    "gamma": _gamma_quantile,
    "weibull": lambda law, left: _weibull_scale(law) * (-np.log(left)) ** (1 / (law.shape or 1.0)),
    "lognormal": _lognormal_quantile,
}
