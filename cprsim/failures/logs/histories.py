"""What a log shows of each node, from the start of the watch to its end."""

import numpy as np
from numpy.typing import NDArray

from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.outages import merged
from cprsim.survival.alike import Histories


def histories(log: FailureLog, own: NDArray[np.bool_], nodes: int) -> Histories:
    """Up times of all nodes, those that never failed among them, which come last.

    Outages of a node that touch or overlap are one. One with no known end takes no time; none goes
    on after the watch of its node.

    Parameters
    ----------
    log
        The log.
    own
        Whether each failure ends a life by itself, shape (n,); others cut one short.
    nodes
        How many there are, those that never failed included.
    """
    _, failing = np.unique(log.machines, return_inverse=True)
    repaired_s = log.times_s if log.repaired_s is None else log.repaired_s
    ends_s = np.minimum(repaired_s, log.left(log.machines))
    stops_s = np.where(np.isnan(repaired_s), log.times_s, ends_s)
    rows, up_s = merged(failing, log.times_s, stops_s)
    node = failing[rows]
    down_s = log.times_s[rows]
    opens, closes = np.diff(node, prepend=-1) > 0, np.diff(node, append=nodes) > 0

    numbers = np.unique(log.machines)
    numbers = np.append(numbers, np.setdiff1d(np.arange(nodes), numbers)[: nodes - len(numbers)])
    came_s, left_s = log.came(numbers), log.left(numbers)
    first_s, failed = left_s - came_s, np.zeros(nodes, np.bool_)
    first_s[node[opens]] = np.maximum(down_s[opens] - came_s[node[opens]], 0.0)
    failed[node[opens]] = own[rows[opens]]
    until_s = np.where(closes, left_s[node], np.roll(down_s, -1))
    observed = ~closes & own[np.roll(rows, -1)]
    lasted_s = until_s - up_s
    lived = lasted_s > 0
    return Histories(first_s, failed, lasted_s[lived], observed[lived], node[lived])
