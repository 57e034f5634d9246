"""Saves that fail at their end, and loads that have to be begun again.

Each fails with the same probability, `fails`, from 0 to below 1, whatever happened to the others.
"""

from cprsim.basics.periods import whole_periods
from cprsim.formulas.checks import check_duration, check_positive


def mean_attempts(fails: float) -> float:
    """Mean number of attempts until one succeeds: `1 / (1 - fails)`, of a geometric law."""
    _check_chance(fails)
    return 1 / (1 - fails)


def skipped_age_s(period_s: float, total_s: float, fails: float) -> float:
    """Return how much older the last checkpoint is where failed saves are left out, on average, s.

    `period_s`: work from one save to the next, s, > 0; infinite for none. `total_s`: work of the
    whole job, s, > 0 and finite.

    After k saves the last i failed with probability `p**i` at least, i <= k, so the last usable one
    is `p (1 - p**k) / (1 - p)` periods older on average. In the long run, where it is `period p /
    (1 - p)`, the mean age is `period (1 + p) / (1 - p) / 2`.
    """
    check_positive(period_s=period_s, total_s=total_s)
    check_duration(total_s=total_s)
    _check_chance(fails)
    if period_s >= total_s:
        return 0.0
    saves = whole_periods(total_s, period_s)
    rest_s = max(total_s - saves * period_s, 0.0)
    none = fails**saves  # the chance that all of them failed
    served_s = period_s * (saves - (1 - none) / (1 - fails)) + rest_s * (1 - none)
    return period_s * fails / (1 - fails) * served_s / total_s


def _check_chance(fails: float) -> None:
    if not 0 <= fails < 1:
        raise ValueError(f"fails must be from 0 to below 1, got {fails}")
