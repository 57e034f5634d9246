"""Two levels of checkpoints: near ones for the common failures, far ones for the rest.

Near is cheap and lost in a bad failure (a peer's memory, say); far survives everything (a remote
store). A pattern is `segments` pieces of work; each but the last ends with a near save, the last
with a far one, which takes the place of a near one.
"""

import math
from collections.abc import Sequence

from cprsim.closed_form.checks import check_duration


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
    """Expected wall time of one pattern, from one far save to the next.

    Parameters
    ----------
    segments : int
        Pieces of work in the pattern, n, >= 1.
    work_s : float
        Work in each, s, >= 0.
    near_save_s, far_save_s : float
        Time that a near or far save stops the training, s, >= 0.
    near_rate, far_rate : float
        Failures per second that a near checkpoint repairs, or a far one only, >= 0.
    near_load_s, far_load_s : float
        Time from such a failure until training goes on, s, >= 0. Nothing fails meanwhile.

    Returns
    -------
    float
        Expected wall time, s; infinite where it no longer fits a float.

    Notes
    -----
    `E_i = M (1 - q_i) + q_i E_{i+1} + (1 - q_i) [p1 (R1 + E_i) + p2 (R2 + E_1)]` and
    `E_{n+1} = 0`, where `E_i` is the time to the end from the start of segment i, `1/M` the sum of
    both rates, `p1` and `p2` their shares of it, `q_i = exp(-L_i / M)`, and `L_i` the work plus
    the save that ends the segment: near for i < n, far for i = n. Exact for exponential failures
    (Moody et al., SC'10, and Benoit et al., 2017, treat the same pattern).
    """
    if not segments >= 1:
        raise ValueError(f"segments must be >= 1, got {segments}")
    check_duration(work_s=work_s, near_save_s=near_save_s, far_save_s=far_save_s)
    check_duration(near_rate=near_rate, far_rate=far_rate)
    check_duration(near_load_s=near_load_s, far_load_s=far_load_s)
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

    Parameters
    ----------
    rates : sequence of float
        Failures per second that each level is the cheapest to repair, >= 0.
    saves_s : sequence of float
        Time that a save to that level stops the training, s, >= 0.

    Returns
    -------
    float
        Overhead; 0.05 is 5 %.

    Notes
    -----
    `sum_l sqrt(2 lambda_l C_l)`, first order: Benoit et al. (2017). Loading isn't counted, and
    every save to a level is paid on top of those to the cheaper ones. For one level it is the
    overhead at Young's interval.
    """
    if len(rates) != len(saves_s):
        raise ValueError(f"saves_s must be as many as rates, {len(rates)}, got {len(saves_s)}")
    for rate, save_s in zip(rates, saves_s, strict=True):
        check_duration(rates=rate, saves_s=save_s)
    return math.fsum(math.sqrt(2 * rate * c) for rate, c in zip(rates, saves_s, strict=True))
