"""Expected wall times under exponential failures, exact for blocking saves and full recovery.

`save_s`: time that a save stops the training, s, >= 0; 0 for none. `mtbf_s`: mean time between
failures of the whole job, s, > 0. `recovery_s`: restart and loading after a failure, s, >= 0.
`downtime_s`: time before the recovery in which nothing can fail (detection, new machine), s, >= 0.
`during_recovery`: whether a failure may strike the recovery too, which then starts over, downtime
and all. `useful_time_s`: work of the whole run, s, > 0. `interval_s`: work between two saves, s, >
0; infinite for none.
"""

import math

from cprsim.formulas.checks import check_duration, check_positive

#: A useful time this near to a multiple of the interval, relatively, is one: 2.1 / 0.7 is not 3.
_MULTIPLE_TOLERANCE = 1e-9


def growth(exponent: float) -> float:
    """`exp(exponent) - 1`, accurate near zero and infinite where a float would overflow.

    Infinity is the honest answer there: the expected time no longer fits a float.
    """
    try:
        return math.expm1(exponent)
    except OverflowError:
        return math.inf


def blocking_segment_s(
    work_s: float,
    save_s: float,
    mtbf_s: float,
    recovery_s: float,
    downtime_s: float = 0.0,
    *,
    during_recovery: bool = True,
) -> float:
    """Expected time to do a piece of work and save it, repeating both until neither fails, s.

    `work_s`: work in the segment, s, >= 0.

    `(M + D) exp(R/M) (exp((work + save)/M) - 1)`, or with failure-free recovery
    `(M + D + R) (exp((work + save)/M) - 1)`. Exact: Daly (FGCS 2006), Bougeret et al. (SC'11).
    """
    check_duration(work_s=work_s, save_s=save_s, recovery_s=recovery_s, downtime_s=downtime_s)
    check_positive(mtbf_s=mtbf_s)
    length_s = work_s + save_s
    # An empty segment can't fail; with an overflowing recovery it would give inf * 0.
    if math.isinf(mtbf_s) or length_s == 0:
        return length_s
    if not during_recovery:
        return (mtbf_s + downtime_s + recovery_s) * growth(length_s / mtbf_s)
    return (mtbf_s + downtime_s) * (growth(recovery_s / mtbf_s) + 1) * growth(length_s / mtbf_s)


def segment_count(useful_time_s: float, interval_s: float) -> int:
    """Segments that saving every `interval_s` of work cuts a run into; the last may be shorter.

    `ceil(T/tau)`, or the nearest whole number where rounding alone parts them, >= 1.
    """
    check_positive(useful_time_s=useful_time_s, interval_s=interval_s)
    check_duration(useful_time_s=useful_time_s)
    ratio = useful_time_s / interval_s
    nearest = round(ratio)
    is_whole = abs(ratio - nearest) <= _MULTIPLE_TOLERANCE * nearest
    return max(nearest if is_whole else math.ceil(ratio), 1)


def blocking_makespan_s(
    useful_time_s: float,
    interval_s: float,
    save_s: float,
    mtbf_s: float,
    recovery_s: float,
    downtime_s: float,
    *,
    during_recovery: bool = True,
    final_save: bool = False,
) -> float:
    """Expected wall time of a run with blocking saves and full recovery, s.

    `final_save`: whether the run ends with a save. Without it a run has `ceil(T/tau) - 1` saves.

    The sum of `blocking_segment_s` over the segments, the last of which may be shorter: exact.
    Daly's printed form is the case D = 0 with a final save and a real number of segments.
    """
    segments = segment_count(useful_time_s, interval_s)
    check_duration(save_s=save_s)  # a run of one segment may never use it

    def expected_s(work_s: float, closing_save_s: float) -> float:
        return blocking_segment_s(
            work_s,
            closing_save_s,
            mtbf_s,
            recovery_s,
            downtime_s,
            during_recovery=during_recovery,
        )

    final_save_s = save_s if final_save else 0.0
    if segments == 1:  # the interval may be infinite, and 0 * inf is NaN
        return expected_s(useful_time_s, final_save_s)
    last_work_s = useful_time_s - (segments - 1) * interval_s
    return (segments - 1) * expected_s(interval_s, save_s) + expected_s(last_work_s, final_save_s)
