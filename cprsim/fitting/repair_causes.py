"""Repairs by the cause of the outage, and outages that were planned."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

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


class Typical(NamedTuple):
    """How long outages take, seconds, by their Kaplan-Meier curve.

    `median_s`: half of them are over by then; nan where more than half went on. `mean_s`: up to the
    longest one watched.
    """

    median_s: float
    mean_s: float

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """Return that of a sample."""
        curve = KaplanMeier.from_sample(sample)
        return cls(curve.median_s, curve.restricted_mean_s)

    def __str__(self) -> str:
        median = "unknown" if math.isnan(self.median_s) else format_duration(self.median_s)
        return f"median {median}, mean {format_duration(self.mean_s)}"

    def document(self) -> dict[str, Any]:
        """As one JSON object; times in seconds."""
        median_s = None if math.isnan(self.median_s) else self.median_s
        return {"median_s": median_s, "mean_s": self.mean_s}


class CauseRepairs(NamedTuple):
    """Outages of one cause, or of several that are rare."""

    cause: str
    sample: Sample
    typical: Typical


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
        return [
            f"{told}:",
            *count_lines(
                (each.sample.n, f"{shortened(each.cause)}: {each.typical}") for each in self.causes
            ),
        ]

    def document(self) -> dict[str, Any]:
        """As one JSON object; times in seconds."""
        test, causes = self.test, []
        for each in self.causes:
            counts = {"n": each.sample.n, "censored": each.sample.censored}
            causes.append({"cause": each.cause, **counts, **each.typical.document()})
        told = test and {
            "chi2": test.chi2,
            "freedom": test.freedom,
            "p": test.p,
            "differ": test.is_sure,
        }
        return {"causes": causes, "log_rank": told}


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
        some = _some(sample, mine)
        shown.append(CauseRepairs(cause, some, Typical.of(some)))
        singly = _some(sample, mine & once)
        if singly.failures >= _FEWEST:
            compared.append(singly)
    return RepairsByCause(shown, log_rank(compared))


@dataclass(frozen=True)
class PlannedOutages:
    """Outages of nodes that were planned, and how long they took; None where none has ended."""

    count: int
    typical: Typical | None

    @property
    def note(self) -> str:
        """What they are, in a sentence."""
        told = "" if self.typical is None else f", {self.typical}"
        return f"Planned: {counted(self.count, 'outage')} of nodes{told}; left out of the failures."

    def document(self) -> dict[str, Any]:
        """As one JSON object; times in seconds."""
        unknown = {"median_s": None, "mean_s": None}
        return {"n": self.count} | (self.typical.document() if self.typical else unknown)


def planned_outages(log: FailureLog) -> PlannedOutages | None:
    """Those of a log; None where it knows of none."""
    if log.planned is None:
        return None
    found = repair_times(log.planned)
    return PlannedOutages(len(log.planned), None if found is None else Typical.of(found.sample))


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
