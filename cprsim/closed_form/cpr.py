"""The CPR paper's first-order overheads and its portion of lost samples (PLS).

Maeng et al., "Understanding and Improving Failure Tolerant Training for Deep Learning
Recommendation with Partial Recovery", MLSys'21. Equation numbers E1-E6 are those of the project's
notes on the paper. The exact counterparts are in `makespan`.
"""

import math
from dataclasses import dataclass

from cprsim.closed_form.checks import check_duration, check_positive, hit_fraction


@dataclass(frozen=True, slots=True)
class FirstOrder:
    """Overhead by cause, each as a share of the useful time (0.05 is 5 %).

    Attributes
    ----------
    save : float
        Time spent saving.
    recovery : float
        Time spent detecting, rescheduling and loading.
    lost : float
        Time spent repeating work that a failure undid.
    """

    save: float
    recovery: float
    lost: float

    @property
    def overhead(self) -> float:
        """All three together."""
        return self.save + self.recovery + self.lost


def full_overhead(interval_s: float, save_s: float, recovery_s: float, mtbf_s: float) -> FirstOrder:
    """Overhead of full recovery, where every failure sends the whole job back to its last save.

    Parameters
    ----------
    interval_s : float
        Work between two saves, s, > 0; infinite for none.
    save_s : float
        Time that one save stops the training, s, >= 0.
    recovery_s : float
        Detection, rescheduling and loading per failure, s, >= 0.
    mtbf_s : float
        Mean time between failures of the whole job, s, > 0.

    Returns
    -------
    FirstOrder
        Shares of the useful time.

    Notes
    -----
    `save/tau + (R + tau/2)/M`: CPR equation E1 over T_total. First order: it counts exactly
    T_total/M failures, none of them in a save, a recovery or repeated work. A job that fails and
    never saves has an infinite `lost`, for want of a T_total; pass T_total as the interval.
    """
    share = partial_overhead(interval_s, save_s, recovery_s, mtbf_s)
    return FirstOrder(share.save, share.recovery, _stale_share(interval_s, mtbf_s))


def partial_overhead(
    interval_s: float, save_s: float, recovery_s: float, mtbf_s: float
) -> FirstOrder:
    """Overhead of partial recovery, where only the failed servers go back to their last save.

    Parameters
    ----------
    interval_s, save_s, mtbf_s
        As in `full_overhead`, s.
    recovery_s : float
        Detection, rescheduling and loading per failure, s, >= 0; loads the failed servers alone.

    Returns
    -------
    FirstOrder
        Shares of the useful time; `lost` is 0, as lost updates are counted by PLS instead.

    Notes
    -----
    `save/tau + R/M`: CPR equation E2 over T_total, first order.
    """
    check_positive(interval_s=interval_s, mtbf_s=mtbf_s)
    check_duration(save_s=save_s, recovery_s=recovery_s)
    return FirstOrder(save=save_s / interval_s, recovery=recovery_s / mtbf_s, lost=0.0)


def expected_pls(interval_s: float, mtbf_s: float, servers: int, servers_hit: float = 1.0) -> float:
    """Expected portion of lost samples over a run under partial recovery.

    Parameters
    ----------
    interval_s, mtbf_s
        As in `full_overhead`, s.
    servers : int
        Embedding parameter servers, >= 1.
    servers_hit : float
        Mean number of servers that one failure takes down, 0 to `servers`.

    Returns
    -------
    float
        PLS, the same for a run of any length.

    Notes
    -----
    `k tau / (2 M N)`: CPR equation E5, times k. First order: exact only for free saves, see
    `pls.mean_pls`. A sample lost twice by the same server counts twice.
    """
    check_positive(interval_s=interval_s, mtbf_s=mtbf_s)
    fraction = hit_fraction(servers, servers_hit)
    # No server hit means no loss, however stale its save is; inf * 0 would say NaN.
    return 0.0 if fraction == 0 else _stale_share(interval_s, mtbf_s) * fraction


def _stale_share(interval_s: float, mtbf_s: float) -> float:
    """Mean age of a save at a failure, half an interval, per time between failures."""
    return 0.0 if math.isinf(mtbf_s) else interval_s / 2 / mtbf_s
