"""Failures that are announced: how often to save, and what is wasted.

Exact dates are predicted: a share `recall` of the failures is announced in time to save before it,
and some announcements are followed by none. `mtbf_s` is the mean time between failures.
"""

import math

from cprsim.closed_form.checks import check_duration, check_positive
from cprsim.closed_form.intervals import young_interval_s


def predicted_interval_s(save_s: float, mtbf_s: float, recall: float) -> float:
    """Training from one save to the next that wastes least, to first order.

    Parameters
    ----------
    save_s : float
        Time that a save holds training up, s, > 0.
    mtbf_s : float
        Mean time between failures, s, > 0.
    recall : float
        Share of the failures that a save comes right before, 0 to 1.

    Returns
    -------
    float
        `sqrt(2 mtbf save / (1 - recall))`, s; infinite where all are announced.

    Notes
    -----
    G. Aupy, Y. Robert, F. Vivien, "Checkpointing algorithms and fault prediction", JPDC 74(2)
    (2014), section 4: Young's interval for the failures that nobody announces.
    """
    _check_recall(recall)
    if recall == 1:
        return math.inf
    return young_interval_s(save_s, mtbf_s / (1 - recall))


def predicted_waste(
    interval_s: float,
    save_s: float,
    mtbf_s: float,
    recovery_s: float,
    recall: float,
    false_alarms_per_s: float = 0.0,
) -> float:
    """Share of useful time that goes to saves and failures, to first order.

    Parameters
    ----------
    interval_s, save_s, mtbf_s : float
        Training from one save to the next, what a save takes, and the MTBF, s, > 0.
    recovery_s : float
        From a failure until training goes on, s, >= 0.
    recall : float
        As in `predicted_interval_s`.
    false_alarms_per_s : float
        Announcements that no failure follows, each of which a save answers too, 1/s, >= 0.

    Returns
    -------
    float
        `save/interval + ((1 - recall) interval/2 + recovery + recall save)/mtbf + save alarms`.

    Notes
    -----
    As (11) of Aupy, Robert, Vivien 2014, whose alarms come at `recall (1 - precision) / precision /
    mtbf`. Neglected is what is of the order of the square of `interval / mtbf`.
    """
    check_positive(interval_s=interval_s, save_s=save_s, mtbf_s=mtbf_s)
    check_duration(recovery_s=recovery_s, false_alarms_per_s=false_alarms_per_s)
    _check_recall(recall)
    of_failures_s = (1 - recall) * interval_s / 2 + recovery_s + recall * save_s
    return save_s / interval_s + of_failures_s / mtbf_s + save_s * false_alarms_per_s


def announced_goodput(
    interval_s: float,
    save_s: float,
    mtbf_s: float,
    recovery_s: float,
    recall: float,
    false_alarms_per_s: float = 0.0,
) -> float:
    """Useful share of the wall clock of a long job, under exponential failures.

    Parameters
    ----------
    interval_s, save_s, mtbf_s, recovery_s, recall, false_alarms_per_s : float
        As in `predicted_waste`; `recovery_s` counts failures of the next kind from its end.

    Returns
    -------
    float
        Training that is kept from one recovery to the next, over the mean time between them.

    Notes
    -----
    Exact where nothing fails in recoveries, notices come a save before the failure, false alarms
    are a Poisson process, each save begins the interval anew, and an announcement is answered as
    soon as training goes on, if there is anything to save. A piece of training A is the interval W
    or what comes before the next alarm. With `k(A) = exp(-A/M)`, `s = exp(-C/M)`, a failure that
    nobody announces leaves `E[A k s] / (1 - E[k s])` in the mean; one that is, which a notice comes
    before, `E[M (1 - k)] / (1 - E[k s])`, unless it strikes within a save of the start.
    """
    check_positive(interval_s=interval_s, save_s=save_s, mtbf_s=mtbf_s)
    check_duration(recovery_s=recovery_s, false_alarms_per_s=false_alarms_per_s)
    _check_recall(recall)
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


def _check_recall(recall: float) -> None:
    if not 0 <= recall <= 1:
        raise ValueError(f"recall must be from 0 to 1, got {recall}")
