"""Effective training time ratio (ETTR) of a job on many machines, after Meta.

Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters",
HPCA'25 (arXiv 2410.21680).
"""

import math

from cprsim.closed_form.checks import check_duration, check_positive
from cprsim.closed_form.makespan import blocking_segment_s

_DAY_S = 86_400.0


def mttf_s(nodes: int, failures_per_node_day: float) -> float:
    """Mean time to failure of a job that any of its nodes can stop.

    Parameters
    ----------
    nodes : int
        Nodes of the job (of 8 GPUs each in the paper), >= 1.
    failures_per_node_day : float
        Failures per node and day, >= 0; the paper's RSC-1 has 6.50e-3, RSC-2 2.34e-3.

    Returns
    -------
    float
        Mean time, s; infinite for a rate of 0.

    Notes
    -----
    `1 / (N r)`, exact for independent nodes with exponential failures.
    """
    if not nodes >= 1:
        raise ValueError(f"nodes must be >= 1, got {nodes}")
    check_duration(failures_per_node_day=failures_per_node_day)
    failures_per_day = nodes * failures_per_node_day
    return math.inf if failures_per_day == 0 else _DAY_S / failures_per_day


def meta_ettr(
    interval_s: float,
    save_s: float,
    failures_per_node_day: float,
    nodes: int,
    initialisation_s: float,
) -> float:
    """Meta's approximate ETTR: useful time over wall time, queueing left out.

    Parameters
    ----------
    interval_s : float
        Work between two saves, s, > 0; infinite for none.
    save_s : float
        Time that one save stops the training, s, >= 0.
    failures_per_node_day, nodes
        As in `mttf_s`.
    initialisation_s : float
        Restart and loading after a failure, s, >= 0.

    Returns
    -------
    float
        ETTR, at most 1; below 0, and then meaningless, where failures come too fast for it.

    Notes
    -----
    `(1 - N r (u0 + tau/2)) / (1 + w/tau)`, first order in the failure rate.
    """
    job_mttf_s = mttf_s(nodes, failures_per_node_day)
    check_positive(interval_s=interval_s)
    check_duration(save_s=save_s, initialisation_s=initialisation_s)
    lost_s = initialisation_s + interval_s / 2
    # An infinite MTTF would meet the infinite interval as NaN.
    lost_share = 0.0 if math.isinf(job_mttf_s) else lost_s / job_mttf_s
    return (1 - lost_share) / (1 + save_s / interval_s)


def exact_ettr(
    interval_s: float,
    save_s: float,
    failures_per_node_day: float,
    nodes: int,
    initialisation_s: float,
) -> float:
    """Exact counterpart of `meta_ettr` for a long run.

    Parameters
    ----------
    interval_s, save_s, failures_per_node_day, nodes, initialisation_s
        As in `meta_ettr`.

    Returns
    -------
    float
        ETTR, 0 to 1.

    Notes
    -----
    `tau / ((M + u0) (exp((tau + w)/M) - 1))`: exact for exponential failures, blocking saves and
    an initialisation in which nothing fails.
    """
    job_mttf_s = mttf_s(nodes, failures_per_node_day)
    check_positive(interval_s=interval_s)
    check_duration(save_s=save_s, initialisation_s=initialisation_s)
    if math.isinf(interval_s):  # all of the work, or none of it, is kept
        return 1.0 if math.isinf(job_mttf_s) else 0.0
    return interval_s / blocking_segment_s(
        interval_s, save_s, job_mttf_s, initialisation_s, during_recovery=False
    )
