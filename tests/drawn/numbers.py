"""What the strategies for scenarios and for policies have in common."""

from typing import Final, NamedTuple

from hypothesis import strategies as st

from cprsim.basics import units
from cprsim.basics.streams import CohortDraws

#: What is drawn below this is 0: scenarios take no number as small as a float can be.
_DUST: Final = 1e-12


def from_least(least: float, most: float) -> st.SearchStrategy[float]:
    """Numbers between the two, which are not negative."""
    return st.floats(least, most).map(lambda value: value if value >= _DUST else 0.0)


def from_zero(most: float) -> st.SearchStrategy[float]:
    """Numbers from 0 to `most`."""
    return from_least(0.0, most)


# Strategies that don't depend on what was drawn before are built once: most of the time it takes to
# draw a scenario would go into building them.
YES: Final = st.booleans()
SHARES: Final = from_zero(1.0)
UNITS: Final = st.sampled_from(list(units.SECONDS))


def in_unit(seconds: float, unit: str) -> str:
    """A duration as text."""
    return f"{seconds / units.SECONDS[unit]!r} {unit}"


def duration(draw: st.DrawFn, least_s: float, most_s: float) -> str:
    """A duration between the two, in any unit."""
    return in_unit(least_s + (most_s - least_s) * draw(SHARES), draw(UNITS))


class JobSize(NamedTuple):
    """What the keys of a policy have to fit."""

    useful_s: float
    servers: int
    trainers: int
    mtbf_s: float
    sure_to_end: bool
    has_model: bool

    def interval(self, draw: st.DrawFn, stretch: float = 1.0) -> str:
        """Some dozens of them in the job, and few failures in one, training being stretched."""
        longest_s = 0.4 * self.mtbf_s / stretch
        shortest_s = min(max(self.useful_s / 40, 0.03 * self.mtbf_s), longest_s / 2)
        return duration(draw, shortest_s, longest_s)


class Draws:
    """One row of `CohortDraws`: the numbers of one replication, by index."""

    def __init__(self, rows: CohortDraws, row: int) -> None:
        self._rows, self._row = rows, row
        self._values: list[float] = []

    def __getitem__(self, index: int) -> float:
        if index >= len(self._values):
            self._values = self._rows.upto(index + 1)[self._row].tolist()
        return self._values[index]
