"""Availability traces of spot instances: how many nodes one could have at each tick."""

import math
from array import array

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath, number, opened, shown
from cprsim.errors import LogError
from cprsim.failures.logs.json_scanner import JsonScanner
from cprsim.failures.logs.log import FailureLog

_GAP = "metadata.gap_seconds"


def read_spot(path: LogPath) -> FailureLog:
    """Failures of the nodes of a spot trace: one JSON object with metadata.gap_seconds and data.

    `data` holds how many nodes are available at each tick, `gap_seconds` is the time from one tick
    to the next. Other keys are skipped.

    Parameters
    ----------
    path
        The trace; plain, or compressed with a name that ends in `.gz` or `.xz`.

    Returns
    -------
    FailureLog
        Where the number falls by k, the k available nodes with the highest numbers fail at that
        instant; where it rises, the missing ones with the lowest numbers come back. Which node it
        is, is a convention (last come, first gone), since such a trace only counts. The
        population is the largest number; nodes that aren't there at the first tick have not
        failed. Time 0 is the first tick; the last one is watched for as long as the others.

    Raises
    ------
    LogError
        If the file can't be read, is no such trace, or its number never falls.

    References
    ----------
    Z. Wu et al., "Can't be late: optimizing spot instance savings under deadlines", NSDI 2024;
    https://github.com/skypilot-org/spot-traces.
    """
    gap_s: float | None = None
    fleet: _Fleet | None = None
    with opened(path) as file:
        json = JsonScanner(path, file)
        for key in json.members():
            if key == b'"metadata"':
                gap_s = _gap(json)
            elif key == b'"data"':
                if fleet is not None:
                    raise json.fault("has data twice")
                fleet = _Fleet()
                for counts in json.counts():
                    fleet.follow(counts)
            else:
                json.skip()
        json.end()
    if gap_s is None:
        raise LogError(f"{path}: has no {_GAP}, the seconds from one tick to the next")
    if fleet is None:
        raise LogError(f"{path}: has no data, the numbers of nodes available at each tick")
    if not fleet.fell:
        raise LogError(f"{path}: holds no failure: the number of nodes in data never falls")
    return fleet.log(gap_s)


def _gap(json: JsonScanner) -> float | None:
    """gap_seconds of the metadata that come next."""
    gap_s = None
    for key in json.members():
        if key != b'"gap_seconds"':
            json.skip()
            continue
        text = json.token().decode(errors="replace")
        gap_s = number(text)
        if gap_s is None or not 0 < gap_s < math.inf:
            raise json.fault(f"{_GAP} is {shown(text)}; it needs a positive number of seconds")
    return gap_s


class _Fleet:
    """The nodes 0 to `available` - 1 are there; the others have gone, or never came."""

    def __init__(self) -> None:
        self.ticks = self.available = 0
        self.falls = list[int]()  # of each node that was ever there: its last failure, or -1
        # Of each failure: at which tick, which node, and when it was back, or -1.
        self.fell, self.nodes, self.back = array("q"), array("q"), array("q")

    def follow(self, counts: NDArray[np.int64]) -> None:
        """What happens over the ticks that come next."""
        if not self.ticks:
            self.change(0, int(counts[0]))
        changed = np.flatnonzero(np.diff(counts, prepend=self.available))
        for tick, count in zip(changed.tolist(), counts[changed].tolist(), strict=True):
            self.change(self.ticks + tick, count)
        self.ticks += len(counts)

    def change(self, tick: int, count: int) -> None:
        for node in range(count, self.available):
            self.falls[node] = len(self.fell)
            self.fell.append(tick)
            self.nodes.append(node)
            self.back.append(-1)
        for node in range(self.available, count):
            if node == len(self.falls):
                self.falls.append(-1)
            elif self.falls[node] >= 0:
                self.back[self.falls[node]] = tick
        self.available = count

    def log(self, gap_s: float) -> FailureLog:
        back = np.asarray(self.back)
        return FailureLog(
            times_s=np.asarray(self.fell) * gap_s,
            nodes=np.asarray(self.nodes),
            start_s=0.0,
            span_s=self.ticks * gap_s,
            population=len(self.falls),
            repaired_s=np.where(back < 0, np.nan, back * gap_s),
            until_s=self.ticks * gap_s,
        )
