"""Points of a sweep as they are stored, and what came of each policy there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


def of_all(errors: Mapping[str, str]) -> str:
    """Why a point failed at which all policies did, from the error of each."""
    return "\n".join(dict.fromkeys(errors.values()))


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point of a sweep, and whether it is finished (with so many `replications`) or failed.

    `errors`: why policies failed there, by name; the others have results where it is finished.
    """

    number: int
    values: dict[str, Any]
    key: str | None
    useful_time_s: float
    replications: int | None
    error: str | None
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether there are results."""
        return self.replications is not None and self.error is None

    def with_results(self, policies: Sequence[str]) -> list[str]:
        """Of these policies those that didn't fail there."""
        return [policy for policy in policies if policy not in self.errors]

    @property
    def to_do(self) -> bool:
        """Whether it is neither finished nor failed."""
        return not (self.finished or self.error)


@dataclass(frozen=True)
class PolicyPlan:
    """What is kept of a policy's plan at a point: what tables tell, and the best is judged by.

    `unmet_s`: as in `Plan`. `lossless`: whether no failure takes any learning for good.
    """

    policy: str
    system: str
    recovery: str
    interval_s: float
    unmet_s: float
    lossless: bool

    @property
    def kept(self) -> tuple[str, str, str, float, float, bool]:
        """All of that, in this order."""
        of_all = self.policy, self.system, self.recovery
        return *of_all, self.interval_s, self.unmet_s, self.lossless


@dataclass(frozen=True)
class Played(PolicyPlan):
    """What came of a policy at a point: its plan, and `MEASURES` by replications.

    `corrupt`: the share of them that end with a silent fault in what was trained.
    """

    measures: NDArray[np.float64]
    corrupt: float = 0.0
