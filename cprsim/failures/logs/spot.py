"""Availability traces of spot instances: how many nodes one could have at each tick."""

import sys
from array import array

import numpy as np

from cprsim.basics.tabular import LogPath
from cprsim.errors import LogError
from cprsim.failures.logs.json_log import parsed, told
from cprsim.failures.logs.log import FailureLog, Rows

_GAP = "metadata.gap_seconds"
_MOST_NODES = 999_999  # a typing error must not fill the memory


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
    trace = parsed(path, dict, "a spot trace", "metadata and data")
    gap_s, counts = _gap(path, trace.get("metadata")), _counts(path, trace.get("data"))
    # Of each failure: at which tick, which node, and when it was back, or -1.
    fell, nodes, back = array("q"), array("q"), array("q")
    falls = list[int]()  # of each node that was ever there: its last failure, or -1
    available = 0  # the nodes 0 to `available` - 1 are there; the others have gone, or never came
    for tick, count in enumerate(counts):
        for node in range(count, available):
            falls[node] = len(fell)
            fell.append(tick)
            nodes.append(node)
            back.append(-1)
        for node in range(available, count):
            if node == len(falls):
                falls.append(-1)
            elif falls[node] >= 0:
                back[falls[node]] = tick
        available = count
    if not fell:
        raise LogError(f"{path}: holds no failure: the number of nodes in data never falls")
    repaired = np.asarray(back)
    return FailureLog(
        times_s=np.asarray(fell) * gap_s,
        nodes=np.asarray(nodes),
        start_s=0.0,
        span_s=len(counts) * gap_s,
        population=len(falls),
        repaired_s=np.where(repaired < 0, np.nan, repaired * gap_s),
        until_s=len(counts) * gap_s,
        rows=Rows("ticks", len(counts), len(counts)),
    )


def _gap(path: LogPath, metadata: object) -> float:
    """Seconds from one tick to the next."""
    if not isinstance(metadata, dict) or "gap_seconds" not in metadata:
        raise LogError(f"{path}: has no {_GAP}, the seconds from one tick to the next")
    gap_s = metadata["gap_seconds"]
    if type(gap_s) not in (int, float) or not 0 < gap_s <= sys.float_info.max:
        found = told(gap_s)
        raise LogError(f"{path}: {_GAP} is {found}; it needs a positive number of seconds")
    return float(gap_s)


def _counts(path: LogPath, data: object) -> list[int]:
    """Numbers of nodes, a tick each."""
    if not isinstance(data, list) or not data:
        raise LogError(f"{path}: has no data, the list of numbers of nodes available at each tick")
    for tick, count in enumerate(data):
        if type(count) is not int or not 0 <= count <= _MOST_NODES:
            raise LogError(
                f"{path}: tick {tick} of data is {told(count)}; "
                f"it needs a number of nodes, 0 to {_MOST_NODES}"
            )
    return data
