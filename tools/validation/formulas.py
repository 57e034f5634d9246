"""Published forms that cases of tools/validation are compared with, and no command needs.

Pure functions of floats, seconds throughout, as in `cprsim.formulas`, but their arguments are not
checked. `M` is the mean time between failures of the whole job; exact means exact under
exponential failures, unless a docstring says more. Forms that tests alone need are in
tests/formulas/forms.py.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cprsim.formulas.experts import rotation_left_s
from cprsim.formulas.makespan import growth, segment_count

Floats = NDArray[np.float64]
_NEGLIGIBLE = 1e-16  # a term under this share of the sum doesn't change it
_FIRST_BLOCK = 64


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


def first_order_overhead(rates: Sequence[float], saves_s: Sequence[float]) -> float:
    """Overhead of a multi-level pattern at its optimum, as a share of the useful time.

    `sum_l sqrt(2 lambda_l C_l)`, first order: Benoit et al. (2017). Loading isn't counted, and
    every save to a level is paid on top of those to the cheaper ones.
    """
    return math.fsum(math.sqrt(2 * rate * c) for rate, c in zip(rates, saves_s, strict=True))


def renewal_goodput(
    interval_s: float,
    stall_s: float,
    persist_s: float,
    recovery_s: float,
    mtbf_s: float,
    survival: Callable[[Floats], Floats],
) -> float:
    """Share of the wall time that a long run turns into committed work.

    `tau sum_{i>=1} S(i (tau + stall) + P) / (M + R)`: by renewal reward, the i-th save after a
    recovery commits if nothing fails before then. Exact in the long run where the clock renews
    at each failure; many machines with a non-exponential law each are no renewal process. M is
    the integral of `survival`, which takes times in seconds since the last recovery.
    """
    total, start, stop = 0.0, 1, _FIRST_BLOCK
    while True:
        terms = survival(np.arange(start, stop) * (interval_s + stall_s) + persist_s)
        total += float(terms.sum())
        if terms[-1] <= _NEGLIGIBLE * total:
            return interval_s * total / (mtbf_s + recovery_s)
        start, stop = stop, 2 * stop


def step_from_throughput_s(block_s: float, throughput: float) -> float:
    """The step that makes saves of `block_s` leave so much throughput."""
    return block_s * throughput / (1 - throughput)


def mean_staleness_s(experts: int, per_save: int, period_s: float) -> float:
    """Mean age of an expert's saved state at a fault, once the rotation has gone round.

    `rotation_left_s` in the long run, plus `I/2`; that is `(N/K) I/2` where K divides N. Exact for
    a fault at a uniform instant between two saves.
    """
    return rotation_left_s(experts, per_save, period_s)[-1] + period_s / 2


def single_fault_plt(experts: int, per_save: int, period_s: float, useful_time_s: float) -> float:
    """Proportion of lost tokens (PLT) of a run with one fault, at a uniform instant of it.

    `PLT = 1/N_moe sum_i sum_j L_ij / (T_i TopK_i)` (arXiv 2408.04307) for tokens spread evenly
    over the experts: the updates left at the last save before the fault, over the run. Work since
    that save is repeated and not lost. Exact, with the first saves after the start.
    """
    *rising_s, steady_s = rotation_left_s(experts, per_save, period_s)
    lost_s2 = steady_s * max(useful_time_s - (len(rising_s) + 1) * period_s, 0.0)
    for saves, left_s in enumerate(rising_s, start=1):
        lost_s2 += left_s * min(max(useful_time_s - saves * period_s, 0.0), period_s)
    return lost_s2 / useful_time_s**2


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
