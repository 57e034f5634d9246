"""Repairs by the cause of the outage, and outages that were planned."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cprsim.basics.units import counted, format_duration
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.repairs import RepairTimes, repair_times
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.log_rank import LogRank, log_rank
from cprsim.survival.sample import Sample

MOST_CAUSES = 6  # that are told one by one
_FEWEST = 5  # outages that ended, for a cause to be compared with the others
_LONGEST = 60  # letters of a cause
NO_CAUSE, OTHERS = "no cause told", "other causes"


@dataclass(frozen=True, eq=False)
class CauseRepairs:
    """Outages of one cause, or of several that are rare."""

    cause: str
    sample: Sample

    @property
    def median_s(self) -> float:
        """Half of them are over by then, seconds; nan where more than half went on."""
        return KaplanMeier.from_sample(self.sample).median_s

    @property
    def mean_s(self) -> float:
        """Mean of the Kaplan-Meier curve up to the longest one watched, seconds."""
        return KaplanMeier.from_sample(self.sample).restricted_mean_s

    @property
    def told(self) -> str:
        """Its name, cut short, and how long they take."""
        return f"{shortened(self.cause)}: {typically(self.median_s, self.mean_s)}"

    def document(self) -> dict[str, Any]:
        """As one JSON object; times in seconds."""
        return {
            "cause": self.cause,
            "n": self.sample.n,
            "censored": self.sample.censored,
            "median_s": None if math.isnan(self.median_s) else self.median_s,
            "mean_s": self.mean_s,
        }


@dataclass(frozen=True, eq=False)
class RepairsByCause:
    """Outages by their causes, the commonest first, and whether these differ in how long.

    `test` is None where fewer than two causes have five outages that ended.
    """

    causes: Sequence[CauseRepairs]
    test: LogRank | None

    @property
    def notes(self) -> list[str]:
        """What they are, a line each."""
        told = "Outages by cause"
        if self.test is not None:
            chance = "beyond chance" if self.test.is_sure else "no more than by chance"
            p = f"p {self.test.p:.2g}" if self.test.p >= 1e-4 else "p < 0.0001"
            told += f"; repair times differ {chance} (log-rank test, {p})"
        return [f"{told}:", *count_lines((each.sample.n, each.told) for each in self.causes)]

    def document(self) -> dict[str, Any]:
        """As one JSON object; times in seconds."""
        test = self.test
        return {
            "causes": [each.document() for each in self.causes],
            "log_rank": None
            if test is None
            else {
                "chi2": test.chi2,
                "freedom": test.freedom,
                "p": test.p,
                "differ": test.is_sure,
            },
        }


def repairs_by_cause(found: RepairTimes) -> RepairsByCause | None:
    """Those of a log; None where it tells no causes, or but one.

    Outages of a cause that began and ended together are one for the test: several nodes that were
    down by one fault are repaired at once.
    """
    if found.causes is None or len(set(found.causes)) < 2:
        return None
    causes = [cause or NO_CAUSE for cause in found.causes]
    frequent = [cause for cause, _ in Counter(causes).most_common(MOST_CAUSES)]
    groups = np.array([cause if cause in frequent else OTHERS for cause in causes])
    sample = found.sample
    _, apart = np.unique(
        np.stack([_numbers(groups), found.began_s, sample.durations_s]), axis=1, return_index=True
    )
    once = np.isin(np.arange(sample.n), apart)
    shown, compared = list[CauseRepairs](), list[Sample]()
    for cause in [*frequent, *([OTHERS] if OTHERS in groups else [])]:
        mine = groups == cause
        shown.append(CauseRepairs(cause, _some(sample, mine)))
        singly = _some(sample, mine & once)
        if singly.failures >= _FEWEST:
            compared.append(singly)
    return RepairsByCause(shown, log_rank(compared))


@dataclass(frozen=True, eq=False)
class PlannedOutages:
    """Outages of nodes that were planned: how many, and how long they took.

    `found` is None where none is known to have ended.
    """

    count: int
    found: RepairTimes | None

    @property
    def note(self) -> str:
        """What they are, in a sentence."""
        told = f"Planned: {counted(self.count, 'outage')} of nodes"
        if self.found is not None:
            told += f", {typically(*self._typical)}"
        return f"{told}; left out of the failures."

    @property
    def _typical(self) -> tuple[float, float]:
        assert self.found is not None
        curve = KaplanMeier.from_sample(self.found.sample)
        return curve.median_s, curve.restricted_mean_s

    def document(self) -> dict[str, Any]:
        """As one JSON object; times in seconds."""
        median_s, mean_s = (math.nan, None) if self.found is None else self._typical
        return {
            "n": self.count,
            "median_s": None if math.isnan(median_s) else median_s,
            "mean_s": mean_s,
        }


def planned_outages(log: FailureLog) -> PlannedOutages | None:
    """Those of a log; None where it knows of none."""
    if log.planned is None:
        return None
    return PlannedOutages(len(log.planned), repair_times(log.planned))


def typically(median_s: float, mean_s: float) -> str:
    """A median, if it is known, and a mean, in words."""
    median = "unknown" if math.isnan(median_s) else format_duration(median_s)
    return f"median {median}, mean {format_duration(mean_s)}"


def shortened(text: str) -> str:
    """A text of a log, cut short if it is long."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3].rstrip()}..."


def count_lines(rows: Iterator[tuple[int, str]]) -> list[str]:
    """Lines of counts, one under the other, and of what."""
    every = [(f"{count:,}", what) for count, what in rows]
    width = max((len(count) for count, _ in every), default=0)
    return [f"  {count:>{width}} {what}" for count, what in every]


def _some(sample: Sample, which: np.ndarray) -> Sample:
    return Sample(sample.durations_s[which], sample.observed[which])


def _numbers(groups: np.ndarray) -> np.ndarray:
    return np.unique(groups, return_inverse=True)[1]
