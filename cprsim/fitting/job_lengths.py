"""Lengths of jobs for which a fitted law has the spread of their numbers of failures."""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.units import format_duration, listed

#: Lengths of jobs that are looked at, in mean gaps between failures.
GAPS: Final = (2, 6, 60)
_SURE: Final = 3.0  # standard deviations of simulated logs
_LONG: Final = 4.0  # jobs that a log is long at least, to know how far they differ
_STARTS: Final = 4  # jobs that are looked at, per job that the log is long
_SEED: Final = 0
_FEWEST, _MOST = 39, 199  # simulated logs
_DRAWS: Final = 1_000_000  # gaps of all of them, about


class JobLength(NamedTuple):
    """Jobs of one length: how far their numbers of failures differ, in the log and by the law.

    The length is in mean gaps between failures, which is its mean number of failures, and in
    seconds. `log_sd`, `law_sd`: standard deviation of the number of failures of a job, in the log,
    and in the mean of logs that are as long and follow the law; `by_chance`: that of the latter
    from one such log to another.
    """

    gaps: int
    length_s: float
    log_sd: float
    law_sd: float
    by_chance: float

    @property
    def agrees(self) -> bool:
        """Return whether the two are no farther apart than chance explains."""
        return abs(self.log_sd - self.law_sd) <= _SURE * self.by_chance

    def document(self) -> dict[str, Any]:
        """Return one JSON object."""
        return self._asdict() | {"agrees": self.agrees}

    def __str__(self) -> str:
        return f"{format_duration(self.length_s)} ({self.gaps} mean gaps)"


def job_lengths(gaps_s: NDArray[np.float64], law: Distribution) -> tuple[JobLength, ...]:
    """Compare jobs that meet the failures of a log with jobs that meet those of its law.

    `gaps_s`: times between failures in the order in which they came, seconds, shape (n,). `law`: of
    single gaps; gaps that follow it do not depend on each other. For each of `GAPS` that the log is
    long enough for.
    """
    mean_s, count = float(gaps_s.mean()), len(gaps_s)
    told = [gaps for gaps in GAPS if count >= _LONG * gaps]
    if not told:
        return ()
    rng = np.random.default_rng(_SEED)
    logs = min(max(_DRAWS // count, _FEWEST), _MOST)
    # A job is so many mean gaps of each log long: the mean of the law is not judged.
    drawn = np.array([_spreads(law.sample(rng, count), told) for _ in range(logs)])
    return tuple(
        JobLength(gaps, gaps * mean_s, spread, float(by_law.mean()), float(by_law.std(ddof=1)))
        for gaps, spread, by_law in zip(told, _spreads(gaps_s, told), drawn.T, strict=True)
    )


def _spreads(gaps_s: NDArray[np.float64], lengths: Sequence[int]) -> list[float]:
    """Standard deviations of the number of failures of jobs of each length, in mean gaps.

    The jobs start at even times.
    """
    at_s, found = np.cumsum(gaps_s), list[float]()
    last_s = float(at_s[-1])
    for gaps in lengths:
        length_s = gaps * last_s / len(at_s)
        starts = math.ceil(_STARTS * len(at_s) / gaps)
        begin_s = np.linspace(0.0, last_s - length_s, starts)
        ends = np.searchsorted(at_s, np.stack([begin_s, begin_s + length_s]), side="right")
        found.append(float(np.std(ends[1] - ends[0])))
    return found


def length_notes(lengths: Sequence[JobLength], law: str) -> list[str]:
    """Return for which jobs the law holds, a sentence each."""
    said, alike = [], [str(each) for each in lengths if each.agrees]
    if alike:
        said.append(
            f"Jobs of {listed(alike)} differ in their number of failures as under the {law} law, "
            "as far as chance goes."
        )
    for each in (each for each in lengths if not each.agrees):
        how = "more" if each.log_sd > each.law_sd else "less"
        said.append(
            f"Jobs of {each} differ {how} than under the {law} law: {each.gaps} ± "
            f"{each.log_sd:.2g} failures, by the law ± {each.law_sd:.2g}."
        )
    return said
