"""First-order expectation of a plan's overhead: CPR's equations (E1), (E2), (E5) read off a plan.

Which equation applies is the plan's own answer to a loss, so a policy's rule is written once.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from cprsim.basics.periods import whole_periods
from cprsim.contract import Context, Draining, Plan, Recover, Schedule, every, rules
from cprsim.contract.failure_kinds import FailureKind, kinds
from cprsim.contract.ledger import overhead_retrained
from cprsim.formulas.attempts import mean_attempts, skipped_age_s
from cprsim.formulas.pls import expected_pls
from cprsim.job.severity import SEVERITIES
from cprsim.job.start import mean_start
from cprsim.job.tiers import Tier
from cprsim.job.workload import Model


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
    verify: float
    pls: float
    updates_lost: float
    start: float = 0.0
    shutdown: float = 0.0

    @property
    def overhead(self) -> float:
        """Wall time / useful time - 1, to first order in the shares."""
        parts = self.save, self.load, self.lost, self.reschedule, self.detect, self.slowdown
        return sum((*parts, self.stall, self.verify, self.start, self.shutdown))

    @property
    def overhead_retrained(self) -> float:
        """That, and every lost update trained again."""
        return float(overhead_retrained(self.overhead, self.updates_lost))


def expected(plan: Plan, context: Context) -> Expected:
    """Return the expected cost of `plan` in `context`, to first order.

    Neglects what is rare: failures in recoveries, and rollbacks that take several losses at once.
    Assumes failures at a constant rate 1/MTBF of useful time, at instants uniform over the save
    cycle, no failure during a save or recovery, no outage of the store, useful time / interval
    saves (not rounded), and spares for all that fail where there are any for one failure. Lost
    computation is half an interval (E1), plus the time that a background save takes to land, plus
    how failed saves that are left out age checkpoints. Saves and loads that are tried again
    take as often as they have to in the mean.
    """
    return _Estimate(plan, context).expected()


def loses_nothing(plan: Plan, context: Context) -> bool:
    """Return whether no failure takes any learning for good, by how the plan recovers.

    A silent fault that nobody looks for takes all that is learned after it.
    """
    if context.overlooks_faults(plan):
        return False
    # What notices spare is no matter of what can be lost.
    unannounced = plan if plan.on_notice is None else replace(plan, on_notice=None)
    found = expected(unannounced, context)
    return bool(found.pls == 0 == found.updates_lost)


def bytes_read_per_failure(plan: Plan, model: Model, context: Context) -> float:
    """Bytes that one failure makes the job load from the store, the mean over kinds of failure.

    Everything on a return of the whole job, else the shards of the servers that one failure takes
    down; more or less of them where the plan's answer or its checkpoints say so, and as often as
    loads have to be begun again in the mean. As in `expected`, failures are taken one by one: what
    is loaded from the store only after several at once counts as what one of them makes it load.
    """
    total, estimate = 0.0, _Estimate(plan, context)
    for kind in kinds(context):
        answer, servers = plan.recover(kind.loss), len(kind.loss.servers)
        tier = plan.tier(answer.source)
        if tier.medium != "store":
            continue
        loaded = model.shard_bytes * servers / context.servers
        if answer.loads == "all":
            loaded = model.checkpoint_bytes
        attempts = mean_attempts(context.costs.load_fails(tier))
        total += kind.share * loaded * estimate.share_read(answer) * attempts
    return total


def mean_unsaved_s(schedule: Schedule, useful_time_s: float) -> float:
    """Updates of a shard that no save holds, in useful seconds, on average over the job.

    Of a shard that is whole at first and never set back. After each save `unsaved_s` is left, and
    it grows by as much as is trained.
    """
    period_s, unsaved_s = schedule.period_s, schedule.save.unsaved_s
    if period_s >= useful_time_s:
        return useful_time_s / 2
    saves = whole_periods(useful_time_s, period_s)
    rest_s = max(useful_time_s - saves * period_s, 0.0)
    known = unsaved_s[: saves - 1]
    after_s = math.fsum(known) + (saves - 1 - len(known)) * unsaved_s[-1]
    last_s: float = rules.updates_unsaved_s(unsaved_s, saves)
    left = after_s * period_s + last_s * rest_s
    return (saves * period_s**2 / 2 + rest_s**2 / 2 + left) / useful_time_s


class _Estimate:
    """The expectation of one plan in one context."""

    def __init__(self, plan: Plan, context: Context) -> None:
        self.plan, self.context, self.costs = plan, context, context.costs
        self.useful_s, self.mtbf_s = context.useful_time_s, context.mtbf_s
        self._in_place = plan.restarts_in_place(context.costs)

    def expected(self) -> Expected:
        """Return the mean seconds by cause over useful seconds, and what is lost."""
        save, stall = self._saves()
        starts = mean_start(self.costs.costs)
        first_s = rules.launch_s(*starts[:3], first=True, warm=False)
        causes = defaultdict[str, float](float)
        drained = 0.0
        for kind in kinds(self.context):
            of_kind = self._share_drained(kind)
            drained += kind.share * of_kind
            for cause, share in self._of_failures(kind):
                causes[cause] += (1 - of_kind) * share
        for cause, share in (*self._of_silent_faults(), *self._of_notices(drained)):
            causes[cause] += share
        detect = (1 - drained) * self.context.detect_s / self.mtbf_s
        own = (
            self.costs.seconds(self.costs.training(self.plan.slowdown, self.plan.peer_bytes_per_s))
            - 1.0
        )
        held = (causes[each] for each in ("load", "lost", "reschedule", "verify", "start"))
        wall = 1 + save + stall + detect + (own + causes["slowdown"]) + sum(held)
        for cause, share in self._of_allocations(wall):
            causes[cause] += share
        certain = {
            "save": save,
            "stall": stall,
            "detect": detect,
            "slowdown": own,
            "start": first_s / self.useful_s,
            "shutdown": starts.shutdown_s / self.useful_s,
        }
        return Expected(
            **{f.name: certain.get(f.name, 0.0) + causes[f.name] for f in fields(Expected)}
        )

    # --- Saves -----------------------------------------------------------------------------------

    def _saves(self) -> tuple[float, float]:
        """Time spent saving and stalled over useful time."""
        saving = stalled = further = 0.0
        for schedule in reversed(self.plan.schedules):
            # A job shorter than the period has no save.
            rate = 1 / schedule.period_s if schedule.period_s < self.useful_s else 0.0
            if schedule.save.blocking:
                # A blocking save to a tier serves the nearer ones as well.
                own, further = rules.own_saves(rate, further), max(rate, further)
                saving += own * self._save_s(schedule)
            else:
                stalled += rate * self.plan.tier(schedule.save.tier).snapshot_s
        return saving, stalled

    def _save_s(self, schedule: Schedule) -> float:
        """Return the time of a save, s; until it succeeds where it is tried again."""
        once_s = self.costs.seconds(self.plan.transfer(schedule.save, self.costs))
        if not self.plan.tries_again(schedule.save):
            return once_s
        return once_s * mean_attempts(self._fails(schedule))

    def _fails(self, schedule: Schedule) -> float:
        """Return the share of its saves that fail."""
        return self.costs.save_fails(self.plan.tier(schedule.save.tier), self.plan.checksum)

    def _late_s(self, schedule: Schedule) -> float:
        """Return by how much older than at a save the last checkpoint is on average, s.

        The time of a save in the background until it counts, and of failed ones that are left out.
        """
        if schedule.period_s >= self.useful_s:
            return 0.0  # a job shorter than the period has no save
        landing_s = 0.0 if schedule.save.blocking else self._save_s(schedule)
        if self.plan.tries_again(schedule.save):
            return landing_s
        fails = self._fails(schedule)
        return landing_s + skipped_age_s(schedule.period_s, self.useful_s, fails)

    def _to(self, tier: str | None) -> Schedule | None:
        """The first schedule of saves to that tier."""
        return next((each for each in self.plan.schedules if each.save.tier == tier), None)

    def share_read(self, answer: Recover) -> float:
        """Bytes that an answer's load reads, as a share of those of whole shards."""
        schedule = self._to(answer.source)
        of_checkpoint = 1.0 if schedule is None else schedule.save.reads
        return rules.bytes_read(answer.reads, answer.made_anew, of_checkpoint)

    # --- Failures --------------------------------------------------------------------------------

    def _of_failures(self, kind: FailureKind) -> Iterator[tuple[str, float]]:
        """Yield the costs of failures of one kind, by cause, over useful time."""
        costs, context, mtbf_s = self.costs, self.context, self.mtbf_s / kind.share
        answer, servers = self.plan.recover(kind.loss), len(kind.loss.servers)
        if rules.restarts_all(answer.starts_again, SEVERITIES.index(kind.loss.severity)):
            yield "start", self._start_s(kind) / mtbf_s
        schedule = self._to(answer.source)
        if answer.rollback == "all":
            yield "lost", self._redone_s(answer.source, schedule) / mtbf_s
            if schedule is not None:
                stale_s = self._stale_s(schedule)
                fresher = self._to(answer.healthy) or schedule
                up = 1 - servers / context.servers
                stale_s += up * (self._stale_s(fresher) - stale_s)
                yield "updates_lost", stale_s / mtbf_s
        elif answer.rollback == "lost" and servers:
            schedule = schedule or every(math.inf)[0]
            hit = context.servers, kind.servers_hit
            # A job shorter than the interval can lose no more than all of itself.
            exposed_s = min(schedule.interval_s, self.useful_s)
            late_s = self._late_s(schedule)
            # (E5) is about half an interval on average.
            yield "pls", expected_pls(exposed_s + 2 * late_s, self.mtbf_s, *hit)
            unsaved_s = mean_unsaved_s(schedule, self.useful_s) + late_s
            yield "updates_lost", expected_pls(2 * unsaved_s, self.mtbf_s, *hit)
        tier = self.plan.tier(answer.source)
        load_s = costs.seconds(costs.load(tier, answer.loads, servers, self.share_read(answer)))
        load_s *= mean_attempts(costs.load_fails(tier))
        delay_s = self._away_s(kind, answer.takeover_s)
        if rules.regroups(rules.DEPTH[answer.rollback], answer.keep_training):
            delay_s += costs.regroup_mean_s
        if not rules.trains_on(answer.keep_training, rules.DEPTH[answer.rollback]):
            yield "reschedule", delay_s / mtbf_s
            yield "load", load_s / mtbf_s
            return
        yield "reschedule", answer.pause_s / mtbf_s
        # A second of wall time so long trains that much less; none is trained in the pause.
        slower = answer.degraded / (1 + answer.degraded)
        if answer.regrow is not None:  # those left load, and replacements are filled by them
            yield "load", load_s / mtbf_s
            filled_s = costs.seconds(costs.load(self.plan.tier(answer.regrow), "none", servers))
            smaller_s = max(delay_s + filled_s - answer.pause_s - load_s, 0.0)
            yield "slowdown", slower * smaller_s / mtbf_s
            return
        yield "slowdown", slower * max(delay_s + load_s - answer.pause_s, 0.0) / mtbf_s
        if answer.rollback == "lost":
            yield "updates_lost", (delay_s + load_s) / mtbf_s * servers / context.servers

    def _start_s(self, kind: FailureKind) -> float:
        """Return the time of a start after a failure, s; its compile cache is warm if kept."""
        measured = self.costs.costs
        on_node = measured.start is not None and measured.start.on_node
        warm = rules.keeps_cache(on_node, SEVERITIES.index(kind.loss.severity))
        schedule_s, cold_s, warm_s, _ = mean_start(measured)
        return rules.launch_s(schedule_s, cold_s, warm_s, first=False, warm=warm)

    def _away_s(self, kind: FailureKind, takeover_s: float) -> float:
        """Mean time for which the nodes of a failure are away once it was noticed, s."""
        # Spares take over at once.
        ready = kind.loss.nodes <= self.plan.machines_ready(self.costs.cluster.spares)
        replaced_s = takeover_s + (0.0 if ready else kind.repair_s)
        return kind.away_s(self.costs, replaced_s) if self._in_place else replaced_s

    def _stale_s(self, schedule: Schedule) -> float:
        """Updates that a save leaves of the rows that a rollback of all returns to, useful s."""
        if schedule.save.unsaved_s == (0.0,):
            return 0.0
        fresh_s = mean_unsaved_s(every(schedule.period_s)[0], self.useful_s)
        return mean_unsaved_s(schedule, self.useful_s) - fresh_s

    def _redone_s(self, source: str, schedule: Schedule | None) -> float:
        """Training that one rollback of the whole job costs on average, useful seconds."""
        mirror = self.plan.mirror
        if mirror is not None and source == mirror.tier:
            return mirror.step_s * (0.5 + mirror.behind)
        if schedule is None:
            return self.useful_s / 2
        return min(schedule.period_s, self.useful_s) / 2 + self._late_s(schedule)

    def _of_silent_faults(self) -> Iterator[tuple[str, float]]:
        """Yield the cost of verifying, and of its findings, which lose all since the one before.

        First order (A. Benoit, A. Cavelan, Y. Robert, H. Sun, ACM TOPC 3(2), 2016): an interval of
        training has a silent fault with probability `interval / mtbf`.
        """
        verifies, schedules = self.plan.verifies, self.plan.schedules
        if verifies is None:
            return
        apart_s = min((each.period_s for each in schedules), default=math.inf) * verifies.every
        apart_s = min(apart_s, self.useful_s)
        yield "verify", verifies.takes_s / apart_s
        yield "lost", apart_s / self.context.silent_mtbf_s
        tier = self.plan.tier(schedules[0].save.tier if schedules else self.plan.tiers[-1].name)
        yield "load", self._whole_load_s(tier) / self.context.silent_mtbf_s

    def _whole_load_s(self, tier: Tier) -> float:
        load_s = self.costs.seconds(self.costs.load(tier, "all", 0))
        return load_s * mean_attempts(self.costs.load_fails(tier))

    # --- Notices ---------------------------------------------------------------------------------

    def _share_drained(self, kind: FailureKind) -> float:
        """Share of the failures of a kind whose nodes have been drained when they strike."""
        notices = self.context.notices
        if notices is None or not isinstance(self.plan.on_notice, Draining):
            return 0.0
        ready = self.plan.machines_ready(self.costs.cluster.spares)
        return notices.recall if kind.loss.drains_to(ready) else 0.0

    def _of_notices(self, drained: float) -> Iterator[tuple[str, float]]:
        """Yield the costs and gains of answers to notices; `drained`: share of the failures.

        First order (G. Aupy, Y. Robert, F. Vivien, JPDC 74(2), 2014): of an announced failure what
        is trained after the save is lost, not half an interval. Spares are taken to be back by the
        next.
        """
        answer, notices = self.plan.on_notice, self.context.notices
        if answer is None or notices is None:
            return
        alarms, announced = notices.false_alarms_per_s, notices.recall
        if isinstance(answer, Draining):
            yield "reschedule", (drained / self.mtbf_s + alarms) * answer.takes_s
            answer, alarms, announced = answer.otherwise, 0.0, announced - drained
            if answer is None:
                return
        yield "save", (announced / self.mtbf_s + alarms) * answer.takes_s
        left_s = notices.lead_s - answer.takes_s
        for kind in kinds(self.context):
            rolled_back = self.plan.recover(kind.loss)
            redone_s = self._redone_s(rolled_back.source, self._to(rolled_back.source))
            kept_s = max(redone_s - left_s, 0.0)
            recall = notices.recall - self._share_drained(kind)
            if rolled_back.rollback == "all":
                yield "lost", -kept_s * recall * kind.share / self.mtbf_s
            elif rolled_back.rollback == "lost":
                hit = self.context.servers, kind.servers_hit
                spared = kept_s * recall * expected_pls(2.0, self.mtbf_s, *hit)
                yield "pls", -spared
                yield "updates_lost", -spared

    # --- Ends of allocations ---------------------------------------------------------------------

    def _of_allocations(self, wall: float) -> Iterator[tuple[str, float]]:
        """Yield the costs of the ends of allocations where the job takes `wall` without them.

        As many as without failures, and a save each, of which about half one would have come
        anyway.
        """
        costs, plan = self.costs, self.plan
        if costs.job.allocation_s is None:
            return
        schedule_s, cold_s, warm_s, shutdown_s = mean_start(costs.costs)
        start = costs.costs.start
        start_s = cold_s if start is not None and start.on_node else warm_s
        load_s = self._whole_load_s(plan.tier(plan.last_save.tier))
        stop_s = plan.stop_s(costs)
        rest_s = costs.job.allocation_s - start_s - load_s - stop_s
        if rest_s <= 0:
            return  # an error says so when it is played
        stops = math.ceil(wall * self.useful_s / rest_s * (1 - rules.ROUNDING)) - 1
        each = stops / self.useful_s
        period_s = plan.schedules[-1].period_s if plan.schedules else math.inf
        comes_anyway = min(rest_s / wall / period_s, 0.5)
        # The last save, with a verification before it if there is one.
        yield "save", each * (stop_s - shutdown_s) * (1 - comes_anyway)
        yield "shutdown", each * shutdown_s
        yield "start", each * (schedule_s + start_s)
        yield "load", each * load_s
