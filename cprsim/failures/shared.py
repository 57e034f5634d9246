"""Draws that scenarios of one seed share: jobs of a fleet, points of a sweep.

Whatever is drawn for a cohort depends on the seed, the cohort, the cause, and little else; the mean
of a law only scales it. So one standard block serves all scenarios that differ in nothing else, and
whoever plays many hands one `SharedDraws` to `Process.cohort` of each.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from cprsim.basics.distributions import Distribution
from cprsim.basics.laws.law import Floats
from cprsim.basics.streams import COHORT, Cause, CohortDraws, stream

_Any = TypeVar("_Any")
#: What a stream is made of: seed, cohort, cause, entity.
Place = tuple[int, int, Cause, int]
#: Numbers that are kept by default, about: 256 MB of them.
_MOST = 32_000_000
#: Columns that a cohort draws at first.
_COLUMNS = 8


class SharedDraws:
    """Earlier draws, by all that they depend on; the latest are kept.

    `most`: how many numbers may be kept, about; blocks that grow are counted as they were at first.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most, self._count = most, 0
        self._known: dict[Hashable, tuple[int, Any]] = {}

    def kept(self, key: Hashable, make: Callable[[], _Any], numbers: int) -> _Any:
        """Return the result of `make`, once a key; `numbers`: how many it draws at first."""
        found = self._known.pop(key, None)
        if found is None:
            found = numbers, make()
            self._count += numbers
            while self._count > self._most and self._known:
                self._count -= self._known.pop(next(iter(self._known)))[0]
        self._known[key] = found  # the latest are last
        return cast(_Any, found[1])

    def durations(
        self, law: Distribution, seed: int, cohort: int, cause: Cause, *, aged: bool = False
    ) -> CohortDraws:
        """Draw as `CohortDraws(law.sample, seed, cohort, cause)`; `sample_left` first if `aged`."""
        each, at = law.law, (seed, cohort, cause)
        block = self.kept(
            (at, each.key), lambda: CohortDraws(each.standard, *at), COHORT * _COLUMNS
        )
        if not aged:
            return ScaledDraws(block, each.scale)
        place, size = (*at, 1), (COHORT, 1)  # from a separate stream, as in `CohortDraws`
        return ScaledDraws(block, each.scale, lambda: self.lives(law, place, size, left=True))

    def lives(
        self, law: Distribution, place: Place, size: tuple[int, int], *, left: bool = False
    ) -> Floats:
        """Draw as `law.sample(stream(*place), size)`, or `sample_left`; not to be changed."""
        each, numbers = law.law, size[0] * size[1]
        if left:

            def drawn() -> tuple[Floats, Floats]:
                rng = stream(*place)
                return each.standard_long(rng, size), rng.random(size)

            long, share = self.kept(("left", place, size, each.key), drawn, 2 * numbers)
            return each.long(long) * share
        at = "whole", place, size, each.key
        return each.scale * self.kept(at, lambda: each.standard(stream(*place), size), numbers)


class ScaledDraws(CohortDraws):
    """Numbers of one cause for a cohort, made of a standard block that others share.

    `first`, where it is given, makes the first column, shape (COHORT, 1).
    """

    def __init__(
        self, block: CohortDraws, scale: float, first: Callable[[], Floats] | None = None
    ) -> None:
        self._block, self._scale, self._makes_first = block, scale, first
        self._drawn = block.upto(0)[:, :0]
        self._column: Floats | None = None

    def upto(self, columns: int) -> Floats:
        """At least so many columns, shape (COHORT, >= columns)."""
        if self._drawn.shape[1] < columns:
            self._drawn = self._scale * self._block.upto(columns)
            if self._makes_first is not None:
                self._drawn[:, :1] = self._first_column()
        return self._drawn

    def row(self, row: int, columns: int) -> Floats:
        """At least so many columns of one row, without the others."""
        drawn = self._scale * self._block.row(row, columns)
        if self._makes_first is not None and drawn.size:
            drawn[0] = self._first_column()[row, 0]
        return drawn

    def _first_column(self) -> Floats:
        if self._column is None:
            assert self._makes_first is not None
            self._column = self._makes_first()
        return self._column
