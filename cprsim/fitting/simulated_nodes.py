"""Logs of nodes that live by a law, each at a pace of its own, for as long as a log was watched."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Floats, Sample


@dataclass(frozen=True)
class NodeModel:
    """Nodes that are of any age when they come, and down for a while after each failure.

    `variance`: of the gamma factor on each node's pace; 0 where all are alike. `outages`: of how
    long they are down; None where they are up again at once.
    """

    law: Distribution
    variance: float
    nodes: int
    span_s: float | Floats  # of all, or of each, shape (nodes,)
    outages: KaplanMeier | None

    def logs(self, count: int, seed: int) -> tuple[NDArray[np.int64], list[Sample]]:
        """So many logs: failures of each node, shape (count, nodes), and the later lives of each.

        As in a log, the time up to a node's first failure is none of its lives.
        """
        rng, size = np.random.default_rng(seed), (count, self.nodes)
        pace = rng.gamma(1 / self.variance, self.variance, size) if self.variance else np.ones(size)
        at_s = self.law.sample_left(rng, size) / np.maximum(pace, np.finfo(float).tiny)
        span_s = np.broadcast_to(self.span_s, self.nodes)
        log, node = np.nonzero(at_s < span_s)
        at_s, pace, failures = at_s[log, node], pace[log, node], np.zeros(size, np.int64)
        lives = [(np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_))]
        while len(log):
            np.add.at(failures, (log, node), 1)
            up_s = at_s + (0.0 if self.outages is None else self.outages.sample(rng, len(log)))
            at_s = up_s + np.maximum(self.law.sample(rng, len(log)), np.finfo(float).tiny) / pace
            failed, lasted_s = at_s < span_s[node], np.minimum(at_s, span_s[node]) - up_s
            lived = lasted_s > 0
            lives.append((log[lived], lasted_s[lived], failed[lived]))
            log, node, at_s, pace = log[failed], node[failed], at_s[failed], pace[failed]
        return failures, _samples(count, *map(np.concatenate, zip(*lives, strict=True)))


def _samples(
    count: int, log: NDArray[np.int64], lasted_s: Floats, observed: NDArray[np.bool_]
) -> list[Sample]:
    """Those of each log that has any life that failed."""
    order = np.argsort(log, kind="stable")
    by_log = np.split(order, np.searchsorted(log[order], np.arange(1, count)))
    return [Sample(lasted_s[rows], observed[rows]) for rows in by_log if observed[rows].any()]
