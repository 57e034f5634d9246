"""A fast path: training and background saves that slow neither each other nor training.

Computes the same sums, in the same order, as one step of the machine after the other.
"""

from cprsim.machine import flows, rules, schedules, state
from cprsim.machine.attempts import MOST_IDLE_SAVES
from cprsim.machine.codes import DIFFERENCES, NONE, SAVING, STALL
from cprsim.machine.differences import ASKED
from cprsim.machine.fabric import close_flow
from cprsim.machine.rows import Running

_ROUNDING = rules.ROUNDING


def train_and_save(job: Running) -> bool:
    """Train and save until a failure interrupts or the end is near.

    Returns whether anything was done.
    """
    run, plan = job.run, job.plan
    if not _is_undisturbed(job):
        return False
    saves = 0
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
            at_s, done = min(end_s, run.next_end_s, strike_s), volume
            if at_s < end_s:
                done = (at_s - now) * rate
                if run.flows:
                    done = min(done, volume)
            if unslowed and at_s < end_s and not run.flows:
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
            fits = run.flows < len(job.flows) and run.idle_saves < MOST_IDLE_SAVES
            if not (own and fits) or end_s > strike_s or now > hopeless_s:
                break
            run.idle_saves += 1
            while run.next_end_s <= end_s:
                _land(job)
            stalled_s += end_s - now
            run.now = now = end_s
            saves += 1
            _begin(job, number)
        while run.next_end_s <= now:
            _land(job)
    job.spent[STALL] = stalled_s
    return now > begun_s or saves > 0


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


def _begin(job: Running, number: int) -> None:
    """Begin a background save after its snapshot."""
    run, writes, reads = job.run, 1.0, job.saves[number].reads
    if job.plan.sequence == DIFFERENCES:
        writes, reads = job.links[ASKED].writes, job.links[ASKED].reads
    # Without marks: the path is for plans whose checkpoints have none.
    taken = state.Held(run.progress_s, run.slowdown_s, run.updates_lost, reads, 0)
    flows.start_save(job, number, taken, writes)
    schedules.saved(job, number, False)


def _land(job: Running) -> None:
    """Make the save usable whose last byte is stored next; of several, the one begun first."""
    place = 0
    while job.flows[place].ends_at > job.run.next_end_s:
        place += 1
    flow = job.flows[place]
    save, number = job.saves[flow.save], flow.save
    state.usable(job, state.under_way(flow), save, flow.writes)
    schedules.landed(job, save.tier, number)
    close_flow(job, place)
