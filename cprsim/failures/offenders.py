"""Repeat offenders: machines that fail more often than others until a repair cures them."""

from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cprsim.basics.schema import Section

_MOST_TIMES: Final = 1000.0
_MOST_REPAIRS: Final = 50


class Offenders(Section):
    """Machines that fail again and again, as AIReSim has them (arXiv 2603.07041).

    `share`: of all machines, those that are bad when they come into the job. `times`: how many
    times as often as a good one a bad one fails; `failures.mean` is the life of good ones. `cured`:
    share of the repairs of bad machines that make them good. `misdiagnosed`: share of the failures
    after which another machine is repaired, so that this one stays as it is. `retired_after`: at
    that repair a machine leaves for good, and one that is new to the job takes its place; never if
    not given. A machine that is repaired comes back into its place. A restart in place repairs
    nothing.
    """

    share: Annotated[float, Field(ge=0, le=1, examples=[0.15])]
    times: Annotated[float, Field(ge=1, le=_MOST_TIMES, examples=[6.0])]
    cured: Annotated[float, Field(ge=0, le=1, examples=[0.76])] = 1.0
    misdiagnosed: Annotated[float, Field(ge=0, lt=1, examples=[0.1])] = 0.0
    retired_after: Annotated[int, Field(ge=1, le=_MOST_REPAIRS, examples=[3])] | None = None

    def columns(self) -> dict[str, float]:
        """Return the columns of a `DrawsRow` of the machine that say this."""
        return {
            "bad_share": self.share,
            "bad_times": self.times,
            "cured": self.cured,
            "misdiagnosed": self.misdiagnosed,
            "retired_after": self.retired_after or 0,
        }

    def mean_pace(self, lives: float) -> float:
        """Return failures of a place per failure of one that is always good, on average.

        Exact for exponential lives, if every failure leads to a repair: the occupation of a Markov
        chain in continuous time, by its generator.

        Parameters
        ----------
        lives
            The time that is looked at, in mean lives of a good machine.
        """
        from scipy.linalg import expm  # noqa: PLC0415  (scipy is slow to import)

        paces, repaired = self._chain()
        count = len(paces)
        now = np.zeros(count)
        now[:2] = 1 - self.share, self.share
        # exp of ((Q t, 1), (0, 0)) has the mean of exp(Q s) over s from 0 to t in its corner
        # (C. F. Van Loan, IEEE Transactions on Automatic Control 23, 1978).
        both = np.zeros((2 * count, 2 * count))
        both[:count, :count] = (repaired - np.eye(count)) * (paces * lives)[:, np.newaxis]
        both[:count, count:] = np.eye(count)
        return float(now @ expm(both)[:count, count:] @ paces)

    def _chain(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the pace of each state of a machine, and where a failure leads from it.

        States are good and bad by turns, for each number of repairs that there were.
        """
        rounds = self.retired_after or 1
        paces = np.tile([1.0, self.times], rounds)
        after = self.misdiagnosed * np.eye(2 * rounds)
        right = 1 - self.misdiagnosed
        for repairs in range(rounds):
            good, bad = 2 * repairs, 2 * repairs + 1
            if self.retired_after == repairs + 1:
                after[[good, bad], 0] += right * (1 - self.share)
                after[[good, bad], 1] += right * self.share
                continue
            to_good = 2 * (repairs + 1) if self.retired_after else 0
            after[good, to_good] += right
            after[bad, to_good] += right * self.cured
            after[bad, to_good + 1] += right * (1 - self.cured)
        return paces, after
