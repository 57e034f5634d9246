"""Upper limits on what a candidate may lose or need."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from cprsim.errors import UsageError

#: Measures that are bounded, in words.
_IN_WORDS = {
    "pls": "PLS",
    "updates_lost": "updates lost",
    "learning_lost": "learning lost",
    "learning_lost_p95": "learning lost (95th percentile)",
    "auc_drop": "drop of AUC",
}
#: A limit on restarts: each failure takes one, and 95 % of all runs may need no more.
RESTARTS = "failures_p95"
#: Ends the name of a measure whose 95th percentile is bounded, and not its mean.
_P95 = "_p95"


class Bound(NamedTuple):
    """An upper limit, `most`, on the mean of a `measure` or on its 95th percentile.

    The measure is never less than 0. The percentile is within the limit where no more than 5 % of
    all replications exceed it: so that is bounded like a mean, as a share.
    """

    measure: str
    most: float

    @property
    def most_mean(self) -> float:
        """The bound on the mean of `counted`."""
        return 0.05 if self.measure.endswith(_P95) else self.most

    def counted(self, measures: Mapping[str, Any]) -> Any:
        """Return what is bounded of each replication, from its measures by name."""
        if self.measure.endswith(_P95):
            return measures[self.measure.removesuffix(_P95)] > self.most
        return measures[self.measure]

    @property
    def option(self) -> str:
        """The name of the argument that sets it."""
        return f"max_{'restarts' if self.measure == RESTARTS else self.measure}"

    def __str__(self) -> str:
        if self.measure == RESTARTS:
            return f"restarts (95th percentile) <= {self.most:g}"
        return f"{_IN_WORDS[self.measure]} <= {100 * self.most:.12g} %"


def check_bound(name: str, most: float | None) -> None:
    """Raise `UsageError` for a bound that is no share."""
    if most is not None and not 0 <= most <= 1:
        raise UsageError(f"{name} {most:g} is not a share from 0 to 1, e.g. 0.1 for 10 %")


@dataclass(frozen=True)
class Quality:
    """Limits on mean losses, as shares; None for no limit. Raises `UsageError` for others."""

    max_pls: float | None = None
    max_updates_lost: float | None = None
    max_learning_lost: float | None = None

    def __post_init__(self) -> None:
        for name, most in vars(self).items():
            check_bound(name, most)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The limits that are given."""
        given = ((name.removeprefix("max_"), most) for name, most in vars(self).items())
        return tuple(Bound(measure, most) for measure, most in given if most is not None)

    def __bool__(self) -> bool:
        return bool(self.bounds)

    def __str__(self) -> str:
        return ", ".join(map(str, self.bounds))
