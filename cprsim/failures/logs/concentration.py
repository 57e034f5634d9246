"""How unevenly failures are spread over nodes."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import LogError, UsageError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.views import nodes_of


def failures_per_node(log: FailureLog) -> NDArray[np.int64]:
    """How often each node of `views.nodes_of` fails, those that never fail last, shape (nodes,)."""
    _, failing = np.unique(log.machines, return_inverse=True)
    return np.bincount(failing, minlength=nodes_of(log))


def worst_share(counts: NDArray[np.int64], tenth: float = 0.1) -> float:
    """Share of all failures that the worst tenth of nodes has, from 0 to 1.

    Where a tenth is no whole number of nodes, a part of the next worst one counts, in proportion:
    a point of the Lorenz curve, which is linear between nodes.

    Parameters
    ----------
    counts
        Failures of each node, those that never failed included as 0, in any order, shape (nodes,).
    tenth
        Share of the nodes that are the worst, from 0 to 1.

    Raises
    ------
    UsageError
        If `tenth` is outside 0 to 1, or there is no failure to share out.

    References
    ----------
    M. O. Lorenz, "Methods of measuring the concentration of wealth", Publications of the American
    Statistical Association 9, 1905.
    """
    if not 0 <= tenth <= 1:
        raise UsageError(f"the share of the worst nodes is {tenth:g}; it is from 0 to 1")
    if not counts.sum() > 0:
        raise UsageError("no node fails: there is nothing that the worst ones have a share of")
    curve = np.concatenate([[0], np.cumsum(np.sort(counts)[::-1])])
    return float(np.interp(tenth * len(counts), np.arange(len(curve)), curve) / curve[-1])


def without_worst(log: FailureLog, count: int) -> FailureLog:
    """The log of the other nodes, had the `count` that fail most often not been there.

    Of nodes that fail alike, those with the smaller number go first. Who is left out is known by
    hindsight, so the others failed less than they will: a node that failed often was also unlucky.

    Raises
    ------
    LogError
        If no more nodes than that fail.
    """
    machines = log.machines
    failing, failures = np.unique(machines, return_counts=True)
    if count >= len(failing):
        raise LogError(
            f"exclude_worst is {count}, and {len(failing)} nodes fail in the log; leave out fewer"
        )
    worst = np.sort(failing[np.argsort(-failures, kind="stable")[:count]])
    rows = np.flatnonzero(~np.isin(machines, worst))
    rest = log.only(rows)
    # Nodes are numbered by kind: those of one close the gaps that it has.
    before = np.searchsorted(worst, machines) - np.searchsorted(worst, machines - log.nodes)
    population = None if log.population is None else log.population - count
    return replace(rest, nodes=rest.nodes - before[rows], population=population)
