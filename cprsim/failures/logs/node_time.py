"""What a log shows of each node, and how much time of a node a failure comes on."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.outages import merged
from cprsim.survival.fitted_laws import log_interval
from cprsim.survival.frailty import Histories
from cprsim.survival.sample import Floats, Sample

#: Failures of a node from which on few nodes never fail.
_OFTEN = 3.0


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


class NodeTime(NamedTuple):
    """Up time of nodes per failure, seconds, counted in two ways that err on opposite sides.

    `after_first_s`: from each node's first repair on, which leaves out nodes that never failed.
    `of_all_s`: of all `nodes` from the start of the log, which counts those that came later as if
    they had been there. Where the log doesn't tell how many there are, `is_counted` is False, and
    `unseen` of them are estimated to have never failed, from those that failed once and twice
    (A. Chao, Scand. J. Statist. 11, 1984). `low_s`, `high_s`: the ends of both 95 % intervals
    together, those of ratio estimators (W. G. Cochran, Sampling Techniques, 1977, section 6.3) over
    lives and over nodes; of lives alone where there is but one node. `high_s` is infinite where
    nodes aren't counted and failed less than three times each: any number may have been missed.
    """

    after_first_s: float
    of_all_s: float
    nodes: int
    unseen: int
    is_counted: bool
    low_s: float
    high_s: float

    def document(self) -> dict[str, Any]:
        """As one JSON object; `high_s` is None where it is infinite."""
        return self._asdict() | {"high_s": self.high_s if math.isfinite(self.high_s) else None}


def node_time(log: FailureLog, own: NDArray[np.bool_], lives: Sample) -> NodeTime:
    """That of a log; `own`: failures that end a life by themselves, shape (n,)."""
    failing = len(np.unique(log.machines))
    each = histories(log, own, max(log.population or 0, failing))
    up_s, failures = each.watched_s, each.ended
    unseen = never_seen(failures) if log.population is None else 0
    up_s = np.append(up_s, np.full(unseen, log.until_s - log.start_s))
    failures = np.append(failures, np.zeros(unseen, np.int64))
    ends = [_interval(lives.durations_s, lives.observed)]
    if len(up_s) > 1:
        ends.append(_interval(up_s, failures))
    if log.population is None and failures.sum() < _OFTEN * len(up_s):
        ends.append((math.inf, math.inf))
    lows, highs = zip(*ends, strict=True)
    of_all_s = float(up_s.sum() / failures.sum())
    return NodeTime(
        lives.mtbf_s, of_all_s, len(up_s), unseen, log.population is not None, min(lows), max(highs)
    )


def never_seen(failures: NDArray[np.int64]) -> int:
    """Nodes that never failed, by Chao's estimate from those that failed once and twice."""
    once, twice = (int(np.count_nonzero(failures == count)) for count in (1, 2))
    return round(once * (once - 1) / (2 * (twice + 1)))


def _interval(times_s: Floats, failures: NDArray[np.generic]) -> tuple[float, float]:
    """95 % interval of the sum of times over that of failures, from its error on a log scale.

    Of a single pair there is no telling.
    """
    if len(times_s) == 1:
        return 0.0, math.inf
    ratio = times_s.sum() / failures.sum()
    apart = times_s - ratio * failures
    se = math.sqrt(len(apart)) * float(apart.std(ddof=1)) / float(failures.sum())
    return log_interval(float(ratio), se)
