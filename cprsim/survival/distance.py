"""How far a law is from the Kaplan-Meier curve."""

import numpy as np

from cprsim.basics.distributions import Distribution
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Floats

GRID_POINTS = 500
GRID_SHARE = 0.99


def kolmogorov_smirnov(curve: KaplanMeier, law: Distribution) -> float:
    """Largest distance between the curve and the law's survival, 0 to 1.

    Over all durations up to the longest, on both sides of each step; of lives that reach the age
    at which the curve begins.
    """
    after = survival(law, curve.times_s, curve.from_s)
    before = np.concatenate(([1.0], curve.survival[:-1]))
    (end,) = survival(law, np.array([curve.last_s]), curve.from_s)
    last = abs(float(curve.at(curve.last_s)) - float(end))
    return float(max(np.abs(curve.survival - after).max(), np.abs(before - after).max(), last))


def root_mean_square(curve: KaplanMeier, law: Distribution) -> float:
    """Root mean square of the distance between the curve and the law's survival, 0 to 1.

    On 500 times spread evenly from where the curve begins to its 99th percentile (interpolated
    between its steps), or to the longest duration where fewer have failed by then: the RMSE of
    Maeng et al.,
    "CPR: Understanding and Improving Failure Tolerant Training for Deep Learning Recommendation"
    (MLSys 2021). Times, not failures, have equal weight: where most gaps are short and
    a few very long, it says little about the short ones, and `kolmogorov_smirnov` all the more.
    """
    failed = np.concatenate(([0.0], 1 - curve.survival))
    end_s = np.interp(
        GRID_SHARE, failed, np.append(curve.from_s, curve.times_s), right=curve.last_s
    )
    grid = np.linspace(curve.from_s, end_s, GRID_POINTS)
    off = curve.at(grid) - survival(law, grid, curve.from_s)
    return float(np.sqrt(np.mean(off**2)))


def survival(law: Distribution, t_s: Floats, from_s: float = 0.0) -> Floats:
    """The law's survival at `t_s` (seconds), at which a steep law may overflow on its way to 0.

    `from_s`: of lives that reach this age, so that it is 1 up to there.
    """
    with np.errstate(over="ignore", under="ignore"):
        left = law.survival(t_s)
        if not from_s:
            return left
        reached = float(law.survival(np.array([from_s]))[0])
    return np.minimum(left / reached, 1.0) if reached else np.where(t_s > from_s, 0.0, 1.0)
