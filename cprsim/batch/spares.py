"""How long lost nodes wait for others, lane by lane."""

import numpy as np

from cprsim.batch.lanes import Floats, Integers


class ConstantDelay:
    """The same delay after every failure."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s

    def at(self, lanes: Integers, index: Integers) -> Floats:  # noqa: ARG002
        """After the nth failure of each lane, s."""
        return np.full(len(lanes), self._delay_s)


class LaneSpares:
    """As `cprsim.sim.spares`: a pool of machines for each lane."""

    def __init__(self, lanes: int, count: int) -> None:
        self._ready_s = np.zeros((lanes, count))

    def wait_s(self, lanes: Integers, nodes: Integers, now_s: Floats, delay_s: Floats) -> Floats:
        """How long `nodes` lost nodes wait for others; in `delay_s` there will be as many again."""
        count = self._ready_s.shape[1]
        if not count:
            return delay_s
        most = int(nodes.max(initial=0))
        repaired_s = np.where(
            np.arange(most) < nodes[:, np.newaxis], (now_s + delay_s)[:, np.newaxis], np.inf
        )
        machines_s = np.sort(np.concatenate([self._ready_s[lanes], repaired_s], axis=1), axis=1)
        last_s = np.take_along_axis(machines_s, np.maximum(nodes - 1, 0)[:, np.newaxis], axis=1)
        left = nodes[:, np.newaxis] + np.arange(count)
        self._ready_s[lanes] = np.take_along_axis(machines_s, left, axis=1)
        return np.where(nodes > 0, np.maximum(last_s[:, 0] - now_s, 0.0), 0.0)
