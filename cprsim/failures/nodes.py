"""Lives of single nodes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, stream
from cprsim.failures.frailty import Frailty
from cprsim.failures.offenders import Offenders
from cprsim.failures.shared import SharedDraws


class Lives:
    """Lives of nodes and of their replacements, for the replications of a cohort.

    Those of one generation come from a stream of their own, so a node's nth life does not depend on
    how many failures other nodes had before it. The first generation is new at time 0, or of all
    ages if `aged`, as in a cluster that has long run. A node's pace is its own where there is a
    `frailty`. Where there are `offenders`, lives are those of good machines. `key`: the seed and
    the cohort.
    """

    def __init__(
        self,
        law: Distribution,
        nodes: int,
        seed: int,
        cohort: int,
        aged: bool = False,
        shared: SharedDraws | None = None,
        frailty: Frailty | None = None,
        offenders: Offenders | None = None,
    ) -> None:
        self.nodes = nodes
        self.key = (seed, cohort)
        self.offenders = offenders
        self._law = law
        self._aged = aged
        self._shared = shared
        self._frailty = frailty
        self._generations: list[NDArray[np.float64]] = []
        self._states: list[NDArray[np.float64]] = []

    def states(self, number: int) -> NDArray[np.float64]:
        """Numbers from 0 to 1 that decide which of the `number`-th nodes are bad (rule 41).

        Shape (COHORT, nodes).
        """
        return _nth(self._states, number, self._decided)

    def generation(self, number: int) -> NDArray[np.float64]:
        """Lives of the `number`-th nodes in all places, s, shape (COHORT, nodes).

        Of aged ones what is left.
        """
        return _nth(self._generations, number, self._paced)

    def _decided(self, number: int) -> NDArray[np.float64]:
        return stream(*self.key, Cause.OFFENDER, number).random((COHORT, self.nodes))

    def _paced(self, number: int) -> NDArray[np.float64]:
        lives = self._drawn(number)
        if self._frailty is None:
            return lives
        return lives / self._frailty.factors(self.nodes, *self.key, number, self._shared)

    def _drawn(self, number: int) -> NDArray[np.float64]:
        place, size = (*self.key, Cause.NODE_LIFE, number), (COHORT, self.nodes)
        left = self._aged and number == 0
        if self._shared is not None:
            return self._shared.lives(self._law, place, size, left=left)
        draw = self._law.sample_left if left else self._law.sample
        return draw(stream(*place), size)


def _nth(
    known: list[NDArray[np.float64]], number: int, draw: Callable[[int], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return what was drawn for a generation; those before it, too, are drawn and kept."""
    while number >= len(known):
        known.append(draw(len(known)))
    return known[number]
