"""What candidates may cost beside what is to be least: bounds on means."""

from dataclasses import dataclass
from typing import NamedTuple

from cprsim.errors import UsageError

#: Measures that are bounded, in words.
_IN_WORDS = {"pls": "PLS", "updates_lost": "updates lost", "auc_drop": "drop of AUC"}


class Bound(NamedTuple):
    """The mean of a `measure` is `most` at most; the measure is never less than 0."""

    measure: str
    most: float

    def __str__(self) -> str:
        share = self.measure in _IN_WORDS
        most = f"{100 * self.most:.12g} %" if share else f"{self.most:g}"
        return f"{_IN_WORDS.get(self.measure, self.measure)} <= {most}"


def check_bound(name: str, most: float | None) -> None:
    """Raise `UsageError` for a bound that is no share."""
    if most is not None and not 0 <= most <= 1:
        raise UsageError(f"{name} {most:g} is not a share from 0 to 1, e.g. 0.1 for 10 %")


@dataclass(frozen=True)
class Quality:
    """What a candidate may lose of the learning, in the mean; None for whatever it is.

    Raises
    ------
    UsageError
        If a bound is no share.
    """

    max_pls: float | None = None
    max_updates_lost: float | None = None

    def __post_init__(self) -> None:
        check_bound("max_pls", self.max_pls)
        check_bound("max_updates_lost", self.max_updates_lost)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Those that there are."""
        asked = {"pls": self.max_pls, "updates_lost": self.max_updates_lost}
        return tuple(Bound(name, most) for name, most in asked.items() if most is not None)

    def __bool__(self) -> bool:
        return bool(self.bounds)

    def __str__(self) -> str:
        return ", ".join(map(str, self.bounds))
