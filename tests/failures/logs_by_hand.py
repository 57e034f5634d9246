"""Failure logs of a few lines."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cprsim.failures.logs.log import FailureLog


def log_of(
    times: Sequence[float],
    nodes: Sequence[int] | None = None,
    repaired: Sequence[float] | None = None,
    span: float | None = None,
    **more: Any,
) -> FailureLog:
    """Failures at these times, in order; of node 0 if not told.

    Watched for `span` from 0 s on; from the first failure to the last if not given.
    """
    times_s = np.asarray(times, float)
    first, last = float(times_s[0]), float(times_s[-1])
    return FailureLog(
        times_s=times_s,
        nodes=np.zeros(len(times_s), int) if nodes is None else np.asarray(nodes),
        start_s=first if span is None else 0.0,
        span_s=last - first if span is None else span,
        repaired_s=None if repaired is None else np.asarray(repaired, float),
        **more,
    )
