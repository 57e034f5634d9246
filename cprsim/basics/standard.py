"""Laws as standard draws that are scaled: those that differ in scale alone draw the same.

Bit for bit what `Distribution.sample` and `sample_left` give: NumPy itself draws these laws as a
standard number times a scale. The lognormal it doesn't (its exponential is another than
`numpy.exp`), so laws of it, and lists of durations, have what they draw to themselves.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution, Size

Floats = NDArray[np.float64]
Key = tuple[object, ...]


class Standard(NamedTuple):
    """Durations of a law are `scale` (s, or 1) times what `sample` draws.

    Laws of the same `key` have the same `sample`.
    """

    key: Key
    sample: Callable[[np.random.Generator, Size], Floats]
    scale: float


class StandardLeft(NamedTuple):
    """What is left of durations that are under way, s, is made by `scaled` of what `draw` draws.

    Laws of the same `key` have the same `draw`.
    """

    key: Key
    draw: Callable[[np.random.Generator, Size], tuple[Floats, ...]]
    scaled: Callable[..., Floats]


def standard(law: Distribution) -> Standard:
    """That of durations."""
    name, shape, mean_s = law.distribution, law.shape or 1, law.expected_s
    if name == "exponential":
        return Standard((name,), _exponential, mean_s)
    if name == "gamma":
        return Standard((name, shape), partial(_gamma, shape), mean_s / shape)
    if name == "weibull":
        return Standard((name, shape), partial(_weibull, shape), mean_s / math.gamma(1 + 1 / shape))
    if name == "uniform":
        return Standard((name,), _uniform, 2 * mean_s)
    return Standard(_all_of(law), law.sample, 1.0)


def standard_left(law: Distribution) -> StandardLeft:
    """That of what is left of durations that are under way at a time chosen at random."""
    name, shape, mean_s = law.distribution, law.shape or 1, law.expected_s
    if name == "exponential":
        return StandardLeft((name,), partial(_gamma_and_share, 2.0), partial(_product, mean_s))
    if name == "gamma":
        scaled = partial(_product, mean_s / shape)
        return StandardLeft((name, shape), partial(_gamma_and_share, shape + 1), scaled)
    if name == "weibull":
        log_scale = math.log(mean_s) - math.lgamma(1 + 1 / shape)
        scaled = partial(_weibull_left, log_scale, shape)
        return StandardLeft((name, shape), partial(_gamma_and_share, 1 + 1 / shape), scaled)
    return StandardLeft(_all_of(law), lambda rng, n: (law.sample_left(rng, n),), np.asarray)


def _all_of(law: Distribution) -> Key:
    return law.distribution, law.mean_s, law.shape, law.cv, law.durations_s


def _exponential(rng: np.random.Generator, size: Size) -> Floats:
    return rng.standard_exponential(size)


def _gamma(shape: float, rng: np.random.Generator, size: Size) -> Floats:
    return rng.standard_gamma(shape, size)


def _weibull(shape: float, rng: np.random.Generator, size: Size) -> Floats:
    return rng.weibull(shape, size)


def _uniform(rng: np.random.Generator, size: Size) -> Floats:
    return rng.random(size)


def _gamma_and_share(shape: float, rng: np.random.Generator, size: Size) -> tuple[Floats, Floats]:
    return rng.standard_gamma(shape, size), rng.random(size)


def _product(scale: float, drawn: Floats, share: Floats) -> Floats:
    return scale * drawn * share


def _weibull_left(log_scale: float, shape: float, drawn: Floats, share: Floats) -> Floats:
    return np.asarray(np.exp(log_scale + np.log(drawn) / shape) * share)
