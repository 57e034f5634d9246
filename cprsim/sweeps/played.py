"""Points of a sweep as they are stored, and what came of each policy there."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point of a sweep, and whether it is finished (with so many `replications`) or failed."""

    number: int
    values: dict[str, Any]
    key: str | None
    useful_time_s: float
    replications: int | None
    error: str | None

    @property
    def finished(self) -> bool:
        """Whether there are results."""
        return self.replications is not None and self.error is None


@dataclass(frozen=True)
class Played:
    """What came of a policy at a point: its plan, as in `PlanRow`, and `MEASURES` by replications.

    `corrupt`: the share of them that end with a silent fault in what was trained.
    """

    policy: str
    system: str
    recovery: str
    interval_s: float
    unmet_s: float
    lossless: bool
    measures: NDArray[np.float64]
    corrupt: float = 0.0
