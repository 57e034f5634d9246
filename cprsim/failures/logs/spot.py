"""Availability traces of spot instances: how many nodes one could have at each tick."""

from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, Field, StrictInt

from cprsim.basics.tabular import LogPath
from cprsim.errors import LogError
from cprsim.failures.logs.json_log import parsed
from cprsim.failures.logs.log import FailureLog, Rows

_MOST_NODES = 999_999  # a typing error must not fill the memory


class _Metadata(BaseModel):
    gap_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]


class _Trace(BaseModel):
    metadata: _Metadata
    data: Annotated[list[Annotated[StrictInt, Field(ge=0, le=_MOST_NODES)]], Field(min_length=1)]


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
        failed, and are watched from the tick at which they come. Time 0 is the first tick; the last
        one is watched for as long as the others.

    Raises
    ------
    LogError
        If the file can't be read, is no such trace, or its number never falls.

    References
    ----------
    Z. Wu et al., "Can't be late: optimizing spot instance savings under deadlines", NSDI 2024;
    https://github.com/skypilot-org/spot-traces.
    """
    trace = parsed(path, _Trace, "a spot trace")
    gap_s, counts = trace.metadata.gap_seconds, np.array(trace.data)
    before, end_s = np.append(0, counts[:-1]), len(counts) * gap_s
    falls, rises = _changes(counts, before), _changes(before, counts)
    if falls.empty:
        raise LogError(f"{path}: holds no failure: the number of nodes in data never falls")
    rises["back_s"] = rises.tick * gap_s
    falls = pd.merge_asof(falls, rises, on="tick", by="node", direction="forward")
    return FailureLog(
        times_s=falls.tick.to_numpy() * gap_s,
        nodes=falls.node.to_numpy(),
        start_s=0.0,
        span_s=end_s,
        population=int(counts.max()),
        repaired_s=falls.back_s.to_numpy(),
        until_s=end_s,
        rows=Rows("ticks", len(counts), len(counts)),
        came_s=rises.groupby("node").back_s.min().to_numpy(),
        left_s=np.full(counts.max(), end_s),
    )


def _changes(low: NDArray[np.int64], high: NDArray[np.int64]) -> pd.DataFrame:
    """Return a row for each tick and node from `low` to below `high` there, both by tick."""
    sizes = np.maximum(high - low, 0)
    first = np.repeat(low - (np.cumsum(sizes) - sizes), sizes)
    tick = np.repeat(np.arange(len(sizes)), sizes)
    return pd.DataFrame({"tick": tick, "node": first + np.arange(len(first))})
