"""One policy's real runs beside what was predicted of them, and what that comes to in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from cprsim.basics.units import format_duration
from cprsim.contract.ledger import CAUSES, OVERHEAD_CAUSES
from cprsim.trainer.training import Trained
from cprsim.trainer.validation.predicted import Prediction

OVERHEAD = "overhead"
#: What the sum of overhead may be off by, as a share: eight runs of the same were within 17 % of
#: each other in nine of ten configurations (a machine of two cores, otherwise idle).
SUM_SHARE = 0.20
#: What a cause may be off by: the larger of a share and so many seconds.
CAUSE_SHARE, CAUSE_S = 0.25, 0.05
#: What updates lost may be off by.
_UPDATES_SHARE = 0.05
#: Of shares: what is beyond is rounding.
_DIGITS = 12
#: What has another name for people.
_WHAT = {"pls": "PLS"}


class Load(NamedTuple):
    """Processes that ran or waited for a core, means of a minute: before, and the most meanwhile.

    What is trained here is in the second, all `members` of it; `cores` are those that it may use.
    """

    before: float
    during: float
    cores: int
    members: int

    @property
    def most(self) -> float:
        """The larger."""
        return max(self.before, self.during)

    @property
    def too_much(self) -> bool:
        """Whether others must have used the cores, too: there were more than these members."""
        return self.before > self.cores or self.during > max(self.cores, self.members)


class Comparison(NamedTuple):
    """One quantity, predicted and measured.

    `noise`: the largest less the least of the repeats. `bound`: what it may be off by; 0 if it has
    to agree.
    """

    what: str
    predicted: float
    measured: float
    bound: float
    noise: float = 0.0

    @property
    def off(self) -> float:
        """The distance, but for rounding."""
        return round(self.predicted - self.measured, _DIGITS)

    @property
    def within(self) -> bool:
        """Whether it is off by no more."""
        return abs(self.off) <= self.bound + 1e-9 * abs(self.measured)

    @property
    def label(self) -> str:
        """What it is, for people."""
        return _WHAT.get(self.what, self.what.replace("_", " "))

    def percent(self, digits: int = 0) -> str:
        """The distance in percent of what was measured; nothing of nothing."""
        if not self.measured:
            return ""
        share = round(100 * self.off / self.measured, digits)
        return f"{share:+,.{digits}f}" if share else "0"


@dataclass(frozen=True)
class Compared:
    """One policy's run, as predicted and as it came, once or again and again."""

    policy: str
    prediction: Prediction
    runs: Sequence[Trained]

    @property
    def silent(self) -> int:
        """Members that were silent for too long in real runs: failures that none had struck."""
        return sum(run.replaced - run.struck for run in self.runs)

    def seconds(self) -> list[Comparison]:
        """Each cause that took time, and the sum of those of overhead, s."""
        told = [row for row in map(self._cause, CAUSES) if row.predicted or row.measured]
        sums, predicted = self.sums(), self.prediction.overhead_s
        measured = median(sums)
        bound, noise = SUM_SHARE * measured, max(sums) - min(sums)
        return [*told, Comparison(OVERHEAD, predicted, measured, bound, noise)]

    def sums(self) -> list[float]:
        """The overhead of each run in which nobody was silent for too long, s."""
        return [math.fsum(run.seconds[cause] for cause in OVERHEAD_CAUSES) for run in self._usual]

    def counts(self) -> list[Comparison]:
        """What is no time; of runs that differ, the one that is farthest off."""
        found = []
        for what, predicted in self.prediction.counts().items():
            each = [_counted(run, what) for run in self._usual]
            measured = max(each, key=lambda value: abs(value - predicted))
            bound = _UPDATES_SHARE * measured if what == "updates_lost" else 0.0
            found.append(Comparison(what, predicted, measured, bound, max(each) - min(each)))
        return found

    def verdict(self, load: Load) -> str:
        """What came of it, in words; nothing is said of seconds where the machine had none."""
        off = [row for row in self.counts() if not row.within]
        counts = "; ".join(f"{row.label} off by {_distance(row)}" for row in off)
        if all(row.bound for row in off):  # but for updates lost, which are no count
            counts = "; ".join(filter(None, ["counts exact", counts]))
        if load.too_much:
            return (
                f"{counts}; no verdict on seconds, for the load was {load.most:.1f} on "
                f"{load.cores} cores: try again on a quieter machine"
            )
        return f"{counts}; {self._of_seconds()}"

    def _of_seconds(self) -> str:
        *causes, overhead = self.seconds()
        wide = "; ".join(
            f"{row.label} off by {_distance(row)} ({_signed(row.off)})"
            for row in causes
            if row.what in OVERHEAD_CAUSES and not row.within
        )
        if overhead.within:
            return f"overhead within {100 * SUM_SHARE:g} %{f', but {wide}' if wide else ''}"
        return f"overhead off by {_distance(overhead)}{f': {wide}' if wide else ''}"

    def document(self) -> dict[str, Any]:
        """What `cprsim validate --json` prints of it."""
        *causes, overhead = self.seconds()
        return {
            **self.prediction.document(),
            "measured": {cause: self._cause(cause).measured for cause in CAUSES},
            "noise_s": {row.what: row.noise for row in (*causes, overhead)},
            "overhead_s": {"predicted": overhead.predicted, "measured": overhead.measured},
            **{
                row.what: {"predicted": row.predicted, "measured": row.measured}
                for row in self.counts()
            },
            "silent": self.silent,
        }

    @property
    def _usual(self) -> list[Trained]:
        """Runs in which nobody was silent for too long, if there are any."""
        return [run for run in self.runs if run.replaced == run.struck] or list(self.runs)

    def _cause(self, cause: str) -> Comparison:
        each_s = [run.seconds[cause] for run in self._usual]
        measured = median(each_s)
        bound = max(CAUSE_SHARE * measured, CAUSE_S)
        predicted = getattr(self.prediction.ledger, cause)
        return Comparison(cause, predicted, measured, bound, max(each_s) - min(each_s))


def _counted(run: Trained, what: str) -> float:
    if what == "lost_steps":
        return run.executed - run.steps
    return float(getattr(run, what))


def _distance(row: Comparison) -> str:
    """In percent, or as it is where nothing was measured."""
    if row.measured:
        return f"{row.percent()} %"
    return _signed(row.off) if row.what in (*CAUSES, OVERHEAD) else f"{row.off:+.2g}"


def _signed(seconds: float) -> str:
    return f"{'+' * (seconds > 0)}{format_duration(seconds)}"
