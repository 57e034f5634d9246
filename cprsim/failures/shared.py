"""Random numbers of a cohort: drawn once for all scenarios of one seed that need the same.

Whatever is drawn for a cohort depends on the seed, the cohort, the cause, and little else; the mean
of a law only scales it. So one standard block serves all scenarios that differ in nothing else:
jobs of a fleet, points of a sweep.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

import numpy as np

from cprsim.basics.distributions import Distribution
from cprsim.basics.laws.law import Floats
from cprsim.basics.streams import COHORT, Cause, CohortDraws, stream

_Any = TypeVar("_Any")
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


class CohortStreams:
    """Random numbers of one cohort, of each cause from a stream of its own.

    `key`: the seed and the number of the cohort. `shared`: what was drawn for other scenarios, if
    any are played with this one.
    """

    def __init__(self, seed: int, number: int, shared: SharedDraws | None = None) -> None:
        self.key, self._shared = (seed, number), shared

    def stream(self, cause: Cause, entity: int = 0) -> np.random.Generator:
        """Return the generator of a cause, and of an entity of it."""
        return stream(*self.key, cause, entity)

    def kept(self, what: Hashable, make: Callable[[], _Any], numbers: int) -> _Any:
        """Return the result of `make`, which draws so many numbers at first, once a `what`."""
        return (
            make() if self._shared is None else self._shared.kept((self.key, what), make, numbers)
        )

    def uniform(self, cause: Cause) -> CohortDraws:
        """Return numbers from 0 to 1."""
        return self.kept(cause, lambda: CohortDraws(_uniform, *self.key, cause), COHORT * _COLUMNS)

    def durations(self, law: Distribution, cause: Cause, *, aged: bool = False) -> CohortDraws:
        """Return durations; the first is under way already if `aged`."""
        each, at = law.law, (*self.key, cause)
        block = self.kept(
            (cause, each.key), lambda: CohortDraws(each.standard, *at), COHORT * _COLUMNS
        )
        # From a stream of its own: with it or without, all other columns are the same.
        first = (lambda: self.lives(law, cause, 1, 1, left=True)) if aged else None
        return ScaledDraws(block, each.scale, first)

    def lives(
        self, law: Distribution, cause: Cause, entity: int, columns: int, *, left: bool = False
    ) -> Floats:
        """Draw durations, or what is left of them, shape (COHORT, columns); not to be changed."""
        each, size, numbers = law.law, (COHORT, columns), COHORT * columns
        what = cause, entity, columns, each.key
        if not left:
            draw = lambda: each.standard(self.stream(cause, entity), size)  # noqa: E731
            return each.scale * self.kept(("whole", what), draw, numbers)

        def drawn() -> tuple[Floats, Floats]:
            rng = self.stream(cause, entity)
            return each.standard_long(rng, size), rng.random(size)

        long, share = self.kept(("left", what), drawn, 2 * numbers)
        return each.long(long) * share


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


def _uniform(rng: np.random.Generator, size: tuple[int, int]) -> Floats:
    return rng.random(size)
