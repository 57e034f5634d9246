"""Published forms that tests compare the simulator with, and no command needs.

Pure functions of floats, seconds throughout, as in `cprsim.formulas`, but their arguments are not
checked. `M` is the mean time between failures of the whole job; exact means exact under
exponential failures, unless a docstring says more.
"""

import math

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.periods import whole_periods
from cprsim.formulas.attempts import mean_attempts
from cprsim.formulas.intervals import young_interval_s
from cprsim.formulas.makespan import blocking_segment_s, growth

Floats = NDArray[np.float64]
_DAY_S = 86_400.0
#: Steps of the renewal equations an interval, whose error shrinks with their square (chosen).
_STEPS = 100


def daly_higher_order_interval_s(save_s: float, mtbf_s: float) -> float:
    """Return `sqrt(2 save M) [1 + sqrt(save/2M)/3 + (save/2M)/9] - save` for `save < 2M`, else `M`.

    Daly (FGCS 2006). Its makespan is within 0.2 % of the optimum.
    """
    if math.isinf(mtbf_s) or save_s >= 2 * mtbf_s:
        return mtbf_s
    ratio = save_s / (2 * mtbf_s)
    return math.sqrt(2 * save_s * mtbf_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save_s


def attempts_variance(fails: float) -> float:
    """Variance of the number of attempts until one succeeds, that of a geometric law."""
    return fails / (1 - fails) ** 2


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

    Exact under full recovery; with `during_recovery` a failure that strikes a load starts the
    recovery over, downtime and all. A try meets no failure with probability
    `L = exp(-work/M) (1 - p) / (exp(save/M) - p)`, the transform of a geometric number of saves,
    and takes `(M + E) (1/L - 1)` in the mean with failed tries and recoveries of mean E. For those
    `M + E = (M + D) / K`, `K = (1 - q) / (exp(load/M) - q)`, or `M + D + load / (1 - q)` where no
    failure strikes them. With p = q = 0 it is `blocking_segment_s`.
    """
    saves, loads = mean_attempts(save_fails), mean_attempts(load_fails)
    if math.isinf(mtbf_s) or work_s + save_s == 0:
        return work_s + save_s * saves
    if during_recovery:
        failure_s = (mtbf_s + downtime_s) * (1 + growth(load_s / mtbf_s) * loads)
    else:
        failure_s = mtbf_s + downtime_s + load_s * loads
    both = growth((work_s + save_s) / mtbf_s)
    return failure_s * (both - save_fails * growth(work_s / mtbf_s)) * saves


def two_level_pattern_s(
    segments: int,
    work_s: float,
    near_save_s: float,
    far_save_s: float,
    near_rate: float,
    far_rate: float,
    near_load_s: float,
    far_load_s: float,
) -> float:
    """Expected wall time of `segments` pieces of work, each but the last with a near save.

    The last ends with a far save. A near failure (per second) goes back a piece, a far one to the
    start of the pattern. `E_i = M (1 - q_i) + q_i E_{i+1} + (1 - q_i) [p1 (R1 + E_i) +
    p2 (R2 + E_1)]` and `E_{n+1} = 0`, where `E_i` is the time to the end from the start of
    segment i, `1/M` the sum of both rates, `p1` and `p2` their shares of it,
    `q_i = exp(-L_i / M)`, and `L_i` the work plus the save that ends the segment. Exact where
    nothing fails in a load (Moody et al., SC'10, and Benoit et al., 2017, treat the same pattern).
    """
    rate = near_rate + far_rate
    if rate == 0:
        return segments * work_s + (segments - 1) * near_save_s + far_save_s
    far = far_rate / rate
    failed_s = 1 / rate + (near_rate * near_load_s + far_rate * far_load_s) / rate
    # E_i = rest_s + (1 - kept) E_1: `kept` is the chance to finish the pattern from segment i
    # before a far failure. That product loses no digits where failures are many.
    rest_s, kept = 0.0, 1.0
    for segment in reversed(range(segments)):
        save_s = far_save_s if segment == segments - 1 else near_save_s
        passes = math.exp(-rate * (work_s + save_s))
        fails = -math.expm1(-rate * (work_s + save_s))
        ends = passes + fails * far  # the segment is left: done, or for the first one
        if ends == 0:
            return math.inf
        rest_s = (fails * failed_s + passes * rest_s) / ends
        kept *= passes / ends
    return rest_s / kept if kept > 0 else math.inf


def verified_segment_s(
    work_s: float,
    verify_s: float,
    save_s: float,
    mtbf_s: float,
    silent_mtbf_s: float,
    load_s: float,
    downtime_s: float = 0.0,
) -> float:
    """Expected time to train a piece, to verify it and to save it.

    Silent faults strike training alone and are found by verifying: A. Benoit, A. Cavelan,
    Y. Robert, H. Sun, ACM TOPC 3(2), 2016. Exact, `S` being the mean training between silent
    faults: `(M + D) exp((R + C)/M) [exp(W/S) (exp((W+V)/M) - 1) + (exp(W/S) - 1) (1 - exp(-R/M))
    + 1 - exp(-C/M)]`. Without failures `exp(W/S) (W + V) + (exp(W/S) - 1) R + C`, Proposition 1.
    """
    again = math.expm1(work_s / silent_mtbf_s)  # further tries, in the mean
    if math.isinf(mtbf_s):
        return (1 + again) * (work_s + verify_s) + again * load_s + save_s
    tries = (1 + again) * math.expm1((work_s + verify_s) / mtbf_s)
    loads = -again * math.expm1(-load_s / mtbf_s)
    saves = -math.expm1(-save_s / mtbf_s)
    failure_s = (mtbf_s + downtime_s) * math.exp((load_s + save_s) / mtbf_s)
    return failure_s * (tries + loads + saves)


def verified_interval_s(
    verify_s: float, save_s: float, mtbf_s: float, silent_mtbf_s: float
) -> float:
    """Return `sqrt((V + C) / (1/S + 1/(2 M)))`, the interval of verified saves, first order."""
    rate = 1 / silent_mtbf_s + 1 / (2 * mtbf_s)
    return math.sqrt((verify_s + save_s) / rate) if rate else math.inf


def partial_overhead(interval_s: float, save_s: float, recovery_s: float, mtbf_s: float) -> float:
    """Return `save/tau + R/M`: CPR (E2) over T_total, a share of the useful time, first order."""
    return save_s / interval_s + recovery_s / mtbf_s


def full_overhead(interval_s: float, save_s: float, recovery_s: float, mtbf_s: float) -> float:
    """Return `save/tau + (R + tau/2)/M`: CPR (E1) over T_total, first order.

    It counts T_total/M failures, none of them in a save, a recovery or repeated work.
    """
    return partial_overhead(interval_s, save_s, recovery_s, mtbf_s) + interval_s / 2 / mtbf_s


def mttf_s(nodes: int, failures_per_node_day: float) -> float:
    """Mean time to failure of a job that any of its independent nodes can stop: `1 / (N r)`."""
    failures_per_day = nodes * failures_per_node_day
    return math.inf if failures_per_day == 0 else _DAY_S / failures_per_day


def exact_ettr(
    interval_s: float,
    save_s: float,
    failures_per_node_day: float,
    nodes: int,
    initialisation_s: float,
) -> float:
    """Effective training time ratio of a long run, exact; nothing fails in the initialisation.

    `tau / ((M + u0) (exp((tau + w)/M) - 1))`.
    """
    return interval_s / blocking_segment_s(
        interval_s,
        save_s,
        mttf_s(nodes, failures_per_node_day),
        initialisation_s,
        during_recovery=False,
    )


def predicted_interval_s(save_s: float, mtbf_s: float, recall: float) -> float:
    """Young's interval for the failures that nobody announces, a share `1 - recall` of them.

    G. Aupy, Y. Robert, F. Vivien, JPDC 74(2) (2014), section 4: exact dates are predicted.
    """
    return math.inf if recall == 1 else young_interval_s(save_s, mtbf_s / (1 - recall))


def predicted_waste(
    interval_s: float,
    save_s: float,
    mtbf_s: float,
    recovery_s: float,
    recall: float,
    false_alarms_per_s: float = 0.0,
) -> float:
    """Share of useful time that goes to saves and failures, to first order.

    `save/tau + ((1 - recall) tau/2 + R + recall save)/M + save alarms`: (11) of Aupy, Robert,
    Vivien 2014, whose alarms come at `recall (1 - precision) / precision / M`.
    """
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
    """Useful share of the wall clock of a long job whose failures are announced in part.

    Exact where nothing fails in recoveries, notices come a save before the failure, false alarms
    are a Poisson process, each save begins the interval again, and an announcement is answered as
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


def wasted_share(interval_s: float, stall_s: float, mtbf_s: float) -> float:
    """Return `stall / interval + interval / (2 M)`, by which Meta tunes its interval, first order.

    "Optimizing effective training time", PyTorch blog (2026). Its figure 7: 15 s, 3 failures a day.
    """
    return stall_s / interval_s + interval_s / (2 * mtbf_s)


def relative_throughput(step_s: float, block_s: float) -> float:
    """Throughput of a job that saves at every step, over that of one that never does."""
    return step_s / (step_s + block_s)


def wasted_per_failure_s(save_s: float, interval_s: float, load_s: float) -> float:
    """Mean time that one failure wastes where saves go on in the background, one at a time.

    `t_ckpt + 1/(2 f) + t_rtvl` with `1/f` the interval: Gemini (SOSP'23). Exact on average for a
    failure at a uniform instant between two saves, without the time to detect and replace.
    """
    return save_s + interval_s / 2 + load_s


def group_survival(nodes: int, copies: int, failed: int) -> float:
    """Probability that no group of `copies` nodes, which hold the same state, is lost entirely.

    `failed` of the nodes fail at once, any of them with the same chance; `copies` divides `nodes`.
    `1 - sum_{j>=1} (-1)^(j+1) C(N/m, j) C(N - jm, k - jm) / C(N, k)`, exact, by inclusion and
    exclusion over the groups lost.
    """
    # Whole numbers up to the last step: the sum alternates, and floats would lose it.
    survived: int = sum(
        (-1) ** lost
        * math.comb(nodes // copies, lost)
        * math.comb(nodes - lost * copies, failed - lost * copies)
        for lost in range(failed // copies + 1)
    )
    return survived / math.comb(nodes, failed)


def allocated_makespan_s(
    useful_time_s: float,
    interval_s: float,
    allocation_s: float,
    save_s: float,
    *,
    load_s: float = 0.0,
    schedule_s: float = 0.0,
    cold_s: float = 0.0,
    warm_s: float = 0.0,
    shutdown_s: float = 0.0,
) -> float:
    """Wall time of a job without failures, in as many allocations as it takes; exact.

    `allocation_s`: from when nodes are there until they are given back. Each allocation waits for
    `schedule_s`, starts (`cold_s`, later ones `warm_s` and a load), trains and saves in turn, and
    shuts down. A save that is under way at the end of what is left for that is the last one, and
    the allocation lasts longer.
    """
    wall_s, left_s, before_s = 0.0, useful_time_s, cold_s
    while True:
        rest_s = allocation_s - before_s - save_s - shutdown_s
        if rest_s <= 0:
            raise ValueError(f"allocation_s = {allocation_s} leaves no time to train")
        periods = whole_periods(rest_s, interval_s + save_s)
        last_s = max(rest_s - periods * (interval_s + save_s), 0.0)
        trained_s = periods * interval_s + min(last_s, interval_s)
        wall_s += schedule_s + before_s + shutdown_s
        if trained_s >= left_s:
            saves = math.ceil(left_s / interval_s * (1 - 1e-12)) - 1
            return wall_s + left_s + saves * save_s
        wall_s += trained_s + (periods + (last_s > 0)) * save_s
        left_s -= trained_s
        before_s = warm_s + load_s


def allocated_goodput(
    interval_s: float,
    allocation_s: float,
    save_s: float,
    mtbf_s: float,
    recovery_s: float,
    before_s: float,
    shutdown_s: float,
    schedule_s: float,
) -> float:
    """Useful share of the wall clock of a long job in allocations, under full recovery.

    Nothing fails in the start of an allocation and its load, `before_s`, nor in a recovery. Where
    training may go on for `h` at most, `p(h)` is handed over, and takes `v(h)`: with no failure by
    the end of the next save (`min(h, W) + C`) what that and the rest come to; with one after `t`,
    `p(h - t - R)` and `t + R + v(h - t - R)`. Volterra equations, solved by the trapezoidal rule.
    """
    most_s = allocation_s - before_s - save_s - shutdown_s
    steps = math.ceil(max(most_s / interval_s, 1.0) * _STEPS)
    step_s = most_s / steps
    at_s = np.arange(steps + 1) * step_s
    handed_s, takes_s = np.zeros(steps + 1), np.zeros(steps + 1)
    takes_s[0] = save_s  # just above 0

    def value(known: Floats, left_s: Floats) -> Floats:
        return np.where(left_s >= 0, np.interp(left_s, at_s, known), 0.0)

    for i in range(steps + 1):
        trained_s = min(at_s[i], interval_s)
        segment_s = trained_s + save_s
        survives = math.exp(-segment_s / mtbf_s)
        struck_s = np.linspace(0.0, segment_s, max(2, math.ceil(segment_s / step_s) + 1))
        density = np.exp(-struck_s / mtbf_s) / mtbf_s
        rest_s = np.array([at_s[i] - segment_s])
        goes_on = rest_s[0] > 0
        left_s = at_s[i] - struck_s - recovery_s
        for _ in range(2):  # with no recovery the equation is implicit in its first node
            again = np.trapezoid(density * value(handed_s, left_s), struck_s)
            handed_s[i] = survives * (trained_s + value(handed_s, rest_s)[0]) + again
            again = density * (struck_s + recovery_s + value(takes_s, left_s))
            more_s = value(takes_s, rest_s)[0] if goes_on else 0.0
            takes_s[i] = survives * (segment_s + more_s) + np.trapezoid(again, struck_s)
    length_s = schedule_s + before_s + takes_s[-1] + shutdown_s
    return float(handed_s[-1] / length_s)
