"""Repairs in a log: how long nodes are down, by cause, and laws of that."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from cprsim.basics.units import counted, format_duration
from cprsim.errors import LogError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.outages import RepairTimes, repair_times
from cprsim.survival.fitted_laws import Fit, fit_and_judge
from cprsim.survival.kaplan_meier import KaplanMeier, LogRank, log_rank
from cprsim.survival.sample import Sample

MOST_CAUSES: Final = 6  # that are listed one by one
NO_CAUSE, OTHERS = "no cause told", "other causes"
_FEWEST: Final = 5  # outages that ended, for a cause to be compared with the others
_LONGEST: Final = 60  # letters of a cause
#: Durations to draw from where no law is adequate, of all and of a cause; means of so many each.
_TYPICAL, _OF_CAUSE, _IN_ONE = 100, 10, 200
_DIGITS: Final = 4
#: When the durations of a block are waited for.
_WHERE: Final = {
    "reschedule": "Where machines come back only when they are repaired, as with a fixed pool of "
    "cluster.spares:",
    "restart": "Where only processes fail, they start again on their nodes:",
}


@dataclass(frozen=True, eq=False)
class RepairFit:
    """Outages, their durations, and laws fitted to these."""

    sample: Sample
    #: Number of outages that are none of the sample, by reason.
    left_out: Mapping[str, int] = field(default_factory=dict)
    #: The same by cause, the commonest first and those that are rare together; empty where the log
    #: has no causes, or one.
    causes: Mapping[str, "RepairFit"] = field(default_factory=dict)
    #: Whether causes differ in their durations; None where fewer than two can be compared.
    test: LogRank | None = None
    #: Whether they are of nodes.
    of_nodes: bool = True

    @cached_property
    def _curve(self) -> KaplanMeier:
        return KaplanMeier.from_sample(self.sample)

    @property
    def median_s(self) -> float:
        """Half of them are over by then, s; NaN where more than half are not over."""
        return self._curve.median_s

    @property
    def mean_s(self) -> float:
        """Their mean up to the longest one watched, s."""
        return self._curve.restricted_mean_s

    @property
    def typical(self) -> str:
        """Their median and their mean, in words."""
        median = "unknown" if math.isnan(self.median_s) else format_duration(self.median_s)
        return f"median {median}, mean {format_duration(self.mean_s)}"

    @cached_property
    def fits(self) -> list[Fit]:
        """Laws, in the order of `LogFit.fits`; none where outages are too few, or all alike."""
        try:
            return fit_and_judge(self.sample)
        except LogError:
            return []

    @property
    def is_adequate(self) -> bool:
        """Return whether a law is good enough to plan with."""
        return bool(self.fits) and self.fits[0].verdict.adequate

    def keys(self, durations: int = _TYPICAL) -> dict[str, Any]:
        """Return the keys of a law; of so many durations to draw from where none is adequate."""
        if self.is_adequate:
            law = self.fits[0].law
            spread = {k: _rounded(v) for k in ("shape", "cv") if (v := getattr(law, k))}
            mean = f"{_rounded(law.expected_s / 3600)} h"
            return {"distribution": law.distribution, "mean": mean, **spread}
        # Means of equal parts: the tail is short of nothing, as middles would be.
        lasted = self._curve.typical(durations * _IN_ONE).reshape(durations, _IN_ONE).mean(axis=1)
        hours = [f"{_rounded(each / 3600)} h" for each in lasted.tolist()]
        return {"distribution": "empirical", "durations": hours}

    @property
    def notes(self) -> list[str]:
        """Sentences on the repairs, and a line a cause."""
        sample, of = self.sample, " of nodes" if self.of_nodes else ""
        open_ones = f", {sample.censored:,} of them not over yet" if sample.censored else ""
        said = [f"Repairs: {sample.n:,} outages{of}{open_ones}; {self.typical}."]
        if self.fits:
            reason = self.fits[0].verdict.reason
            said.append(f"Of repairs {'' if self.is_adequate else 'no law is adequate: '}{reason}.")
        if not self.causes:
            return said
        differ = ""
        if self.test is not None:
            chance = "beyond chance" if self.test.is_sure else "no more than by chance"
            p = f"p {self.test.p:.2g}" if self.test.p >= 1e-4 else "p < 0.0001"
            differ = f"; repair times differ {chance} (log-rank test, {p})"
        lines = (
            (each.sample.n, f"{shortened(cause)}: {each.typical}")
            for cause, each in self.causes.items()
        )
        return [*said, f"Outages by cause{differ}:", *count_lines(lines)]

    def block(self, key: Literal["reschedule", "restart"] = "reschedule") -> str:
        """Return `costs.reschedule` or `costs.restart` as comments."""
        import tomli_w  # noqa: PLC0415  (few need it)

        text = f"{_WHERE[key]}\n{tomli_w.dumps({'costs': {key: self.delay_of(None)}})}"
        return "\n".join(f"# {line}" for line in text.splitlines())

    def delay_of(self, cause: str | None) -> dict[str, Any] | str:
        """Return the repair of a cause as a scenario has it; of all where these do not differ.

        A law, ten durations to draw from, which are means of equal parts, or one if they are alike.
        Empty where causes differ, and no outage of this one is known to have ended.
        """
        found = self
        if cause and self.test is not None and self.test.is_sure:
            ended = {name: each for name, each in self.causes.items() if each.sample.failures}
            if cause not in ended and cause != OTHERS:
                return ""
            found = ended.get(cause, self)
        keys = found.keys(_OF_CAUSE)
        alike = {*keys.get("durations", ())}
        return alike.pop() if len(alike) == 1 else keys

    @property
    def figures(self) -> dict[str, Any]:
        """Their number and how long they take, seconds, as one JSON object."""
        median_s = None if math.isnan(self.median_s) else self.median_s
        times_s = {"median_s": median_s, "mean_s": self.mean_s}
        return {"n": self.sample.n, "censored": self.sample.censored, **times_s}

    def document(self) -> dict[str, Any]:
        """Return one JSON object; times in seconds."""
        by_cause = {
            "causes": [{"cause": name, **each.figures} for name, each in self.causes.items()],
            "log_rank": self.test and self.test._asdict() | {"differ": self.test.is_sure},
        }
        return {
            **self.figures,
            "adequate": self.is_adequate,
            "reschedule": self.keys(),
            "by_cause": by_cause if self.causes else None,
        }


def repair_fit(log: FailureLog, of_processes: bool = False) -> RepairFit | None:
    """Return the outages of a log, of processes alone or all others; None where it has none."""
    mild = np.array([each == "process" for each in log.severities or ["node"] * len(log)], np.bool_)
    chosen = np.flatnonzero(mild == of_processes)
    found = repair_times(log.only(chosen)) if len(chosen) else None
    if found is None:
        return None
    counts = {"outages of 0 s": found.at_once, "outages without an end": found.unknown}
    left_out = {why: count for why, count in counts.items() if count}
    return RepairFit(found.sample, left_out, *_by_cause(found), log.of_nodes)


def _by_cause(found: RepairTimes) -> tuple[dict[str, RepairFit], LogRank | None]:
    """Return outages by cause, and whether these differ; none where there is no cause, or one.

    Outages of a cause that began and ended together are one for the test: several nodes that were
    down by one fault are repaired at once.
    """
    if found.causes is None or len(set(found.causes)) < 2:
        return {}, None
    sample, causes = found.sample, pd.Series([cause or NO_CAUSE for cause in found.causes])
    frequent = [cause for cause, _ in Counter(causes).most_common(MOST_CAUSES)]
    groups = causes.where(causes.isin(frequent), OTHERS)
    outages = {"cause": groups, "began": found.began_s, "lasts": sample.durations_s}
    once = ~pd.DataFrame(outages).duplicated()
    shown, compared = dict[str, RepairFit](), list[Sample]()
    for cause in [*frequent, *([OTHERS] if OTHERS in groups.array else [])]:
        mine = groups == cause
        every, singly = (
            Sample(sample.durations_s[rows], sample.observed[rows])
            for rows in (mine.to_numpy(), (mine & once).to_numpy())
        )
        shown[cause] = RepairFit(every)
        if singly.failures >= _FEWEST:
            compared.append(singly)
    return shown, log_rank(compared)


def planned_note(log: FailureLog) -> str:
    """Return a sentence on the planned outages of a log."""
    found = repair_times(log)
    lasted = "" if found is None else f", {RepairFit(found.sample).typical}"
    return f"Planned: {counted(len(log), 'outage')} of nodes{lasted}; left out of the failures."


def planned_document(log: FailureLog) -> dict[str, Any]:
    """Return the planned outages of a log as one JSON object; times in seconds."""
    found = repair_times(log)
    figures = {} if found is None else RepairFit(found.sample).figures
    return {"n": len(log)} | {key: figures.get(key) for key in ("median_s", "mean_s")}


def shortened(text: str) -> str:
    """Return a text of a log, cut short if it is long."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3].rstrip()}..."


def count_lines(rows: Iterable[tuple[int, str]]) -> list[str]:
    """Return a line for each count and its noun, aligned."""
    every = [(f"{count:,}", what) for count, what in rows]
    width = max((len(count) for count, _ in every), default=0)
    return [f"  {count:>{width}} {what}" for count, what in every]


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
