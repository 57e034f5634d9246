"""Shares of time and of updates: what failures waste, and what is lost for good."""

import math

from cprsim.formulas.experts import rotation_left_s
from cprsim.formulas.intervals import young_interval_s
from cprsim.formulas.makespan import blocking_segment_s

_DAY_S = 86_400.0


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


def meta_ettr(
    interval_s: float,
    save_s: float,
    failures_per_node_day: float,
    nodes: int,
    initialisation_s: float,
) -> float:
    """Meta's effective training time ratio, `(1 - N r (u0 + tau/2)) / (1 + w/tau)`, first order.

    Kokolis et al., HPCA'25 (arXiv 2410.21680); below 0 where failures come too fast for it.
    """
    lost_s = initialisation_s + interval_s / 2
    return (1 - lost_s / mttf_s(nodes, failures_per_node_day)) / (1 + save_s / interval_s)


def exact_ettr(
    interval_s: float,
    save_s: float,
    failures_per_node_day: float,
    nodes: int,
    initialisation_s: float,
) -> float:
    """Exact counterpart of `meta_ettr` for a long run, with an initialisation in which none fails.

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


def step_from_throughput_s(block_s: float, throughput: float) -> float:
    """The step that makes saves of `block_s` leave so much throughput."""
    return block_s * throughput / (1 - throughput)


def wasted_per_failure_s(save_s: float, interval_s: float, load_s: float) -> float:
    """Mean time that one failure wastes where saves go on in the background, one at a time.

    `t_ckpt + 1/(2 f) + t_rtvl` with `1/f` the interval: Gemini (SOSP'23). Exact on average for a
    failure at a uniform instant between two saves, without the time to detect and replace.
    """
    return save_s + interval_s / 2 + load_s


def mean_staleness_s(experts: int, per_save: int, period_s: float) -> float:
    """Mean age of an expert's saved state at a fault, once the rotation has gone round.

    `rotation_left_s` in the long run, plus `I/2`; that is `(N/K) I/2` where K divides N. Exact for
    a fault at a uniform instant between two saves.
    """
    return rotation_left_s(experts, per_save, period_s)[-1] + period_s / 2


def single_fault_plt(experts: int, per_save: int, period_s: float, useful_time_s: float) -> float:
    """Proportion of lost tokens (PLT) of a run with one fault, at a uniform instant of it.

    `PLT = 1/N_moe sum_i sum_j L_ij / (T_i TopK_i)` (arXiv 2408.04307) for tokens that come to all
    experts alike: the updates left at the last save before the fault, over the run. Work since
    that save is repeated and not lost. Exact, with the first saves after the start.
    """
    *rising_s, steady_s = rotation_left_s(experts, per_save, period_s)
    lost_s2 = steady_s * max(useful_time_s - (len(rising_s) + 1) * period_s, 0.0)
    for saves, left_s in enumerate(rising_s, start=1):
        lost_s2 += left_s * min(max(useful_time_s - saves * period_s, 0.0), period_s)
    return lost_s2 / useful_time_s**2


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


def erlang_b(channels: int, load: float) -> float:
    """Erlang's loss formula: the share of time in which all channels are busy.

    `load`: arrivals in the mean time that a channel stays busy. `B(0) = 1`,
    `B(c) = a B(c-1) / (c + a B(c-1))`: exact for Poisson arrivals, whatever the law of the busy
    times. An arrival that finds all channels busy is lost.
    """
    blocked = 1.0
    for busy in range(1, channels + 1):
        blocked = load * blocked / (busy + load * blocked)
    return blocked


def stalled_share(nodes: int, spares: int, node_mtbf_s: float, repair_s: float) -> float:
    """Share of time in which a job stands still because too many nodes are in repair.

    `erlang_b(K + 1, N repair / mtbf)`, as the job stalls when K + 1 nodes are down, and while it
    does nothing fails; spares don't fail while they wait. Exact for exponential failures, whatever
    the law of the repairs.
    """
    return erlang_b(spares + 1, nodes * repair_s / node_mtbf_s)
