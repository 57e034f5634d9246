"""Spares: how long one waits for a machine."""

import math

from cprsim.closed_form.checks import check_duration


def share_waited(spares: float, away: float) -> float:
    """Mean wait for a machine, as a share of the delay until a lost one is replaced.

    Parameters
    ----------
    spares : float
        How many failures the pool bears before one has to wait; 0 for none.
    away : float
        Mean number of machines on their way to it, >= 0.

    Returns
    -------
    float
        Share, 0 to 1; 1 without spares.

    Notes
    -----
    Those on their way are as the guests of a service with room for all, so Poisson (Palm's
    theorem), and due at times uniform over the delay. With n of them the wait is for the
    (n - spares + 1)th of n, or for the own one. First order: nobody else waits.
    """
    check_duration(away=away)
    if spares <= 0:
        return 1.0
    share, likely = 0.0, math.exp(-away)
    for n in range(int(spares + 10 * (away + 5))):
        share += likely * max(n - spares + 1, 0.0) / (n + 1)
        likely *= away / (n + 1)
    return share
