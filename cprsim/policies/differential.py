"""Background saves of modified rows alone: Check-N-Run, and chains of deltas that are merged."""

from math import inf
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from cprsim.basics.periods import whole_periods
from cprsim.basics.schema import Part, PositiveSeconds, Seconds
from cprsim.contract.actions import Save
from cprsim.contract.controller import saves_of
from cprsim.contract.plan import VARIANTS, Differences, Plan, Variant, every
from cprsim.contract.policy import Choice, Context, Interval, Policy, Setting
from cprsim.job.derived import OwnCost, snapshot, tracked_rows
from cprsim.job.tiers import REMOTE, Tier
from cprsim.job.workload import DTYPE_BYTES, Model
from cprsim.policies.asynchronous import background_interval_s
from cprsim.policies.full import FULL_ROLLBACK

#: Bits of an element that quantisation starts from, where no table says.
_FLOAT32 = 32
#: Of each quantised vector: its scale and its offset, float32 each.
_RANGE_BYTES = 8.0
#: Intervals ahead for which modified shares are computed one by one; later ones are interpolated.
_ONE_BY_ONE = 1000
_LATER = 200  # points
_MOST_SAVES = 10_000  # that a mean is taken over: chains repeat long before
#: A snapshot where no model says how large the state is (NSDI 2022, recalled).
_PUBLISHED = OwnCost("snapshot", 7.0, "s", "assumed", "Check-N-Run's bound, on its machines")


