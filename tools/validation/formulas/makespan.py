"""Expected wall times and intervals: partial recovery, background saves, retries, two levels."""

import math
from collections.abc import Sequence

from cprsim.formulas.attempts import mean_attempts
from cprsim.formulas.makespan import growth, segment_count


def daly_interval_s(save_s: float, mtbf_s: float, recovery_s: float = 0.0) -> float:
    """Return `sqrt(2 save (M + R)) - save` for `save < M/2`, else `M`: first order, Daly 2006."""
    if math.isinf(mtbf_s) or save_s >= mtbf_s / 2:
        return mtbf_s
    return math.sqrt(2 * save_s * (mtbf_s + recovery_s)) - save_s


def daly_higher_order_interval_s(save_s: float, mtbf_s: float) -> float:
    """Return `sqrt(2 save M) [1 + sqrt(save/2M)/3 + (save/2M)/9] - save` for `save < 2M`, else `M`.

    Daly (FGCS 2006). Its makespan is within 0.2 % of the optimum.
    """
    if math.isinf(mtbf_s) or save_s >= 2 * mtbf_s:
        return mtbf_s
    ratio = save_s / (2 * mtbf_s)
    return math.sqrt(2 * save_s * mtbf_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save_s


def partial_makespan_s(
    useful_time_s: float, interval_s: float, save_s: float, mtbf_s: float, recovery_s: float
) -> float:
    """Expected wall time of a run that never repeats work: partial recovery, replicas, hot swap.

    `T (1 + save/tau) (1 + R/M)`. Exact where no failure strikes a recovery, a save outlives a
    failure, and the run holds `T/tau` saves (a whole multiple that ends with a save).
    """
    return useful_time_s * (1 + save_s / interval_s) * (1 + recovery_s / mtbf_s)


def async_cycle_s(
    interval_s: float, stall_s: float, persist_s: float, mtbf_s: float, recovery_s: float
) -> float:
    """Expected time between two commits of a run that persists its saves in the background.

    `(M + R) exp(P/M) (exp((tau + stall)/M) - 1)`, exact in the long run (Vaidya's overhead and
    latency result): a late commit is no worse than a longer restart. A persist time above the
    interval means several saves under way.
    """
    length_s = interval_s + stall_s
    if math.isinf(mtbf_s):
        return length_s
    return (mtbf_s + recovery_s) * (growth(persist_s / mtbf_s) + 1) * growth(length_s / mtbf_s)


def async_makespan_s(
    useful_time_s: float,
    interval_s: float,
    stall_s: float,
    persist_s: float,
    mtbf_s: float,
    recovery_s: float,
) -> float:
    """Expected wall time of a run with background saves that waits for its last commit.

    Exact; the useful time is a multiple of the interval. From a fresh start the first commit needs
    `L = tau + stall + P` without a failure, which takes `(M + R)(exp(L/M) - 1) = F`. After a commit
    the next is due in `c = tau + stall`; a failure before that costs a recovery and then `F` again,
    so that `E = M (1 - exp(-c/M)) + (1 - exp(-c/M)) (R + F)`, the cycle. Commits are renewals, so n
    of them take `F + (n - 1) E`.
    """
    commits = segment_count(useful_time_s, interval_s)
    cycle_s = async_cycle_s(interval_s, stall_s, persist_s, mtbf_s, recovery_s)
    first_s = async_cycle_s(interval_s, stall_s + persist_s, 0.0, mtbf_s, recovery_s)
    return first_s + (commits - 1) * cycle_s


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


def first_order_overhead(rates: Sequence[float], saves_s: Sequence[float]) -> float:
    """Overhead of a multi-level pattern at its optimum, as a share of the useful time.

    `sum_l sqrt(2 lambda_l C_l)`, first order: Benoit et al. (2017). Loading isn't counted, and
    every save to a level is paid on top of those to the cheaper ones.
    """
    return math.fsum(math.sqrt(2 * rate * c) for rate, c in zip(rates, saves_s, strict=True))


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
