"""How often to save: the work between two saves that each theory calls best."""

import math

from cprsim.closed_form.checks import check_duration, check_positive, hit_fraction

#: Shares of a sum below which lies only the rounding of what was added up to it.
ROUNDING = 1e-12


def whole_periods(time: float, period: float) -> int:
    """How many periods fit into a time; 0.1 fits three times into 0.3, whatever floats say."""
    return math.floor(time / period * (1 + ROUNDING))


def young_interval_s(save_s: float, mtbf_s: float) -> float:
    """Young's interval, the optimum of the first-order overhead of full recovery.

    Parameters
    ----------
    save_s : float
        Time that one save stops the training, s, >= 0.
    mtbf_s : float
        Mean time between failures of the whole job, s, > 0.

    Returns
    -------
    float
        Work between two saves, s; infinite without failures.

    Notes
    -----
    `sqrt(2 save M)`, first order: Young (CACM 1974); CPR (MLSys'21) equation E3.
    """
    check_duration(save_s=save_s)
    check_positive(mtbf_s=mtbf_s)
    # Without failures a free save is as useless as a dear one; 0 * inf would say NaN.
    return math.inf if math.isinf(mtbf_s) else young_s(save_s, mtbf_s)


def young_s(save_s: float, mtbf_s: float) -> float:
    """`young_interval_s` of numbers that are known to be sound, and finite."""
    return math.sqrt(2 * save_s * mtbf_s)


def daly_interval_s(save_s: float, mtbf_s: float, recovery_s: float = 0.0) -> float:
    """Daly's first-order interval, which counts the save and the recovery.

    Parameters
    ----------
    save_s, mtbf_s
        As in `young_interval_s`, s.
    recovery_s : float
        Time from a failure until training goes on, s, >= 0.

    Returns
    -------
    float
        Work between two saves, s; infinite without failures.

    Notes
    -----
    `sqrt(2 save (M + R)) - save` for `save < M/2`, else `M`. First order: Daly (FGCS 2006).
    Beyond that bound the series fails, and at last turns negative. The exact optimum doesn't
    depend on the recovery; `exact_interval_s` is the better choice.
    """
    check_duration(save_s=save_s, recovery_s=recovery_s)
    check_positive(mtbf_s=mtbf_s)
    if math.isinf(mtbf_s) or save_s >= mtbf_s / 2:
        return mtbf_s
    return math.sqrt(2 * save_s * (mtbf_s + recovery_s)) - save_s


def daly_higher_order_interval_s(save_s: float, mtbf_s: float) -> float:
    """Daly's higher-order interval, the usual stand-in for the exact optimum.

    Parameters
    ----------
    save_s, mtbf_s
        As in `young_interval_s`, s.

    Returns
    -------
    float
        Work between two saves, s; infinite without failures.

    Notes
    -----
    `sqrt(2 save M) [1 + sqrt(save/2M)/3 + (save/2M)/9] - save` for `save < 2M`, else `M`:
    Daly (FGCS 2006). Its makespan is within 0.2 % of the optimum.
    """
    check_duration(save_s=save_s)
    check_positive(mtbf_s=mtbf_s)
    if math.isinf(mtbf_s) or save_s >= 2 * mtbf_s:
        return mtbf_s
    ratio = save_s / (2 * mtbf_s)
    return math.sqrt(2 * save_s * mtbf_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save_s


def exact_interval_s(save_s: float, mtbf_s: float) -> float:
    """Interval that minimises the expected wall time per unit of work.

    Parameters
    ----------
    save_s, mtbf_s
        As in `young_interval_s`, s. For an asynchronous save give the stall alone, and don't go
        under the persist time where only one save may be under way.

    Returns
    -------
    float
        Work between two saves, s; infinite without failures, zero where saves are free.

    Notes
    -----
    `M (1 + W0(-exp(-1 - save/M)))` with Lambert's W: exact for exponential failures, whatever
    recovery, downtime and persist time are (Daly 2006; Bougeret et al., SC'11).
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


def pls_interval_s(
    target_pls: float, mtbf_s: float, servers: int, servers_hit: float = 1.0
) -> float:
    """CPR's interval: the rarest saving that keeps the expected PLS at its target.

    Parameters
    ----------
    target_pls : float
        Portion of lost samples to aim at (0.1 is 10 %), > 0.
    mtbf_s : float
        Mean time between failures of the whole job, s, > 0.
    servers : int
        Embedding parameter servers, >= 1.
    servers_hit : float
        Mean number of servers that one failure takes down, 0 to `servers`.

    Returns
    -------
    float
        Work between two saves, s; infinite without failures or where no failure hits a server.

    Notes
    -----
    `2 PLS N M / k`, first order: CPR (MLSys'21) equation E6, the inverse of E5. The paper as
    recalled has k = 1; with k servers down at once every one of them adds its share.
    """
    check_positive(target_pls=target_pls, mtbf_s=mtbf_s)
    fraction = hit_fraction(servers, servers_hit)
    return math.inf if fraction == 0 else 2 * target_pls * mtbf_s / fraction
