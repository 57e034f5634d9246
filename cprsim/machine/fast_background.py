"""A fast path: training and background saves that slow neither each other nor training.

Computes the same sums, in the same order, as one step of the machine after the other. Saves under
way are in the rows of tiers meanwhile, one save each, and flows again afterwards.
"""

import math

from cprsim.machine import flows, rules, schedules, state
from cprsim.machine.attempts import MOST_IDLE_SAVES
from cprsim.machine.codes import DIFFERENCES, NONE, SAVING, STALL
from cprsim.machine.differences import ASKED
from cprsim.machine.rows import Running

_ROUNDING = rules.ROUNDING


def train_and_save(job: Running) -> bool:
    """Train and save until a failure interrupts or the end is near.

    Returns whether anything was done.
    """
    run, plan = job.run, job.plan
    if not _is_undisturbed(job):
        return False
    saves = saves_before = _take_up(job)
    first, next_end_s = _next_end(job)
    useful_s, nearly_done_s, strike_s = plan.useful_s, plan.nearly_done_s, run.next_s
    hopeless_s = rules.hopeless_s(useful_s)
    rate, unslowed = job.transfers[plan.training].limit, plan.unslowed
    now, progress_s, stalled_s, begun_s = run.now, run.progress_s, job.spent[STALL], run.now
    while progress_s < useful_s and now < strike_s:
        number = schedules.ask(job)
        if number == NONE:
            until_s = run.train_to_s
            if until_s >= nearly_done_s:
                until_s = useful_s
            elif until_s <= progress_s:
                break
            volume = until_s - progress_s
            end_s = now + (volume if unslowed else volume / rate)
            at_s, done = min(end_s, next_end_s, strike_s), volume
            if at_s < end_s:
                done = (at_s - now) * rate
                if next_end_s < math.inf:
                    done = min(done, volume)
            if unslowed and at_s < end_s and next_end_s == math.inf:
                progress_s = progress_s + at_s - now
            else:
                progress_s = until_s if done == volume else progress_s + done
                slower_s = at_s - now - done
                if slower_s > _ROUNDING * at_s:
                    run.slowdown_s += slower_s
            now = at_s
            run.now, run.progress_s, run.idle_saves = now, progress_s, 0
        else:
            save = job.saves[number]
            end_s = now + save.snapshot_s
            own = job.schedules[plan.first_schedule + save.tier].undisturbed and not save.blocking
            if not own or end_s > strike_s or now > hopeless_s or run.idle_saves >= MOST_IDLE_SAVES:
                break
            run.idle_saves += 1
            while next_end_s <= end_s:
                _land(job, first)
                first, next_end_s = _next_end(job)
            stalled_s += end_s - now
            run.now = now = end_s
            saves += 1
            lands_s = _begin(job, number, saves)
            if lands_s < next_end_s:
                first, next_end_s = save.tier, lands_s
        while next_end_s <= now:
            _land(job, first)
            first, next_end_s = _next_end(job)
    job.spent[STALL] = stalled_s
    _put_back(job)
    return now > begun_s or saves > saves_before


def _is_undisturbed(job: Running) -> bool:
    """Return whether all flows are saves of this kind that have run at full rate so far."""
    run = job.run
    for place in range(run.flows):
        flow = job.flows[place]
        if flow.kind != SAVING or flow.rate != flow.limit or flow.since_s != flow.began_s:
            return False
        if not job.schedules[job.plan.first_schedule + job.saves[flow.save].tier].undisturbed:
            return False
    return run.next_end_s > run.now


def _take_up(job: Running) -> int:
    """Move saves under way from flows to rows of their tiers; return their number."""
    run = job.run
    for tier in range(job.plan.schedules):
        job.tiers[tier].lands_s = math.inf
    for place in range(run.flows):
        flow = job.flows[place]
        tier = job.tiers[job.saves[flow.save].tier]
        tier.order, tier.under_way, tier.writes = place, flow.save, flow.writes
        tier.begins_s, tier.lands_s = flow.began_s, flow.ends_at
        tier.taken_s, tier.taken_slowdown_s = flow.taken_s, flow.taken_slowdown_s
        tier.taken_updates_lost, tier.taken_reads = flow.taken_updates_lost, flow.taken_reads
    count = run.flows
    run.flows, run.next_end_s = 0, math.inf
    return count


def _put_back(job: Running) -> None:
    """Move saves under way from rows of tiers to flows, in order of opening."""
    run, now = job.run, job.run.now
    while True:
        first = NONE
        for number in range(job.plan.schedules):
            tier = job.tiers[number]
            if tier.lands_s < math.inf and (first == NONE or tier.order < job.tiers[first].order):
                first = number
        if first == NONE:
            break
        tier = job.tiers[first]
        tier.lands_s, run.now = math.inf, tier.begins_s
        flows.start_save(job, tier.under_way, state.under_way(tier), tier.writes)
    run.now = now


def _next_end(job: Running) -> tuple[int, float]:
    """Return the tier whose save is stored next, and when; of several, the one begun first."""
    first, end_s = NONE, math.inf
    for number in range(job.plan.schedules):
        tier = job.tiers[number]
        if tier.lands_s < end_s or (
            tier.lands_s == end_s and first != NONE and tier.order < job.tiers[first].order
        ):
            first, end_s = number, tier.lands_s
    return first, end_s


def _begin(job: Running, number: int, order: int) -> float:
    """Begin a background save after its snapshot; return when its last byte is stored."""
    run, save = job.run, job.saves[number]
    tier, transfer = job.tiers[save.tier], job.transfers[save.transfer]
    tier.under_way, tier.order, tier.writes, tier.taken_reads = number, order, 1.0, save.reads
    if job.plan.sequence == DIFFERENCES:
        tier.writes, tier.taken_reads = job.links[ASKED].writes, job.links[ASKED].reads
    tier.taken_s, tier.taken_slowdown_s = run.progress_s, run.slowdown_s
    tier.taken_updates_lost, tier.begins_s = run.updates_lost, run.now
    volume = transfer.volume * tier.writes + save.besides
    tier.lands_s = run.now + volume / transfer.limit if volume > 0 else run.now
    schedules.saved(job, number, False)
    return tier.lands_s


def _land(job: Running, number: int) -> None:
    """Make a tier's save usable: its last byte is stored."""
    tier = job.tiers[number]
    tier.lands_s = math.inf
    state.usable(job, state.under_way(tier), job.saves[tier.under_way], tier.writes)
    schedules.landed(job, number, tier.under_way)
