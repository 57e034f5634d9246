"""The CPR paper's portion of lost samples (PLS), to first order.

Maeng et al., "Understanding and Improving Failure Tolerant Training for Deep Learning
Recommendation with Partial Recovery", MLSys'21. Equation numbers E1-E6 are those of the project's
notes on the paper. The exact counterpart is in `pls`.
"""

import math

from cprsim.closed_form.checks import check_positive, hit_fraction


def expected_pls(interval_s: float, mtbf_s: float, servers: int, servers_hit: float = 1.0) -> float:
    """Expected portion of lost samples over a run under partial recovery.

    Parameters
    ----------
    interval_s : float
        Work between two saves, s, > 0; infinite for none.
    mtbf_s : float
        Mean time between failures of the whole job, s, > 0.
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
    if fraction == 0 or math.isinf(mtbf_s):
        return 0.0
    return interval_s / 2 / mtbf_s * fraction
