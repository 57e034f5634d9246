"""Laws of random durations: time to failure, time to be rescheduled.

Each law is a value, named and parametrised as in a scenario file: by its mean and one shape.
`sample` draws from a generator that the caller owns; nothing here is seeded or kept.
"""

import math
from collections.abc import Callable
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from cprsim.basics.schema import PositiveSeconds, Section

Name = Literal[
    "exponential", "gamma", "weibull", "lognormal", "deterministic", "uniform", "empirical"
]
#: The keys that give a law its spread, by name.
SPREAD: dict[str, str | None] = {
    "exponential": None,
    "gamma": "shape",
    "weibull": "shape",
    "lognormal": "cv",
    "deterministic": None,
    "uniform": None,
    "empirical": "durations",
}
Positive = Annotated[float, Field(gt=0, examples=[0.7])]
Size = int | tuple[int, ...]


def _listed(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list")
    if not value:
        raise ValueError(f"is empty; write {_EXAMPLES['durations']}")
    return tuple(value)


Durations = Annotated[
    tuple[PositiveSeconds, ...], BeforeValidator(_listed), Field(examples=[["3 h", "17 h"]])
]

#: Of an integral of the survival, which is then good to 1e-5 for all laws but listed values.
_POINTS = 2001
#: Beyond `_ALL` the incomplete gamma function is 1 but for rounding, for shapes below `_LARGE`.
_ALL, _LARGE = 500.0, 100.0


def scaled(
    mean_s: float | None, durations_s: tuple[float, ...] | None, factor: float
) -> dict[str, float | tuple[float, ...]]:
    """The keys of a law that change where durations are `factor` times as long."""
    if durations_s is not None:
        return {"durations_s": tuple(each * factor for each in durations_s)}
    return {} if mean_s is None else {"mean_s": mean_s * factor}


class Distribution(Section):
    """A law of durations.

    `distribution`: the name of the law; uniform is on (0, 2 mean). `mean`: mean of the durations.
    `shape`: k of gamma and Weibull (1 = exponential, below 1 = early failures, above 1 = wear-out).
    `cv`: standard deviation / mean of the lognormal. `durations`: the values that an empirical law
    draws from with equal chance.
    """

    distribution: Name
    mean_s: PositiveSeconds | None = Field(None, alias="mean")
    shape: Positive | None = None
    cv: Positive | None = None
    durations_s: Durations | None = Field(None, alias="durations")

    @model_validator(mode="after")
    def _has_its_own_keys(self) -> Self:
        check_keys(self)
        return self

    @property
    def expected_s(self) -> float:
        """The mean of the law, in seconds."""
        if self.durations_s is not None:
            return math.fsum(self.durations_s) / len(self.durations_s)
        assert self.mean_s is not None
        return self.mean_s

    def scaled(self, factor: float) -> "Distribution":
        """The law of durations that are `factor` times as long."""
        return self.model_copy(update=scaled(self.mean_s, self.durations_s, factor))

    def sample(self, rng: np.random.Generator, size: Size) -> NDArray[np.float64]:
        """Draw durations, s, an array of shape `size`; further calls continue the sequence."""
        return _SAMPLE[self.distribution](self, rng, size)

    def sample_left(self, rng: np.random.Generator, size: Size) -> NDArray[np.float64]:
        """Draw what is left of durations that are under way at a time chosen at random.

        In seconds. A uniform part of a duration that was chosen in proportion to its length: the
        first interval of a stationary renewal process (D. R. Cox, "Renewal theory", 1962, ch. 5).
        """
        return _SAMPLE_LONG[self.distribution](self, rng, size) * rng.random(size)

    def survival(self, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability that a duration exceeds `t_s` (seconds, >= 0; any shape)."""
        return _SURVIVAL[self.distribution](self, np.asarray(t_s, dtype=np.float64))

    def within(self, limit_s: float) -> tuple[float, float]:
        """Probability that a duration is over by `limit_s` (> 0, finite), and its mean until then.

        The mean of the shorter of both, in seconds.
        """
        mean_s = self.expected_s
        if self.distribution == "exponential":
            over = -math.expm1(-limit_s / mean_s)
            return over, mean_s * over
        if self.distribution == "gamma" and self.shape is not None and self.shape < _LARGE:
            ratio = limit_s * self.shape / mean_s
            over = _lower_gamma(self.shape, ratio)
            return over, mean_s * _lower_gamma(self.shape + 1, ratio) + limit_s * (1 - over)
        # The survival may fall steeply at 0: so the points lie more closely there.
        t_s = limit_s * np.linspace(0.0, 1.0, _POINTS) ** 2
        alive = self.survival(t_s)
        until_s = ((alive[1:] + alive[:-1]) / 2 * np.diff(t_s)).sum()
        return float(1 - alive[-1]), float(until_s)


def _lower_gamma(shape: float, x: float) -> float:
    """The regularized incomplete gamma function P by its series (DLMF 8.11.4).

    Here and not of scipy, which takes longer to import than a scenario to load.
    """
    if x > _ALL:
        return 1.0
    place, term = shape, 1 / shape
    total = term
    while term > total * 1e-17:
        place += 1
        term *= x / place
        total += term
    return min(total * math.exp(shape * math.log(x) - x - math.lgamma(shape)), 1.0)


def check_keys(law: Distribution) -> None:
    """Raise `ValueError` unless `law` has just the keys of its name."""
    name, spread = law.distribution, SPREAD[law.distribution]
    has = {
        "mean": law.mean_s is not None,
        "shape": law.shape is not None,
        "cv": law.cv is not None,
        "durations": law.durations_s is not None,
    }
    needs = {spread} if name == "empirical" else {"mean", spread} - {None}
    for key in sorted(needs - {None}, key=str):
        if not has[str(key)]:
            raise ValueError(f"distribution {name!r} needs {key!r}: {_EXAMPLES[str(key)]}")
    for key, given in has.items():
        if given and key not in needs:
            raise ValueError(f"distribution {name!r} takes no {key!r}; leave it out")
    try:
        if name in _PARAMETERS:
            _PARAMETERS[name](law)
    except OverflowError:
        value = getattr(law, str(spread))
        raise ValueError(f"{spread} = {value:g} is more than floats can hold for {name}") from None


_EXAMPLES = {
    "mean": 'e.g. mean = "28 h"',
    "shape": "e.g. shape = 0.675",
    "cv": "standard deviation / mean, e.g. cv = 1.5",
    "durations": 'e.g. durations = ["3 h", "17 h"]',
}


def _weibull_scale(law: Distribution) -> float:
    assert law.shape is not None
    return law.expected_s / math.gamma(1 + 1 / law.shape)


def _lognormal_parameters(law: Distribution) -> tuple[float, float]:
    assert law.cv is not None
    sigma2 = math.log1p(law.cv**2)
    return math.log(law.expected_s) - sigma2 / 2, math.sqrt(sigma2)


#: Laws whose parameters can overflow though their mean and spread do not.
_PARAMETERS: dict[str, Callable[[Distribution], object]] = {
    "weibull": _weibull_scale,
    "lognormal": _lognormal_parameters,
}

_Sampler = Callable[[Distribution, np.random.Generator, Size], NDArray[np.float64]]
_SAMPLE: dict[str, _Sampler] = {
    "exponential": lambda law, rng, n: rng.exponential(law.expected_s, n),
    "gamma": lambda law, rng, n: rng.gamma(law.shape or 1, law.expected_s / (law.shape or 1), n),
    "weibull": lambda law, rng, n: _weibull_scale(law) * rng.weibull(law.shape or 1, n),
    "lognormal": lambda law, rng, n: rng.lognormal(*_lognormal_parameters(law), n),
    "deterministic": lambda law, _rng, n: np.full(n, law.expected_s),
    "uniform": lambda law, rng, n: rng.uniform(0.0, 2 * law.expected_s, n),
    "empirical": lambda law, rng, n: np.asarray(law.durations_s)[
        rng.integers(len(law.durations_s or ()), size=n)
    ],
}


def _long_empirical(law: Distribution, rng: np.random.Generator, n: Size) -> NDArray[np.float64]:
    values = np.asarray(law.durations_s)
    return rng.choice(values, n, p=values / values.sum())


def _long_weibull(law: Distribution, rng: np.random.Generator, n: Size) -> NDArray[np.float64]:
    shape = law.shape or 1.0
    # By logarithms: at a small shape the power alone is more than floats can hold.
    log_scale = math.log(law.expected_s) - math.lgamma(1 + 1 / shape)
    return np.asarray(np.exp(log_scale + np.log(rng.gamma(1 + 1 / shape, 1.0, n)) / shape))


def _long_lognormal(law: Distribution, rng: np.random.Generator, n: Size) -> NDArray[np.float64]:
    mu, sigma = _lognormal_parameters(law)
    return rng.lognormal(mu + sigma**2, sigma, n)


#: Durations drawn with a probability in proportion to their length.
_SAMPLE_LONG: dict[str, _Sampler] = {
    "exponential": lambda law, rng, n: rng.gamma(2.0, law.expected_s, n),
    "gamma": lambda law, rng, n: rng.gamma(
        (law.shape or 1) + 1, law.expected_s / (law.shape or 1), n
    ),
    "weibull": _long_weibull,
    "lognormal": _long_lognormal,
    "deterministic": lambda law, _rng, n: np.full(n, law.expected_s),
    "uniform": lambda law, rng, n: 2 * law.expected_s * np.sqrt(rng.random(n)),
    "empirical": _long_empirical,
}


def _gamma_survival(law: Distribution, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import gammaincc  # noqa: PLC0415  (scipy is slow to import)

    assert law.shape is not None
    return np.asarray(gammaincc(law.shape, t_s * law.shape / law.expected_s), dtype=np.float64)


def _lognormal_survival(law: Distribution, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import ndtr  # noqa: PLC0415

    mu, sigma = _lognormal_parameters(law)
    with np.errstate(divide="ignore"):
        return np.asarray(ndtr((mu - np.log(t_s)) / sigma), dtype=np.float64)


def _empirical_survival(law: Distribution, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.sort(np.asarray(law.durations_s))
    return 1.0 - np.searchsorted(values, t_s, side="right") / values.size


_Survival = Callable[[Distribution, NDArray[np.float64]], NDArray[np.float64]]
_SURVIVAL: dict[str, _Survival] = {
    "exponential": lambda law, t: np.exp(-t / law.expected_s),
    "gamma": _gamma_survival,
    "weibull": lambda law, t: np.exp(-((t / _weibull_scale(law)) ** (law.shape or 1))),
    "lognormal": _lognormal_survival,
    "deterministic": lambda law, t: np.where(t < law.expected_s, 1.0, 0.0),
    "uniform": lambda law, t: np.clip(1.0 - t / (2 * law.expected_s), 0.0, 1.0),
    "empirical": _empirical_survival,
}
