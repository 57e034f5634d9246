"""Real runs of a policy compared with its prediction, quantity by quantity, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

from cprsim.basics.units import format_duration
from cprsim.contract.ledger import CAUSES, OVERHEAD_CAUSES
from cprsim.trainer.training import Trained
from cprsim.trainer.validation.predicted import COUNTS, OVERHEAD, Prediction, quantities

#: Largest error of the sum of overhead, as a share: eight equal runs were within 17 % of each
#: other in nine of ten configurations (a machine of two cores, otherwise idle).
SUM_SHARE = 0.20
#: Largest error of a cause: the larger of a share and so many seconds.
CAUSE_SHARE, CAUSE_S = 0.25, 0.05
#: Largest error of updates lost, as a share; other counts have to agree.
_UPDATES, _UPDATES_SHARE = "updates_lost", 0.05
#: Digits of a distance; the rest is rounding.
_DIGITS = 12


class Load(NamedTuple):
    """Processes that ran or waited for a core, means of a minute: before, and the most meanwhile.

    The second includes all `members` of the job that is trained; `cores`: those that it may use.
    """

    before: float
    during: float
    cores: int
    members: int

    @property
    def too_much(self) -> bool:
        """True if other processes must have used the cores as well."""
        return self.before > self.cores or self.during > max(self.cores, self.members)


class Comparison(NamedTuple):
    """A quantity, predicted and measured: seconds of a cause or of all overhead, or a count.

    `noise`: the largest of the repeats less the smallest.
    """

    what: str
    predicted: float
    measured: float
    noise: float = 0.0

    @property
    def is_time(self) -> bool:
        """True if it is in seconds."""
        return self.what in (*CAUSES, OVERHEAD)

    @property
    def off(self) -> float:
        """The distance, but for rounding."""
        return round(self.predicted - self.measured, _DIGITS)

    @property
    def within(self) -> bool:
        """True if the error is within its bound; counts other than of updates have to agree."""
        if self.what == OVERHEAD:
            bound = SUM_SHARE * self.measured
        elif self.is_time:
            bound = max(CAUSE_SHARE * self.measured, CAUSE_S)
        else:
            bound = _UPDATES_SHARE * self.measured if self.what == _UPDATES else 0.0
        return abs(self.off) <= bound + 1e-9 * abs(self.measured)

    @property
    def label(self) -> str:
        """Its name in tables."""
        return "PLS" if self.what == "pls" else self.what.replace("_", " ")

    def percent(self, digits: int = 0) -> str:
        """Return the distance in percent of the measured value; nothing if that is 0."""
        if not self.measured:
            return ""
        share = round(100 * self.off / self.measured, digits)
        return f"{share:+,.{digits}f}" if share else "0"

    @property
    def shown(self) -> str:
        """The distance for a verdict: in percent, or in the unit if 0 was measured."""
        if self.measured:
            return f"off by {self.percent()} %"
        return f"off by {self.signed if self.is_time else f'{self.off:+.2g}'}"

    @property
    def signed(self) -> str:
        """The distance of a time, with its sign."""
        return f"{'+' * (self.off > 0)}{format_duration(self.off)}"


@dataclass(frozen=True)
class Compared:
    """The runs of one policy, compared with its prediction."""

    policy: str
    prediction: Prediction
    runs: Sequence[Trained]

    @property
    def silent(self) -> int:
        """Members that were silent for too long in real runs, with no failure of theirs."""
        return sum(run.replaced - run.struck for run in self.runs)

    def seconds(self) -> list[Comparison]:
        """Return each cause that took time, and the sum of those of overhead, s."""
        times = (row for row in self._rows if row.is_time)
        return [row for row in times if row.predicted or row.measured or row.what == OVERHEAD]

    def counts(self) -> list[Comparison]:
        """Return the quantities that are no time; of runs that differ, the one farthest off."""
        return [row for row in self._rows if not row.is_time]

    def sums(self) -> list[float]:
        """Return the overhead of each run without silent members, s."""
        return [of[OVERHEAD] for of in self._measured]

    def verdict(self, load: Load) -> str:
        """Return the result in words; on a busy machine it leaves seconds out."""
        off = [row for row in self.counts() if not row.within]
        counts = "; ".join(f"{row.label} {row.shown}" for row in off)
        if all(row.what == _UPDATES for row in off):
            counts = "; ".join(filter(None, ["counts exact", counts]))
        if load.too_much:
            most = max(load.before, load.during)
            return (
                f"{counts}; no verdict on seconds, for the load was {most:.1f} on "
                f"{load.cores} cores: try again on a quieter machine"
            )
        *causes, overhead = self.seconds()
        wide = "; ".join(
            f"{row.label} {row.shown} ({row.signed})"
            for row in causes
            if row.what in OVERHEAD_CAUSES and not row.within
        )
        if overhead.within:
            said = f"within {100 * SUM_SHARE:g} %{f', but {wide}' if wide else ''}"
        else:
            said = f"{overhead.shown}{f': {wide}' if wide else ''}"
        return f"{counts}; overhead {said}"

    def document(self) -> dict[str, Any]:
        """Return its part of `cprsim validate --json`."""
        pairs = {
            row.what: {"predicted": row.predicted, "measured": row.measured} for row in self._rows
        }
        return {
            **self.prediction.document(),
            "measured": {cause: pairs[cause]["measured"] for cause in CAUSES},
            "noise_s": {row.what: row.noise for row in self.seconds()},
            "overhead_s": pairs[OVERHEAD],
            **{row.what: pairs[row.what] for row in self.counts()},
            "silent": self.silent,
        }

    @cached_property
    def _measured(self) -> list[dict[str, float]]:
        """The quantities of each run without silent members, or of all if each had some."""
        usual = [run for run in self.runs if run.replaced == run.struck] or self.runs
        found = []
        for run in usual:
            counts = {what: float(getattr(run, what)) for what in COUNTS}
            found.append(quantities(run.seconds, counts, run.executed - run.steps))
        return found

    @cached_property
    def _rows(self) -> list[Comparison]:
        found = []
        for what, predicted in self.prediction.quantities.items():
            each = [of[what] for of in self._measured]
            is_time = what in (*CAUSES, OVERHEAD)
            farthest = max(each, key=lambda value: abs(value - predicted))
            measured = median(each) if is_time else farthest
            found.append(Comparison(what, predicted, measured, max(each) - min(each)))
        return found
