"""Saves that turn out void at their end, and loads that have to be begun again.

Each fails with the same probability, whatever happened to the others. `M` is the MTBF, `p` the
probability that a save turns out void, `q` that a load fails.
"""

import math

from cprsim.closed_form.checks import check_duration, check_positive
from cprsim.closed_form.exponential import growth
from cprsim.closed_form.intervals import whole_periods


def mean_attempts(fails: float) -> float:
    """Mean number of attempts until one succeeds.

    Parameters
    ----------
    fails : float
        Probability that one fails, from 0 to below 1.

    Returns
    -------
    float
        `1 / (1 - fails)`, the mean of a geometric law.
    """
    if not 0 <= fails < 1:
        _check_chance(fails=fails)
    return 1 / (1 - fails)


def attempts_variance(fails: float) -> float:
    """Variance of the number of attempts until one succeeds.

    Parameters
    ----------
    fails : float
        Probability that one fails, from 0 to below 1.

    Returns
    -------
    float
        `fails / (1 - fails)**2`, that of a geometric law.
    """
    _check_chance(fails=fails)
    return fails / (1 - fails) ** 2


def skipped_age_s(period_s: float, total_s: float, fails: float) -> float:
    """How much older the last checkpoint is where void saves are left out, on average over a job.

    Parameters
    ----------
    period_s : float
        Work from one save to the next, s, > 0; infinite for none.
    total_s : float
        Work of the whole job, s, > 0 and finite.
    fails : float
        Probability that a save turns out void, from 0 to below 1.

    Returns
    -------
    float
        Work, s.

    Notes
    -----
    After k saves the last i were void with probability `p**i` at least, i <= k, so the last usable
    one is `p (1 - p**k) / (1 - p)` periods older on average. In the long run, where it is
    `period p / (1 - p)`, the mean age is `period (1 + p) / (1 - p) / 2`.
    """
    check_positive(period_s=period_s, total_s=total_s)
    check_duration(total_s=total_s)
    _check_chance(fails=fails)
    if period_s >= total_s:
        return 0.0
    saves = whole_periods(total_s, period_s)
    rest_s = max(total_s - saves * period_s, 0.0)
    none = fails**saves  # the chance that all of them were void
    served_s = period_s * (saves - (1 - none) / (1 - fails)) + rest_s * (1 - none)
    return period_s * fails / (1 - fails) * served_s / total_s


def retried_segment_s(
    work_s: float,
    save_s: float,
    mtbf_s: float,
    load_s: float,
    downtime_s: float,
    save_fails: float,
    load_fails: float,
    *,
    during_recovery: bool = True,
) -> float:
    """Expected time to do a piece of work and save it, void saves and failed loads tried again.

    Parameters
    ----------
    work_s : float
        Work in the segment, s, >= 0.
    save_s : float
        Time that one attempt to save stops the training, s, >= 0.
    mtbf_s : float
        Mean time between failures of the whole job, s, > 0.
    load_s : float
        One attempt to load after a failure, s, >= 0.
    downtime_s : float
        Time before the load in which nothing can fail (detection, new machine), s, >= 0.
    save_fails, load_fails : float
        Probability that one attempt fails, from 0 to below 1.
    during_recovery : bool
        Whether a failure may strike a load too; the recovery then starts over, downtime and all.

    Returns
    -------
    float
        Expected wall time, s.

    Notes
    -----
    Exact under exponential failures and full recovery. A try meets no failure with probability
    `L = exp(-work/M) (1 - p) / (exp(save/M) - p)`, the transform of a geometric number of saves,
    and takes `(M + E) (1/L - 1)` in the mean with failed tries and recoveries of mean E. For those
    `M + E = (M + D) / K`, `K = (1 - q) / (exp(load/M) - q)`, or `M + D + load / (1 - q)` where no
    failure strikes them. With p = q = 0 it is `blocking_segment_s`.
    """
    check_duration(work_s=work_s, save_s=save_s, load_s=load_s, downtime_s=downtime_s)
    check_positive(mtbf_s=mtbf_s)
    saves, loads = mean_attempts(save_fails), mean_attempts(load_fails)
    if math.isinf(mtbf_s) or work_s + save_s == 0:
        return work_s + save_s * saves
    if during_recovery:
        failure_s = (mtbf_s + downtime_s) * (1 + growth(load_s / mtbf_s) * loads)
    else:
        failure_s = mtbf_s + downtime_s + load_s * loads
    both = growth((work_s + save_s) / mtbf_s)
    return failure_s * (both - save_fails * growth(work_s / mtbf_s)) * saves


def _check_chance(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name} must be from 0 to below 1, got {value}")