class DifferentialSaving(Policy):
    """Write only modified rows, in the background; a failure takes the whole job back.

    Every `interval` training stalls for an atomic `snapshot` in memory, and what has changed is
    written during training, one save at a time; it counts from the instant its last byte is
    stored. The first save is a baseline, and so is one that finds every row modified. The dense
    part and tables that aren't tracked are written whole each time. A restore reads the baseline
    and what came after it; the chain continues from the checkpoint that was restored.

    Rows modified by n samples: `f(n) = (1/V) sum_i (1 - (1 - p_i)^n)` of each tracked table. Where
    nothing is known of rows, `modified` gives the share of one interval, n of them take
    `min(1, modified n^growth)`; where it is given it wins. An element of 32 bits takes `bits`, a
    vector 8 further bytes for its scale and offset, where tables say how long it is; optimizer
    state is quantised alike, the dense part isn't. What quantisation does to accuracy is not
    modelled. `tracking`: share of time that marking rows adds to every useful second; by default
    rows looked up a second times what counting one takes, shared among the servers.

    `interval`: training from one save to the next. `bits`: size of a quantised element in bits.
    `snapshot`: time that a save stops training. `modified`: share of the rows that one interval
    modifies. `growth`: how the share of modified rows grows with n intervals, as n to that power.

    Defaults: `snapshot`: a server's part of the state over `cluster.memory_bandwidth`; without
    `[model]` Check-N-Run's bound of 7 s, on its machines (recalled). `growth`: calibrated on a
    quarter of the rows in one interval and over half in ten (recalled). `tracking` was under 1 %
    there (recalled).
    """

    interval: Interval = 1800.0
    bits: Annotated[int, Field(ge=1, le=32)] = 32
    snapshot_s: Seconds | None = Field(None, alias="snapshot")
    tracking: Annotated[float, Field(ge=0, examples=[0.005])] | None = None
    modified: Annotated[float, Field(gt=0, le=1, examples=[0.25]), Part] | None = None
    growth: Annotated[float, Field(ge=0, le=1), Part] = 0.33

    @property
    def _chained(self) -> tuple[Variant, float]:
        """The variant of differences, and training from one merging to the next, s."""
        raise NotImplementedError

    def plan(self, context: Context) -> Plan:
        """Look up what each number of intervals modifies; the schedule holds the mean save."""
        model, known = context.costs.model, context.rows
        quantised = self._quantised(model)
        of_rows = tracked = 1.0
        # Memory of one bit a row, as a share of that of the tracked rows.
        marks = 0.0 if known is None else known.tracked_rows / 8 / known.tracked_bytes
        if model is not None:
            of_rows = tracked = model.shard_bytes / model.checkpoint_bytes
            if known is not None:
                tracked = known.tracked_bytes / model.checkpoint_bytes
        whole = 1 - (1 - quantised) * of_rows
        copied = snapshot(context.costs, self.snapshot_s)
        if copied.basis == "unknown":
            copied = _PUBLISHED
        marking = tracked_rows(context.costs, self.tracking, "mfu", "tracking")
        interval_s = self._interval_s(context, whole, copied.value)
        at, shares = self._modified(context, interval_s)
        variant, merge_s = self._chained
        rows = tracked * quantised
        law = Differences(variant, interval_s, whole, rows, at, shares, self.bits, merge_s)
        return Plan(
            recovery="full",
            schedules=every(interval_s, mean_save_of_differences(law, context.useful_time_s)),
            recover=FULL_ROLLBACK,
            tiers=(Tier(REMOTE.name, snapshot_s=copied.value),),
            sequence=law,
            slowdown=marking.value,
            memory_overhead=1.0 + marks,
            own_costs=(copied, marking),
        )

    def _interval_s(self, context: Context, whole: float, snapshot_s: float) -> float:
        """The interval, or as often as baselines land where that is rarer, s."""
        landing_s = self._save_s(context, writes=whole)
        return background_interval_s(self.interval, snapshot_s, landing_s, context.mtbf_s)

    def _modified(
        self, context: Context, interval_s: float
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Numbers of intervals, ascending, and the share of the tracked bytes that they modify."""
        rows, samples = context.rows, context.samples
        if self.modified is None and (rows is None or samples is None):
            lacks = "job.samples" if rows is not None else "[model] with a preset or tables"
            raise ValueError(
                f"system {self.system!r} has to know how many rows change: give {lacks}, or what "
                "one interval modifies, e.g. modified = 0.25"
            )
        most = whole_periods(context.useful_time_s, interval_s) + 1
        at = np.arange(min(most, _ONE_BY_ONE) + 1.0)
        if most > _ONE_BY_ONE:
            at = np.concatenate([at, np.geomspace(_ONE_BY_ONE, most, _LATER)[1:]])
        if self.modified is not None:
            shares = np.minimum(self.modified * at**self.growth, 1.0)
        elif most == 1:  # no save comes after the first, and the interval may be infinite
            shares = np.array([0.0, 1.0])
        else:
            assert rows is not None
            assert samples is not None
            shares = rows.modified_share(at * (samples * interval_s / context.useful_time_s))
        return tuple(at.tolist()), tuple(shares.tolist())

    def _quantised(self, model: Model | None) -> float:
        """Bytes written of rows and optimizer state, per byte."""
        if model is None or model.rows is None:
            return self.bits / _FLOAT32
        tables = model.rows.tables
        widths = [_FLOAT32] * len(tables)
        if model.tables is not None:
            widths = [8 * DTYPE_BYTES[table.dtype] for table in model.tables]
        saved = written = 0.0
        for table, width in zip(tables, widths, strict=True):
            share = 1.0
            if self.bits < width:
                share = min(self.bits / width + _RANGE_BYTES / table.row_bytes, 1.0)
            saved += table.saved_bytes
            written += share * table.saved_bytes
        return written / saved


class CheckNRun(DifferentialSaving):
    """Write only modified rows, quantised, in the background; a failure takes the whole job back.

    Source: Check-N-Run (NSDI 2022).

    `variant`: `"one-shot"` writes the rows modified since the baseline, `"consecutive"` those since
    the save before, `"intermittent"` is one-shot with a new baseline whenever `rebaseline_pays`.

    Defaults: 30 min, intermittent, a bit-width among the paper's 2 to 8.
    """

    system: Literal["check-n-run"]
    variant: Variant = "intermittent"
    bits: Annotated[int, Field(ge=1, le=32)] = 4

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Its interval and its variant; fewer bits cost accuracy, which isn't modelled."""
        return (*super().settings(context), Choice("variant", VARIANTS))

    @property
    def _chained(self) -> tuple[Variant, float]:
        return self.variant, inf


class Delta(DifferentialSaving):
    """Write modified rows often, in the background; another machine merges them into a new base.

    Source: DECK (PVLDB 18(12), 2025); TorchRec's delta tracker.

    A delta holds the rows modified since the one before. Every `merge` of training another machine
    merges the deltas taken before that into a new base; a later delta is written after it. A
    load reads the base and the deltas after it, so its length is limited by `merge`, as that of
    consecutive differences isn't. The merging machine reads and writes through separate links:
    neither its time nor its bytes are charged to the job. It has finished by the next delta.

    `merge`: training from one merging to the next.

    Defaults: a delta every 2.5 min, twelve times as often as Check-N-Run saves (DECK's gain),
    merged every hour (assumed). Elements keep their 32 bits.
    """

    unpriced = "the machine that merges, and its traffic on the store, cost nothing"

    system: Literal["delta"]
    interval: Interval = 150.0
    merge_s: PositiveSeconds = Field(3600.0, alias="merge")

    @property
    def _chained(self) -> tuple[Variant, float]:
        return "consecutive", self.merge_s


def mean_save_of_differences(differences: Differences, useful_time_s: float) -> Save:
    """The mean of the saves of a run without failures; a baseline where there are none.

    Where others than the first are differences, so is the mean.
    """
    period_s = differences.interval_s
    count = min(whole_periods(useful_time_s, period_s), _MOST_SAVES)
    if count <= 1:
        return next(saves_of(differences, [0.0]))
    writes = reads = 0.0
    for save in saves_of(differences, (number * period_s for number in range(count))):
        writes, reads = writes + save.writes, reads + save.reads
    return save._replace(writes=writes / count, reads=reads / count, since=differences.since)
