"""First-order expectation of a plan's overhead: CPR's equations (E1), (E2), (E5) read off a plan.

Which equation applies is the plan's own answer to a loss, so a policy's rule is written once.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cprsim.closed_form.cpr import expected_pls, full_overhead, partial_overhead
from cprsim.contract import Context, Loss, Plan

_ROUNDING = 1e-12  # of the number of saves: 0.3 is three times 0.1, too


@dataclass(frozen=True, slots=True)
class Expected:
    """Mean seconds by cause over useful seconds, and the expected shares of learning lost.

    `updates_lost` leaves out that a shard which fails again has less to lose.
    """

    save: float
    load: float
    lost: float
    reschedule: float
    detect: float
    slowdown: float
    stall: float
    pls: float
    updates_lost: float

    @property
    def overhead(self) -> float:
        """Wall time / useful time - 1, to first order in the shares."""
        return (
            self.save
            + self.load
            + self.lost
            + self.reschedule
            + self.detect
            + self.slowdown
            + self.stall
        )


def expected(plan: Plan, context: Context) -> Expected:
    """What `plan` should cost in `context`, to first order.

    Neglects what is rare: failures in recoveries, and rollbacks that take several losses at once.
    Assumes failures at a constant rate 1/MTBF of useful time, at instants uniform over the save
    cycle, no failure during a save or recovery, and useful time / interval saves (not rounded).
    Lost computation is half an interval (E1), plus the time that a background save takes to land.
    """
    save_s = context.portion_save_s(plan.save.portion)
    charge_s = save_s if plan.save.blocking else plan.save.stall_s
    late_s = 0.0 if plan.save.blocking else save_s
    # A job shorter than the interval can lose no more than all of itself,
    exposed_s = min(plan.interval_s, context.useful_time_s)
    # and it never comes to a save.
    period_s = plan.period_s if plan.period_s < context.useful_time_s else math.inf
    cycle = partial_overhead(period_s, charge_s, 0.0, context.mtbf_s)
    load = lost = reschedule = pls = updates = 0.0
    for kind in _kinds(context):
        answer = plan.recover(kind.loss)
        mtbf_s = context.mtbf_s / kind.share
        if answer.rollback == "all":
            lost += full_overhead(exposed_s, 0.0, 0.0, mtbf_s).lost + late_s / mtbf_s
        elif answer.rollback == "lost" and kind.loss.servers:
            pls += expected_pls(exposed_s, context.mtbf_s, context.servers, context.servers_hit)
            unsaved_s = mean_unsaved_s(plan, context.useful_time_s)
            # (E5) is about half an interval on average.
            updates += expected_pls(
                2 * unsaved_s, context.mtbf_s, context.servers, context.servers_hit
            )
        if not answer.keep_training:
            nodes = len(kind.loss.servers) + len(kind.loss.trainers)
            if nodes > context.costs.cluster.spares:  # else spares take over at once
                reschedule += context.costs.reschedule_mean_s / mtbf_s
            transfer = context.costs.load(answer.rollback, len(kind.loss.servers))
            load += context.costs.seconds(transfer) / mtbf_s
    return Expected(
        save=cycle.save if plan.save.blocking else 0.0,
        load=load,
        lost=lost,
        reschedule=reschedule,
        detect=context.costs.costs.detect_s / context.mtbf_s,
        slowdown=training_slowdown(plan, context),
        stall=0.0 if plan.save.blocking else cycle.save,
        pls=pls,
        updates_lost=updates,
    )


def mean_unsaved_s(plan: Plan, useful_time_s: float) -> float:
    """Updates of a shard that no save holds, in useful seconds, on average over the job.

    Of a shard that is whole at first and never set back. After each save `plan.left` is left, and
    it grows by as much as is trained.
    """
    period_s = plan.period_s
    if period_s >= useful_time_s:
        return useful_time_s / 2
    saves = math.floor(useful_time_s / period_s * (1 + _ROUNDING))
    rest_s = max(useful_time_s - saves * period_s, 0.0)
    known = plan.left[: saves - 1]
    after = math.fsum(known) + (saves - 1 - len(known)) * plan.left[-1]
    last = plan.left[min(saves, len(plan.left)) - 1]
    left_s = after * plan.interval_s * period_s + last * plan.interval_s * rest_s if last else 0.0
    return (saves * period_s**2 / 2 + rest_s**2 / 2 + left_s) / useful_time_s


def training_slowdown(plan: Plan, context: Context) -> float:
    """Share of time that the plan adds to every useful second, its push traffic included."""
    return context.costs.seconds(context.costs.training(plan.push_factor, plan.slowdown)) - 1.0


class _Kind(NamedTuple):
    """A kind of failure: its share of all failures, and what it takes down."""

    share: float
    loss: Loss


def _kinds(context: Context) -> Iterator[_Kind]:
    if math.isinf(context.mtbf_s):
        return
    share = context.server_failure_share
    if share > 0:
        # Servers that fail together lie apart from each other, as random ones mostly do.
        hit = max(1, round(context.servers_hit / share))
        servers = frozenset(i * context.servers // hit for i in range(hit))
        together = round(context.trainers_hit) if share == 1 else 0
        yield _Kind(share, Loss(servers, frozenset(range(together))))
    if share < 1:
        hit = max(1, round(context.trainers_hit / (1 - share)))
        yield _Kind(1 - share, Loss(frozenset(), frozenset(range(hit))))
