"""Failures that are announced: what is wasted, to first order and exactly.

Exact dates are predicted: a share `recall` of the failures is announced in time to save before it,
and some announcements, `false_alarms_per_s`, are followed by none.
"""

import math


def predicted_waste(
    interval_s: float,
    save_s: float,
    mtbf_s: float,
    recovery_s: float,
    recall: float,
    false_alarms_per_s: float = 0.0,
) -> float:
    """Share of useful time that goes to saves and failures.

    As (11) of G. Aupy, Y. Robert, F. Vivien, "Checkpointing algorithms and fault prediction", JPDC
    74(2) (2014), whose alarms come at `recall (1 - precision) / precision / mtbf`. First order:
    neglected is what is of the order of the square of `interval / mtbf`.
    """
    of_failures_s = (1 - recall) * interval_s / 2 + recovery_s + recall * save_s
    return save_s / interval_s + of_failures_s / mtbf_s + save_s * false_alarms_per_s


def announced_goodput(
    interval_s: float,
    save_s: float,
    mtbf_s: float,
    recovery_s: float,
    recall: float,
    false_alarms_per_s: float,
) -> float:
    """Useful share of the wall clock of a long job, under exponential failures.

    Exact where nothing fails in recoveries, notices come a save before the failure, false alarms
    are a Poisson process, each save begins the interval anew, and an announcement is answered as
    soon as training goes on, if there is anything to save. A piece of training A is the interval W
    or what comes before the next alarm. With `k(A) = exp(-A/M)`, `s = exp(-C/M)`, a failure that
    nobody announces leaves `E[A k s] / (1 - E[k s])` in the mean; one that is, which a notice comes
    before, `E[M (1 - k)] / (1 - E[k s])`, unless it strikes within a save of the start.
    """
    rate, alarms, saved = 1 / mtbf_s, false_alarms_per_s, math.exp(-save_s / mtbf_s)
    both = rate + alarms
    whole = math.exp(-both * interval_s)
    ends = rate / both  # the chance that a failure comes first, were no interval ever over
    survives = whole + (1 - ends) * (1 - whole)  # E[k]
    before_alarm_s = alarms / both * ((1 - whole) / both - interval_s * whole)
    kept_s = interval_s * whole + before_alarm_s  # E[A k]
    unannounced_s = kept_s * saved / (1 - survives * saved)
    announced_s = mtbf_s * (1 - survives) / (1 - survives * saved)
    progress_s = (1 - recall) * unannounced_s + recall * saved * announced_s
    return progress_s / (mtbf_s + recovery_s)
