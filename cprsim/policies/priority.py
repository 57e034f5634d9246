"""CPR's priority saving: the rows that matter most, more often."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from cprsim.basics.schema import Part, Seconds
from cprsim.contract.actions import Save
from cprsim.contract.plan import Chains, Plan, Tracking, every
from cprsim.contract.policy import Choice, Context, Setting
from cprsim.job.derived import OwnCost, tracked_rows
from cprsim.job.tiers import REMOTE
from cprsim.policies.cpr import Cpr
from cprsim.rows.lost import Lost
from cprsim.rows.model import PartialSaves, RowModel
from cprsim.rows.names import TrackerName

#: Of the rows: what a search tries; CPR's choice is 1/8.
_FRACTIONS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
#: Saves from one merging to the next, at most.
MOST_APPENDED = 100_000


class PrioritySaving(Cpr):
    """CPR-vanilla's interval and bandwidth, spent on the rows that a tracker chooses.

    `fraction`: share of the rows that one save takes. Every `fraction` of the interval, the
    `fraction` of the rows that deserve it most is saved; all tables but the largest are saved whole
    each time. That is CPR-vanilla's time, but for the small tables, and far less learning is lost:
    `updates_lost`. `pls` doesn't know of rows; it counts from the last time that as much was saved
    as a full checkpoint holds. Where full recovery costs no more than this plan, the plan is full
    recovery (E7).

    What is lost comes from the mean field of `cprsim.rows.meanfield`, in updates that count alike,
    whatever their movement; `cprsim rows` reports movement as well. Each server chooses among its
    own rows, and what its tracker knew is lost with it: so a shard that was set back is as at the
    start. One that was set back within a period is taken to have had that part of a save.

    `slowdown`: share of time that tracking adds to every useful second; by default rows looked up a
    second times what the tracker takes for one, shared among the servers. With a `fraction` of 1
    nothing is tracked: it is CPR-vanilla.

    `writes`: share of that which a save really writes, and collects: rows that nobody used since
    they were last saved are in none, however many it may take. `select`: time that choosing takes
    this tracker, in addition to `costs.select`.

    `merge_after`: saves are appended to the last whole one, and each `merge_after`-th is merged
    with them into another, which takes `costs.merge`, or else what loading them and saving
    everything does. A load reads what was appended, which takes `costs.append` for each. Otherwise
    rows are saved in their places.
    """

    tracker: ClassVar[TrackerName]
    fraction: Annotated[float, Field(gt=0, le=1), Part] = 0.125
    slowdown: Annotated[float, Field(ge=0, examples=[0.005])] | None = None
    writes: Annotated[float, Field(gt=0, le=1, examples=[0.6])] = 1.0
    select_s: Seconds = Field(0.0, alias="select")
    merge_after: Annotated[int, Field(ge=1, le=MOST_APPENDED, examples=[24])] | None = None

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Its interval, and the fraction of the rows that a save takes."""
        return (*super().settings(context), Choice("fraction", _FRACTIONS))

    @property
    def _batches(self) -> tuple[int, int]:
        """The tracker looks at one of so many batches, and at so many of these as one."""
        return 1, 1

    def _tracking(self, context: Context) -> OwnCost:
        return tracked_rows(context.costs, self.slowdown, self.tracker, "slowdown")

    def _saving(self, context: Context) -> tuple[float, float, float, float]:
        if self.fraction == 1:
            return super()._saving(context)
        return self.fraction, self._tracking(context).value, self.writes, self.select_s

    def partial(self, context: Context, interval_s: float) -> Plan:
        """CPR-vanilla's plan, its saves cut into portions."""
        plan = super().partial(context, interval_s)
        if self.fraction == 1:
            return plan
        rows = context.rows
        if rows is None or context.samples is None:
            lacks = "job.samples" if rows is not None else "[model] with a preset or tables"
            raise ValueError(f"system {self.system!r} has to know which rows are hot: give {lacks}")
        lost = self._lost(context, rows, context.samples, interval_s)
        unsaved_s = (0.0,) if lost is None else tuple((lost.after * interval_s).tolist())
        left = None if lost is None else lost.left
        observed = self._tracking(context)
        save = Save(
            portion=self.fraction,
            unsaved_s=unsaved_s,
            writes=self.writes,
            extra_s=self.select_s,
        )
        plan = replace(
            plan,
            schedules=every(interval_s, save),
            tracking=Tracking(self.tracker, self.fraction, self._batches[0], left),
            slowdown=observed.value,
            memory_overhead=rows.memory_overhead(self.tracker, self.fraction),
            own_costs=(observed,),
        )
        return plan if self.merge_after is None else _appended(plan, context, self.merge_after)

    def _lost(
        self, context: Context, rows: RowModel, samples: int, interval_s: float
    ) -> Lost | None:
        """Return the updates that its saves leave; None where the job ends before the first."""
        most = rows.most_saves(self.tracker) * self.fraction
        intervals = min(context.useful_time_s / interval_s, most)
        if intervals < self.fraction:
            return None
        each = samples * interval_s / context.useful_time_s
        subsample, together = self._batches
        return rows.lost(
            PartialSaves(
                self.tracker, self.fraction, each, intervals, subsample, interval_s, together
            )
        )


def _appended(plan: Plan, context: Context, merge_after: int) -> Plan:
    """The plan where saves are appended to the last whole one until they are merged."""
    (schedule,) = plan.schedules
    costs = context.costs

    def load_s(reads: float) -> float:
        return costs.seconds(costs.load(REMOTE, "lost", context.servers, reads))

    whole_s, merge_s = load_s(1.0), costs.costs.merge_s
    each = costs.costs.append_s / whole_s if whole_s else 0.0
    if merge_s is None:
        merge_s = load_s(1 + merge_after * each) + context.save_s
    chain = [schedule.save._replace(reads=1 + place * each) for place in range(1, merge_after)]
    chain.append(schedule.save._replace(extra_s=schedule.save.extra_s + merge_s))
    return replace(plan, sequence=Chains((tuple(chain),)))


class CprMfu(PrioritySaving):
    """Recover only the lost shards, and save the most frequently used rows more often.

    Source: CPR-MFU (Maeng et al., MLSys 2021): a counter for each row.
    """

    system: Literal["cpr-mfu"]
    tracker = "mfu"


class CprScar(PrioritySaving):
    """Recover only the lost shards, and save the rows that changed most more often.

    Source: CPR-SCAR (Maeng et al., MLSys 2021): the rows that changed most since they were last
    saved, by a second copy of the tables.

    By `optimizer_rule` of the model: where every update moves its row alike, it chooses the rows
    that MFU does; under Adagrad, rows whose updates are few and large before those. With
    `gradient_directions` updates of a row point here and there, so that popular ones hardly move.
    """

    system: Literal["cpr-scar"]
    tracker = "scar"


class CprSsu(PrioritySaving):
    """Recover only the lost shards, and save the rows seen in some batches more often.

    Source: CPR-SSU (Maeng et al., MLSys 2021): a bounded list of rows, with random eviction.

    `subsample`: of so many batches the tracker looks at one. `together`: so many of these go on the
    list as one, as in cprsim's trainer, where that is quicker; it matters where the model has a
    `batch`.
    """

    system: Literal["cpr-ssu"]
    tracker = "ssu"
    subsample: Annotated[int, Field(ge=1)] = 2
    together: Annotated[int, Field(ge=1)] = 1

    @property
    def _batches(self) -> tuple[int, int]:
        return self.subsample, self.together
