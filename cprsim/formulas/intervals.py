"""Intervals between saves that each theory calls best, in work between two saves, s or steps.

`save_s`: time that one save stops the training, s, >= 0. `mtbf_s`: mean time between failures of
the whole job, s, > 0. `step_s`: one training step, s, > 0.
"""

import math

from cprsim.formulas.checks import check_duration, check_positive

#: Of a number of steps: 80 times 0.5 s are 40 s, however they are computed.
_ROUNDING = 1e-9


def young_interval_s(save_s: float, mtbf_s: float) -> float:
    """Young's interval, s, the optimum of the first-order overhead of full recovery.

    `sqrt(2 save M)`, first order: Young (CACM 1974); CPR (MLSys'21) equation E3. Infinite without
    failures.
    """
    check_duration(save_s=save_s)
    check_positive(mtbf_s=mtbf_s)
    # Without failures a free save is as useless as a dear one; 0 * inf would say NaN.
    return math.inf if math.isinf(mtbf_s) else math.sqrt(2 * save_s * mtbf_s)


def exact_interval_s(save_s: float, mtbf_s: float) -> float:
    """Interval that minimises the expected wall time per unit of work, s.

    `M (1 + W0(-exp(-1 - save/M)))` with Lambert's W: exact for exponential failures, whatever
    recovery, downtime and persist time are (Daly 2006; Bougeret et al., SC'11). Infinite without
    failures, zero where saves are free. For an asynchronous save give the stall alone, and don't go
    under the persist time where only one save may be under way.
    """
    check_duration(save_s=save_s)
    check_positive(mtbf_s=mtbf_s)
    if math.isinf(mtbf_s):
        return math.inf
    ratio = save_s / mtbf_s
    if ratio < 1e-6:
        # So near its branch point W0 loses half the digits; its series there keeps them.
        p = math.sqrt(-2 * math.expm1(-ratio))
        return mtbf_s * p * (1 - p / 3 + 11 * p**2 / 72 - 43 * p**3 / 540 + 769 * p**4 / 17280)
    from scipy.special import lambertw  # noqa: PLC0415 - costs a second, needed only here

    return mtbf_s * (1 + float(lambertw(-math.exp(-1 - ratio)).real))


def checkfreq_steps(
    save_s: float, step_s: float, cpu_snapshot_s: float, gpu_snapshot_s: float = math.inf
) -> int:
    """CheckFreq's first choice of the steps between two saves, from a profile; >= 1.

    `save_s`: a whole save, snapshot and persist. `cpu_snapshot_s`: snapshot into host memory, s, >=
    0. `gpu_snapshot_s`: snapshot into GPU memory, s, >= 0; infinite where it doesn't fit.

    `k = max(ceil((t_full - overhead) / t_iter), 1)`, `overhead` the shorter snapshot: what
    CheckFreq (FAST'21) does in its published code, the interval in which one save just gets done.
    While the job runs it adds 2 steps as long as it measures more than 5 % of overhead:
    `checkfreq_settled`.
    """
    check_duration(save_s=save_s, step_s=step_s, cpu_snapshot_s=cpu_snapshot_s)
    check_positive(step_s=step_s)
    if not gpu_snapshot_s >= 0:
        raise ValueError(f"gpu_snapshot_s must be >= 0, got {gpu_snapshot_s}")
    overhead_s = min(cpu_snapshot_s, gpu_snapshot_s)
    return max(math.ceil((save_s - overhead_s) / step_s), 1)


def checkfreq_settled(
    first: int, step_s: float, stall_s: float, max_overhead: float = 0.05, more: int = 2
) -> int:
    """Steps between two saves that CheckFreq's adaptation ends at.

    The least `first + j more` with `stall / (k step) <= max_overhead`, j >= 0; exact where each
    save adds the same. `first`: steps to start from, >= 1; as `checkfreq_steps` finds them.
    `stall_s`: what one save adds to the time of the training since the one before, s, >= 0.
    `max_overhead`: share of time that saving may add, > 0. `more`: steps that are added at a time,
    >= 1.
    """
    check_positive(first=first, step_s=step_s, max_overhead=max_overhead, more=more)
    check_duration(step_s=step_s, stall_s=stall_s)
    needed = stall_s / (max_overhead * step_s) * (1 - _ROUNDING)
    return first + more * max(math.ceil((needed - first) / more), 0)
