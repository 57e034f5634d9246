"""Silent faults, which a verification alone finds: exact times and intervals.

A. Benoit, A. Cavelan, Y. Robert, H. Sun, "Assessing general-purpose algorithms to cope with
fail-stop and silent errors", ACM TOPC 3(2), 2016. Training is verified and then saved; where a
fault is found, it returns to the checkpoint before. Silent faults strike training alone, what is
saved or verified never. `M` is the MTBF, `S` the mean training between silent faults.
"""

import math

from cprsim.closed_form.checks import check_duration, check_positive


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

    Parameters
    ----------
    work_s : float
        Training in the piece, s, >= 0.
    verify_s, save_s : float
        What verifying and saving it hold training up for, s, >= 0.
    mtbf_s : float
        Mean time between failures of the whole job, s, > 0.
    silent_mtbf_s : float
        Mean training between silent faults, s, > 0.
    load_s : float
        Loading a checkpoint, s, >= 0.
    downtime_s : float
        Time after a failure, before the load, in which nothing can fail, s, >= 0.

    Returns
    -------
    float
        Expected wall time, s.

    Notes
    -----
    Exact for exponential failures, which strike at any time but in a downtime, and exponential
    silent faults: `(M + D) exp((R + C)/M) [exp(W/S) (exp((W+V)/M) - 1) + (exp(W/S) - 1)
    (1 - exp(-R/M)) + 1 - exp(-C/M)]`. Without failures `exp(W/S) (W + V) + (exp(W/S) - 1) R + C`,
    the paper's Proposition 1.
    """
    check_duration(work_s=work_s, verify_s=verify_s, save_s=save_s, load_s=load_s)
    check_duration(downtime_s=downtime_s)
    check_positive(mtbf_s=mtbf_s, silent_mtbf_s=silent_mtbf_s)
    again = math.expm1(work_s / silent_mtbf_s)  # tries in vain, in the mean
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
    """Training between two saves, each of which is verified first, that wastes least.

    Parameters
    ----------
    verify_s, save_s, mtbf_s, silent_mtbf_s
        As in `verified_segment_s`, s.

    Returns
    -------
    float
        Training, s; infinite where nothing fails and no silent fault strikes.

    Notes
    -----
    `sqrt((V + C) / (1/S + 1/(2 M)))`, first order: a silent fault costs the whole interval, a
    failure half of it.
    """
    check_duration(verify_s=verify_s, save_s=save_s)
    check_positive(mtbf_s=mtbf_s, silent_mtbf_s=silent_mtbf_s)
    rate = 1 / silent_mtbf_s + 1 / (2 * mtbf_s)
    return math.sqrt((verify_s + save_s) / rate) if rate else math.inf
