"""Training beside saves in the background that disturb neither it nor each other, in few steps.

The same sums as of one thing after the other. What is under way stands in the rows
of tiers, one save in each; whoever goes on from here finds it among the flows again.
"""

import math

from cprsim.contract import rules
from cprsim.machine import flows, schedules, state
from cprsim.machine.attempts import MOST_IDLE_SAVES
from cprsim.machine.codes import DIFFERENCES, NONE, SAVING, STALL
from cprsim.machine.differences import ASKED
from cprsim.machine.rows import Running

_ROUNDING = rules.ROUNDING


def beside(it: Running) -> bool:
    """Train and save until a failure cuts in or the end is near; whether anything was done."""
    run, plan = it.run, it.plan
    if not _is_undisturbed(it):
        return False
    saves = saves_before = _take_up(it)
    first, next_end_s = _next_end(it)
    useful_s, nearly_done_s, strike_s = plan.useful_s, plan.nearly_done_s, run.next_s
    hopeless_s = rules.r29_hopeless_s(useful_s)
    rate, unslowed = it.transfers[plan.training].limit, plan.unslowed
    now, progress_s, stalled_s, begun_s = run.now, run.progress_s, it.spent[STALL], run.now
    while progress_s < useful_s and now < strike_s:
        number = schedules.ask(it)
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
            save = it.saves[number]
            end_s = now + save.snapshot_s
            own = it.schedules[plan.first_schedule + save.tier].beside and not save.blocking
            if not own or end_s > strike_s or now > hopeless_s or run.idle_saves >= MOST_IDLE_SAVES:
                break
            run.idle_saves += 1
            while next_end_s <= end_s:
                _land(it, first)
                first, next_end_s = _next_end(it)
            stalled_s += end_s - now
            run.now = now = end_s
            saves += 1
            lands_s = _begin(it, number, saves)
            if lands_s < next_end_s:
                first, next_end_s = save.tier, lands_s
        while next_end_s <= now:
            _land(it, first)
            first, next_end_s = _next_end(it)
    it.spent[STALL] = stalled_s
    _put_back(it)
    return now > begun_s or saves > saves_before


def _is_undisturbed(it: Running) -> bool:
    """Whether all that is under way is such saves, and has been on its way since it began."""
    run = it.run
    for place in range(run.flows):
        flow = it.flows[place]
        if flow.kind != SAVING or flow.rate != flow.limit or flow.since_s != flow.began_s:
            return False
        if not it.schedules[it.plan.first_schedule + it.saves[flow.save].tier].beside:
            return False
    return run.next_end_s > run.now


def _take_up(it: Running) -> int:
    """Saves under way go from flows to their tiers; how many there are."""
    run = it.run
    for tier in range(it.plan.schedules):
        it.tiers[tier].lands_s = math.inf
    for place in range(run.flows):
        flow = it.flows[place]
        tier = it.tiers[it.saves[flow.save].tier]
        tier.order, tier.under_way, tier.writes = place, flow.save, flow.writes
        tier.begins_s, tier.lands_s = flow.began_s, flow.ends_at
        tier.taken_s, tier.taken_slowdown_s = flow.taken_s, flow.taken_slowdown_s
        tier.taken_updates_lost, tier.taken_reads = flow.taken_updates_lost, flow.taken_reads
    count = run.flows
    run.flows, run.next_end_s = 0, math.inf
    return count


def _put_back(it: Running) -> None:
    """Saves under way are flows again, in order of opening."""
    run, now = it.run, it.run.now
    while True:
        first = NONE
        for number in range(it.plan.schedules):
            tier = it.tiers[number]
            if tier.lands_s < math.inf and (first == NONE or tier.order < it.tiers[first].order):
                first = number
        if first == NONE:
            break
        tier = it.tiers[first]
        tier.lands_s, run.now = math.inf, tier.begins_s
        flows.start_save(it, tier.under_way, state.under_way(tier), tier.writes)
    run.now = now


def _next_end(it: Running) -> tuple[int, float]:
    """The tier whose save lands next, of several the one that began first; and when."""
    first, end_s = NONE, math.inf
    for number in range(it.plan.schedules):
        tier = it.tiers[number]
        if tier.lands_s < end_s or (
            tier.lands_s == end_s and first != NONE and tier.order < it.tiers[first].order
        ):
            first, end_s = number, tier.lands_s
    return first, end_s


def _begin(it: Running, number: int, order: int) -> float:
    """Training was held up for a save, which is under way from now on; when it lands."""
    run, save = it.run, it.saves[number]
    tier, transfer = it.tiers[save.tier], it.transfers[save.transfer]
    tier.under_way, tier.order, tier.writes, tier.taken_reads = number, order, 1.0, save.reads
    if it.plan.sequence == DIFFERENCES:
        tier.writes, tier.taken_reads = it.links[ASKED].writes, it.links[ASKED].reads
    tier.taken_s, tier.taken_slowdown_s = run.progress_s, run.slowdown_s
    tier.taken_updates_lost, tier.begins_s = run.updates_lost, run.now
    volume = transfer.volume * tier.writes + save.besides
    tier.lands_s = run.now + volume / transfer.limit if volume > 0 else run.now
    schedules.saved(it, number, False)
    return tier.lands_s


def _land(it: Running, number: int) -> None:
    """The last byte of it is there."""
    tier = it.tiers[number]
    tier.lands_s = math.inf
    state.usable(it, state.under_way(tier), it.saves[tier.under_way], tier.writes)
    schedules.landed(it, number, tier.under_way)
