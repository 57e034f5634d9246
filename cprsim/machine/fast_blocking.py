"""A fast path for the most common plans: training and blocking saves in turn."""

from cprsim.machine import rules, state
from cprsim.machine.codes import SAVE
from cprsim.machine.rows import Running

_ROUNDING = rules.ROUNDING


def train_and_save(job: Running) -> bool:
    """Train and save in turn until a failure interrupts or the end is near.

    Returns whether anything was done. Computes the same sums, in the same order, as one step of the
    machine after the other: both give the same bits.
    """
    run, plan, tier, last = job.run, job.plan, job.tiers[0], state.last(job, 0)
    save = job.saves[job.schedules[plan.first_schedule].save]
    save_s = job.transfers[save.transfer].volume / job.transfers[save.transfer].limit
    rate, unslowed = job.transfers[plan.training].limit, plan.unslowed
    useful_s, nearly_done_s, strike_s = plan.useful_s, plan.nearly_done_s, run.next_s
    latest_s = min(strike_s, rules.hopeless_s(useful_s))
    now, progress_s, slowdown_s, due_s = run.now, run.progress_s, run.slowdown_s, tier.due_s
    spent_s, stored, sent = job.spent[SAVE], run.stored, run.sent
    whole_s, portions, saves = last.whole_s, last.portions, 0
    last_s, last_slowdown_s, begun_s = 0.0, 0.0, now
    while progress_s < useful_s and now < strike_s:
        if progress_s < due_s:
            until_s = useful_s if due_s >= nearly_done_s else due_s
            volume = until_s - progress_s
            end_s = now + (volume if unslowed else volume / rate)
            cut, done = end_s > strike_s, volume
            if cut:
                end_s = strike_s
                done = end_s - now if unslowed else (end_s - now) * rate
            if not unslowed:
                slower_s = end_s - now - done
                if slower_s > _ROUNDING * end_s:
                    slowdown_s += slower_s
            if cut and unslowed:
                progress_s = progress_s + end_s - now
            else:
                progress_s = until_s if done == volume else progress_s + done
            now = end_s
        else:
            end_s = now + save_s
            if end_s > latest_s:
                break
            spent_s += end_s - now
            now = end_s
            saves += 1
            stored += save.stored
            sent += save.sent
            last_s, last_slowdown_s = progress_s, slowdown_s
            complete, portions = rules.next_round(portions, save.portion)
            if complete:
                whole_s = progress_s
            due_s = progress_s + tier.period_s
    if now > begun_s:
        run.idle_saves = 0
    if saves:
        held = state.Held(last_s, last_slowdown_s, run.updates_lost, 0.0, 0)
        state.set_content(last, held, save.reads)
        last.unsaved, last.unsaved_count = save.unsaved, save.unsaved_count
        last.whole_s, last.portions, tier.due_s, run.train_s = whole_s, portions, due_s, due_s
        run.stored_s = last_s
    run.now, run.progress_s, run.slowdown_s, run.saves = (
        now,
        progress_s,
        slowdown_s,
        run.saves + saves,
    )
    job.spent[SAVE], run.stored, run.sent = spent_s, stored, sent
    return now > begun_s
