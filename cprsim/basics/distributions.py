"""Laws of random durations: time to failure, time to be rescheduled.

Each law is a value, named and parametrised as in a scenario file: by its mean and one shape.
`sample` draws from a generator that the caller owns; nothing here is seeded or kept.
"""

from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cprsim.basics.ageing import AGEING
from cprsim.basics.laws import BY_MEAN, Empirical, Law, Size
from cprsim.basics.schema import PositiveSeconds, Section, a_list

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


_EXAMPLES = {
    "mean": 'e.g. mean = "28 h"',
    "shape": "e.g. shape = 0.675",
    "cv": "standard deviation / mean, e.g. cv = 1.5",
    "durations": 'e.g. durations = ["3 h", "17 h"]',
}

Durations = Annotated[
    tuple[PositiveSeconds, ...],
    a_list(f"write {_EXAMPLES['durations']}"),
    Field(examples=[["3 h", "17 h"]]),
]


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
        return self.law.mean

    def scaled(self, factor: float) -> "Distribution":
        """The law of durations that are `factor` times as long."""
        return self.model_copy(update=scaled(self.mean_s, self.durations_s, factor))

    @cached_property
    def law(self) -> Law:
        """The law itself, of durations in seconds."""
        if self.durations_s is not None:
            return Empirical(self.durations_s)
        assert self.mean_s is not None
        spread = self.shape if self.shape is not None else self.cv
        if spread is None:
            return BY_MEAN[self.distribution](self.mean_s)
        return AGEING[self.distribution](self.mean_s, spread)

    def sample(self, rng: np.random.Generator, size: Size) -> NDArray[np.float64]:
        """Draw durations, s, an array of shape `size`; further calls continue the sequence."""
        return self.law.scale * self.law.standard(rng, size)

    def sample_left(self, rng: np.random.Generator, size: Size) -> NDArray[np.float64]:
        """Draw what is left of durations that are under way at a time chosen at random.

        In seconds. A uniform part of a duration that was chosen in proportion to its length: the
        first interval of a stationary renewal process (D. R. Cox, "Renewal theory", 1962, ch. 5).
        """
        return self.law.long(self.law.standard_long(rng, size)) * rng.random(size)

    def survival(self, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability that a duration exceeds `t_s` (seconds, >= 0; any shape)."""
        return self.law.survival(np.asarray(t_s, dtype=np.float64))

    def within(self, limit_s: float) -> tuple[float, float]:
        """Probability that a duration is over by `limit_s` (> 0, finite), and its mean until then.

        The mean of the shorter of both, in seconds.
        """
        return self.law.within(limit_s)

    def hazard(self, age_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Failure rate at an age (seconds, > 0; any shape), 1/s, of a law that can be fitted.

        Not a number where no float holds it.
        """
        with np.errstate(all="ignore"):
            rates = self.law.hazard(age_s)
        return np.where(np.isfinite(rates), rates, np.nan)

    def quantile(self, survival: NDArray[np.float64]) -> NDArray[np.float64]:
        """Durations that are outlasted with these chances (between 0 and 1; any shape), seconds.

        Of a law that can be fitted.
        """
        with np.errstate(all="ignore"):
            return self.law.quantile(survival)


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
        law.law  # noqa: B018  (its parameters can overflow though its mean and spread do not)
    except OverflowError:
        value = getattr(law, str(spread))
        raise ValueError(
            f"{spread} = {value:g} is out of range for {name}: write one nearer to 1"
        ) from None
