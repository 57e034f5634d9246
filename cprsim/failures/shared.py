"""Random numbers of a cohort: drawn once for all scenarios of one seed that need the same.

Whatever is drawn for a cohort depends on the seed, the cohort, the cause, and little else; the mean
of a law only scales it. So one standard block serves all scenarios that differ in nothing else:
jobs of a fleet, points of a sweep.
"""

from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.laws import Floats
from cprsim.basics.streams import COHORT, Cause, CohortDraws, Sampler, stream

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
        """Return what `make` returned when first called for a key; `numbers`: that it draws."""
        found = self._known.pop(key, None)
        if found is None:
            found = numbers, make()
            self._count += numbers
            while self._count > self._most and self._known:
                self._count -= self._known.pop(next(iter(self._known)))[0]
        self._known[key] = found  # the latest are last
        return cast(_Any, found[1])


class CohortStreams:
    """Random numbers of one cohort, each cause from its stream.

    `key`: the seed and the number of the cohort. `shared`: what was drawn for other scenarios, if
    any are played with this one.
    """

    def __init__(self, seed: int, number: int, shared: SharedDraws | None = None) -> None:
        self.key, self._shared = (seed, number), shared

    def stream(self, cause: Cause, entity: int = 0) -> np.random.Generator:
        """Return the generator of a cause, and of an entity of it."""
        return stream(*self.key, cause, entity)

    def kept(self, what: Hashable, make: Callable[[], _Any], numbers: int) -> _Any:
        """Return what `make` returned when it was first called for it; `numbers`: that it draws."""
        return (
            make() if self._shared is None else self._shared.kept((self.key, what), make, numbers)
        )

    def uniform(self, cause: Cause) -> "CohortNumbers":
        """Return numbers from 0 to 1."""
        sample: Sampler = lambda rng, size: rng.random(size)  # noqa: E731
        draws = self.kept(cause, lambda: CohortDraws(sample, *self.key, cause), COHORT * _COLUMNS)
        return CohortNumbers(draws, 1.0)

    def durations(
        self, law: Distribution, cause: Cause, entity: int = 0, *, aged: bool = False
    ) -> "CohortNumbers":
        """Return durations; the first is under way already if `aged`."""
        each = law.law
        block = self.kept(
            (cause, entity, each.key),
            lambda: CohortDraws(each.standard, *self.key, cause, entity=entity),
            COHORT * _COLUMNS,
        )
        # From a separate stream: with it or without, all other columns are the same.
        first = cache(lambda: self.lives(law, cause, 1, 1, left=True)) if aged else None
        return CohortNumbers(block, each.scale, first)

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


class CohortNumbers:
    """Numbers of one cause for a cohort: a standard block, which scenarios may share, and a scale.

    `first`, where it is given, makes the first column, shape (COHORT, 1).
    """

    def __init__(
        self, block: CohortDraws, scale: float, first: Callable[[], Floats] | None = None
    ) -> None:
        self._block, self._scale, self._first = block, scale, first

    def of(self, rows: NDArray[np.intp], columns: int) -> Floats:
        """Return the first columns of some rows, shape (rows, columns)."""
        found = self._scale * self._block.upto(columns)[rows, :columns]
        if self._first is not None:
            found[:, :1] = self._first()[rows]
        return found
