"""Updates lost and memory used by priority saving of hot rows: `cprsim rows`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from cprsim.basics.units import SECONDS, format_percent
from cprsim.contract import Context, Plan
from cprsim.contract.expected import expected, mean_unsaved_s
from cprsim.errors import UsageError
from cprsim.policies.cpr import Cpr
from cprsim.policies.partial import partial_plan
from cprsim.policies.priority import CprMfu, CprScar, CprSsu, PrioritySaving
from cprsim.rows.meanfield import TRACKERS, MeanField
from cprsim.rows.model import MOST_PLAYED, PartialSaves, RowModel
from cprsim.rows.names import OptimizerRule
from cprsim.rows.popularity import Popularity, zipf
from cprsim.rows.skew import Skew
from cprsim.runs.summaries import finite
from cprsim.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Fractions of the rows that the picture shows.
FRACTIONS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
_ADAGRAD = "Change: under Adagrad a row's k-th update moves it by 1 / sqrt(k) of its first."


class RowLoss(NamedTuple):
    """The rows that one policy loses.

    `updates_lost_relative`: updates that a failure at a uniform time of the job loses on average,
    relative to saving everything at the same interval; `change_lost_relative`: the movement of its
    rows. `updates_lost` and `change_lost`: shares of all updates and of all movement that the job
    is expected to lose for good under partial recovery, to first order. `memory_overhead`: what its
    tracker keeps, as a share of the rows it tracks. `rows_per_save`: of all tables. `interval_s`:
    useful seconds in which as many rows are saved as there are; `period_s`: between two saves.
    """

    system: str
    updates_lost_relative: float
    change_lost_relative: float
    updates_lost: float
    change_lost: float
    memory_overhead: float
    rows_per_save: int
    interval_s: float
    period_s: float


@dataclass(frozen=True, eq=False)
class RowLosses:
    """The losses of each CPR policy of a scenario, by name."""

    scenario: Scenario
    policies: Mapping[str, RowLoss]

    @property
    def _rows(self) -> RowModel:
        return _rows_of(self.scenario.context)

    @property
    def rule(self) -> OptimizerRule:
        """Distance that an update moves its row; under "sgd" lost change equals lost updates."""
        return self._rows.rule

    @property
    def notes(self) -> list[str]:
        """A sentence on the tracked tables, and one on the meaning of change."""
        rows = self._rows
        everything = sum(table.rows for table in rows.tables)
        full = [
            f"{name}: full recovery costs no more here, and `run` plays that."
            for name in self.policies
            if name in self.scenario.policies and self.scenario.plan(name).recovery == "full"
        ]
        share = format_percent(rows.tracked_rows / everything)
        return [
            *full,
            f"Tracked: {len(rows.tracked)} of {len(rows.tables)} tables, with {share} of "
            f"{everything:,} rows; the others are saved whole each time.",
            *([_ADAGRAD] if self.rule == "adagrad" else []),
        ]

    def document(self) -> dict[str, Any]:
        """Return the document of `cprsim rows --json`."""
        policies = {name: each._asdict() for name, each in self.policies.items()}
        for each in policies.values():
            each |= {key: finite(each[key]) for key in ("interval_s", "period_s")}
        return {"scenario": self.scenario.title, "policies": policies}

    def figure(self) -> "Figure":
        """Lost share against the fraction of a save, for the largest table under several skews."""
        from cprsim.figures.measured import lost_rows  # noqa: PLC0415  (matplotlib is slow)

        context, rows = self.scenario.context, self._rows
        table = max(rows.tracked, key=lambda each: each.rows)
        useful_s = context.useful_time_s
        intervals = max(useful_s / min(each.interval_s for each in self.policies.values()), 1.0)
        updates = float(context.samples or 0) * table.lookups / intervals
        renewed = rows.renewed * useful_s / SECONDS["d"] / intervals
        if rows.rule != "sgd" or renewed:
            intervals = min(intervals, MOST_PLAYED * min(FRACTIONS))
        skews = skews_of(table.rows) | {f"Zipf {e}": zipf(table.rows, e) for e in (0.8, 1.2)}
        order = ("uniform", "Zipf 0.8", "Zipf 1.2", "dlrm-production")
        title = (
            f"{self.scenario.title or 'cprsim rows'}: a table of {table.rows:,} rows over "
            f"{intervals:.3g} intervals"
        )
        chosen = {name: skews[name] for name in order}
        return lost_rows(curves(chosen, updates, intervals, rows.rule, renewed), title)


def skews_of(rows: int) -> dict[str, Popularity]:
    """Return the skews with a name, of a table of so many rows."""
    return {name: Skew(name=name).popularity(rows) for name in ("uniform", "dlrm-production")}


def row_losses(scenario: Scenario, policies: Iterable[str] | None = None) -> RowLosses:
    """Return the losses of each CPR policy, by the mean field over classes of rows.

    Where no policy is chosen and the scenario has none that saves rows by priority, those of CPR
    take their place, as they are by default. Raises `ScenarioError` if a chosen policy isn't there,
    and `UsageError` if none is CPR's, or the scenario doesn't say how rows are accessed.
    """
    context = scenario.context
    chosen = {name: scenario.policies[name] for name in scenario.select(policies)}
    cpr = {name: each for name, each in chosen.items() if isinstance(each, Cpr)}
    if policies is None and not any(isinstance(each, PrioritySaving) for each in cpr.values()):
        cpr |= {
            "cpr-mfu": CprMfu(system="cpr-mfu"),
            "cpr-ssu": CprSsu(system="cpr-ssu"),
            "cpr-scar": CprScar(system="cpr-scar"),
        }
    if not cpr:
        raise UsageError('no chosen policy saves rows; choose one of CPR\'s, e.g. "cpr-mfu"')
    if context.samples is None:
        raise UsageError("the scenario has no job.samples: how often rows are accessed is unknown")
    return RowLosses(scenario, {name: _loss(each, context) for name, each in cpr.items()})


def _rows_of(context: Context) -> RowModel:
    if context.rows is None:
        raise UsageError("the scenario has no rows: give [model] a preset or tables")
    return context.rows


def _loss(policy: Cpr, context: Context) -> RowLoss:
    rows, interval_s = _rows_of(context), policy.interval_s(context)
    if interval_s == 0:  # none meets the target: the paper's, with a note that the plan is full
        interval_s = policy.model_copy(update={"pls_interval": "E6"}).interval_s(context)
    plan = policy.model_copy(update={"interval": interval_s}).planned(context)
    (schedule,), (whole,) = plan.schedules, partial_plan(interval_s).schedules
    useful_time_s = context.useful_time_s
    rest = sum(table.rows for table in rows.tables) - rows.tracked_rows
    unsaved_s = mean_unsaved_s(schedule, useful_time_s)
    relative = unsaved_s / mean_unsaved_s(whole, useful_time_s)
    updates_lost = expected(plan, context).updates_lost
    change_relative, heavier = relative, 1.0
    if rows.rule != "sgd":
        change_relative, share = _change(plan, context, interval_s)
        heavier = share / (unsaved_s / useful_time_s)
    return RowLoss(
        system=policy.system,
        updates_lost_relative=relative,
        change_lost_relative=change_relative,
        updates_lost=updates_lost,
        change_lost=updates_lost * heavier,
        memory_overhead=plan.memory_overhead,
        rows_per_save=round(schedule.save.portion * rows.tracked_rows) + rest,
        interval_s=interval_s,
        period_s=schedule.period_s,
    )


def _change(plan: Plan, context: Context, interval_s: float) -> tuple[float, float]:
    """Movement that a failure loses: relative to saving everything, and as a share of all of it.

    Of a job of more than `MOST_PLAYED` saves, in as many as that.
    """
    fraction, tracker, subsample = 1.0, TRACKERS[0], 1
    if plan.tracking is not None:
        tracker, fraction = plan.tracking.tracker, plan.tracking.fraction
        subsample = plan.tracking.subsample
    # A job without a save counts as one of half an interval.
    interval_s = min(interval_s, 2 * context.useful_time_s)
    samples = float(context.samples or 0) * interval_s / context.useful_time_s
    intervals = min(context.useful_time_s / interval_s, MOST_PLAYED * fraction)
    saving = PartialSaves(tracker, fraction, samples, intervals, subsample, interval_s)
    lost = _rows_of(context).change(saving)
    return lost.relative(intervals), lost.share(intervals)


def curves(
    skews: Mapping[str, Popularity],
    updates: float,
    intervals: float | None,
    rule: OptimizerRule = "sgd",
    renewed: float = 0.0,
) -> pd.DataFrame:
    """A row a skew, tracker and fraction: over so many intervals, or in the long run."""
    rows = []
    for (skew, popularity), fraction in product(skews.items(), FRACTIONS):
        field = MeanField(popularity, updates, fraction, rule=rule, renewed=renewed)
        for tracker in TRACKERS:
            if intervals is None:
                relative = field.long_run(tracker)
            else:
                relative = field.lost(tracker, intervals).relative(intervals)
            rows.append((skew, tracker, fraction, relative))
    return pd.DataFrame(rows, columns=["skew", "tracker", "fraction", "relative"])
