"""What candidates may cost beside what is to be least: bounds on means."""

from typing import NamedTuple

#: Measures that are bounded, in words.
_IN_WORDS = {"pls": "PLS", "updates_lost": "updates lost"}


class Bound(NamedTuple):
    """The mean of a `measure` is `most` at most; the measure is never less than 0."""

    measure: str
    most: float

    def __str__(self) -> str:
        return f"{_IN_WORDS.get(self.measure, self.measure)} <= {self.most:g}"
