"""How long jobs may be for a fitted law to tell how far they differ from each other."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.units import format_duration, listed

#: Lengths of jobs that are looked at, in mean gaps between failures.
GAPS: Final = (2, 6, 60)
_SURE: Final = 3.0  # standard deviations of simulated logs
_LONG: Final = 4.0  # jobs that a log is long at least, to tell how far they differ
_STARTS: Final = 4  # jobs that are looked at, per job that the log is long
_SEED: Final = 0
_FEWEST, _MOST = 39, 199  # simulated logs
_DRAWS: Final = 1_000_000  # gaps of all of them, about


@dataclass(frozen=True)
class JobLength:
    """Jobs of one length: how far their numbers of failures differ, in the log and by the law.

    Parameters
    ----------
    gaps
        Length of the job, in mean gaps between failures: its mean number of failures.
    length_s
        The same in seconds.
    log_sd, law_sd
        Standard deviation of the number of failures of a job, in the log, and in the mean of logs
        that are as long and follow the law.
    by_chance
        Standard deviation of the latter from one such log to another.
    """

    gaps: int
    length_s: float
    log_sd: float
    law_sd: float
    by_chance: float

    @property
    def agrees(self) -> bool:
        """Whether the two are no farther apart than chance explains."""
        return abs(self.log_sd - self.law_sd) <= _SURE * self.by_chance

    def document(self) -> dict[str, Any]:
        """As one JSON object."""
        return asdict(self) | {"agrees": self.agrees}


def job_lengths(gaps_s: NDArray[np.float64], law: Distribution) -> tuple[JobLength, ...]:
    """Compare jobs that meet the failures of a log with jobs that meet those of its law.

    Parameters
    ----------
    gaps_s
        Times between failures in the order in which they came, seconds, shape (n,).
    law
        The law of single gaps; gaps that follow it do not depend on each other.

    Returns
    -------
    tuple[JobLength, ...]
        For each of `GAPS` that the log is long enough for.
    """
    mean_s, count = float(gaps_s.mean()), len(gaps_s)
    told = [gaps for gaps in GAPS if count >= _LONG * gaps]
    if not told:
        return ()
    rng = np.random.default_rng(_SEED)
    logs = min(max(_DRAWS // count, _FEWEST), _MOST)
    # Of each log a job is so many of its own mean gaps long: the mean of the law is not judged.
    drawn = np.array([_spreads(law.sample(rng, count), told) for _ in range(logs)])
    return tuple(
        JobLength(gaps, gaps * mean_s, spread, float(by_law.mean()), float(by_law.std(ddof=1)))
        for gaps, spread, by_law in zip(told, _spreads(gaps_s, told), drawn.T, strict=True)
    )


def _spreads(gaps_s: NDArray[np.float64], lengths: Sequence[int]) -> list[float]:
    """Standard deviations of the number of failures of jobs of each length, in mean gaps."""
    at_s = np.cumsum(gaps_s)
    return [_spread(at_s, gaps) for gaps in lengths]


def _spread(at_s: NDArray[np.float64], gaps: int) -> float:
    """Standard deviation of the number of failures of jobs that start at even times."""
    last_s = float(at_s[-1])
    length_s = gaps * last_s / len(at_s)
    starts = math.ceil(_STARTS * len(at_s) / gaps)
    begin_s = np.linspace(0.0, last_s - length_s, starts)
    ends = np.searchsorted(at_s, np.stack([begin_s, begin_s + length_s]), side="right")
    return float(np.std(ends[1] - ends[0]))


def length_notes(lengths: Sequence[JobLength], law: str) -> list[str]:
    """Return for which jobs the law holds, a sentence each."""
    apart = [each for each in lengths if not each.agrees]
    alike = [each for each in lengths if each.agrees]
    said = []
    if alike:
        told = listed([_told(each) for each in alike])
        said.append(
            f"Jobs of {told} differ in their number of failures as under the {law} law, as far as "
            "chance goes."
        )
    for each in apart:
        how = "more" if each.log_sd > each.law_sd else "less"
        said.append(
            f"Jobs of {_told(each)} differ {how} than under the {law} law: {each.gaps} ± "
            f"{each.log_sd:.2g} failures, by the law ± {each.law_sd:.2g}."
        )
    return said


def _told(length: JobLength) -> str:
    return f"{format_duration(length.length_s)} ({length.gaps} mean gaps)"
