"""What a log says of repairs: how long nodes are down, as a law of `costs.reschedule`."""

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from cprsim.errors import LogError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.repairs import RepairTimes, repair_times
from cprsim.fitting.repair_causes import RepairsByCause, Typical, repairs_by_cause
from cprsim.survival.fitted_laws import Fit
from cprsim.survival.judge import Verdict, fit_and_judge
from cprsim.survival.kaplan_meier import KaplanMeier

#: Durations that anybody would paste, where no law is adequate; means of so many each.
_TYPICAL, _IN_ONE = 100, 200
_DIGITS: Final = 4
#: When the durations of a block are waited for.
_WHERE: Final = {
    "reschedule": "Where machines come back only when they are repaired, as with a fixed pool of "
    "cluster.spares:",
    "restart": "Where only processes fail, they start again on their nodes:",
}
_JOINT: Final = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, eq=False)
class RepairFit:
    """Laws fitted to outages, the best first, as `LogFit` has those of failures.

    `fits` is empty where there are too few outages. `verdicts`: as in `LogFit`. `by_cause` is None
    where the log tells no causes.
    """

    found: RepairTimes
    fits: list[Fit]
    verdicts: Mapping[str, Verdict]
    by_cause: RepairsByCause | None = None
    of_nodes: bool = True

    @property
    def typical(self) -> Typical:
        """How long outages take."""
        return Typical.of(self.found.sample)

    @property
    def is_adequate(self) -> bool:
        """Whether a law is good enough to plan with."""
        return any(each.adequate for each in self.verdicts.values())

    @property
    def notes(self) -> list[str]:
        """What the log says of repairs, a sentence each."""
        sample = self.found.sample
        open_ones = f", {sample.censored:,} of them not over yet" if sample.censored else ""
        of = " of nodes" if self.of_nodes else ""
        said = [f"Repairs: {sample.n:,} outages{of}{open_ones}; {self.typical}."]
        if self.fits:
            reason = self.verdicts[self.fits[0].law.distribution].reason
            said.append(f"Of repairs {'' if self.is_adequate else 'no law is adequate: '}{reason}.")
        if self.by_cause is not None:
            said += self.by_cause.notes
        return said

    @property
    def left_out(self) -> dict[str, int]:
        """Outages that are none of the sample, by reason."""
        counts = {
            "outages of 0 s": self.found.at_once,
            "outages without an end": self.found.unknown,
        }
        return {why: count for why, count in counts.items() if count}

    def keys(self) -> dict[str, Any]:
        """Keys of the law, for `costs.reschedule` or `costs.restart`."""
        if self.is_adequate:
            law = self.fits[0].law
            spread = {k: _rounded(v) for k in ("shape", "cv") if (v := getattr(law, k))}
            mean = f"{_rounded(law.expected_s / 3600)} h"
            return {"distribution": law.distribution, "mean": mean, **spread}
        # Means of equal parts: the tail is short of nothing, as middles would be.
        curve = KaplanMeier.from_sample(self.found.sample)
        lasted = curve.typical(_TYPICAL * _IN_ONE).reshape(_TYPICAL, _IN_ONE).mean(axis=1)
        hours = [f"{_rounded(each / 3600)} h" for each in lasted.tolist()]
        return {"distribution": "empirical", "durations": hours}

    def block(self, key: Literal["reschedule", "restart"] = "reschedule") -> str:
        """`[costs.reschedule]` or `[costs.restart]` as comments.

        Whoever gets another machine doesn't wait for a repair.
        """
        texts = [
            _WHERE[key],
            f"[costs.{key}]",
            *(f"{key} = {_in_one_piece(value)}" for key, value in self.keys().items()),
        ]
        lines = [line for text in texts for line in textwrap.wrap(text, 96)]
        return "\n".join(f"# {line}" for line in lines).replace(_JOINT, " ")

    def document(self) -> dict[str, Any]:
        """As one JSON object; times in seconds."""
        sample = self.found.sample
        return {
            "n": sample.n,
            "censored": sample.censored,
            **self.typical.document(),
            "adequate": self.is_adequate,
            "reschedule": self.keys(),
            "by_cause": None if self.by_cause is None else self.by_cause.document(),
        }


def repair_fit(log: FailureLog) -> RepairFit | None:
    """Fit laws to the outages of a log; None where it tells of no repairs."""
    found = repair_times(log)
    if found is None:
        return None
    by_cause = repairs_by_cause(found)
    try:
        return RepairFit(found, *fit_and_judge(found.sample), by_cause, log.of_nodes)
    except LogError:  # too few, or all alike
        return RepairFit(found, [], {}, by_cause, log.of_nodes)


def repairs_and_restarts(log: FailureLog) -> tuple[RepairFit | None, RepairFit | None]:
    """Return `repair_fit` of failures of nodes, and of those of processes alone."""
    if log.severities is None:
        return repair_fit(log), None
    mild = np.array([each == "process" for each in log.severities])
    parts = (log.only(np.flatnonzero(~mild)), log.only(np.flatnonzero(mild)))
    nodes, processes = (repair_fit(each) if len(each) else None for each in parts)
    return nodes, processes


def _in_one_piece(value: object) -> str:
    """As TOML, so that lines are broken between durations and not within one."""
    if isinstance(value, list):
        return f"[{', '.join(map(_in_one_piece, value))}]"
    return json.dumps(value, ensure_ascii=False).replace(" ", _JOINT)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
