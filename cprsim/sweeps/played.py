"""Points of a sweep as they are stored, and what came of each policy there."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StoredPoint:
    """A point of a sweep, and whether it is finished or failed."""

    number: int
    values: dict[str, Any]
    key: str | None
    useful_time_s: float
    finished: bool
    error: str | None


@dataclass(frozen=True)
class Played:
    """What came of a policy at a point: its plan, and `MEASURES` by replications."""

    policy: str
    system: str
    recovery: str
    interval_s: float
    measures: NDArray[np.float64]
