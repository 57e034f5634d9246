"""How much time of a node a failure comes on: what the mean of a law of lives is held against."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.failures.logs.log import FailureLog
from cprsim.survival.sample import Floats, Sample

_NORMAL_95 = 1.959964  # 97.5 % quantile of the normal law


class NodeTime(NamedTuple):
    """Up time of nodes per failure, seconds, counted in two ways that err on opposite sides.

    `after_first_s`: from each node's first repair on, which leaves out nodes that never failed.
    `of_all_s`: of all `nodes` from the start of the log, which counts those that came later as if
    they had been there. `low_s`, `high_s`: the ends of both 95 % intervals together, those of ratio
    estimators (W. G. Cochran, Sampling Techniques, 1977, section 6.3) over lives and over nodes.
    """

    after_first_s: float
    of_all_s: float
    nodes: int
    low_s: float
    high_s: float


def node_time(log: FailureLog, own: NDArray[np.bool_], lives: Sample) -> NodeTime:
    """That of a log; `own`: failures that end a life by themselves, shape (n,)."""
    up_s, failures = _by_node(log, own)
    after = lives.mtbf_s, *_interval(lives.durations_s, lives.observed)
    of_all = float(up_s.sum() / failures.sum()), *_interval(up_s, failures)
    return NodeTime(
        after[0], of_all[0], len(up_s), min(after[1], of_all[1]), max(after[2], of_all[2])
    )


def _by_node(log: FailureLog, own: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.int64]]:
    """Up time, seconds, and failures while up of each node, those that never failed last."""
    failing, machines = np.unique(log.machines, return_inverse=True)
    nodes = len(failing) if log.population is None else max(log.population, len(failing))
    until_s = log.start_s + log.span_s if log.until_s is None else log.until_s
    up_s, failures = np.full(nodes, until_s - log.start_s), np.zeros(nodes, np.int64)
    repaired = log.times_s if log.repaired_s is None else log.repaired_s
    ends = np.where(np.isnan(repaired), log.times_s, np.minimum(repaired, until_s)).tolist()
    since = np.full(nodes, -math.inf)
    for row, (node, at_s) in enumerate(zip(machines.tolist(), log.times_s.tolist(), strict=True)):
        failures[node] += at_s > since[node] and own[row]
        up_s[node] -= max(ends[row] - max(at_s, since[node]), 0.0)
        since[node] = max(since[node], ends[row])
    return up_s, failures


def _interval(times_s: Floats, failures: NDArray[np.generic]) -> tuple[float, float]:
    """95 % interval of the sum of times over that of failures, from its error on a log scale.

    Of a single pair there is no telling.
    """
    if len(times_s) == 1:
        return 0.0, math.inf
    ratio = times_s.sum() / failures.sum()
    apart = times_s - ratio * failures
    se = math.sqrt(len(apart)) * float(apart.std(ddof=1)) / float(failures.sum())
    factor = math.exp(_NORMAL_95 * se / ratio)
    return float(ratio / factor), float(ratio * factor)
