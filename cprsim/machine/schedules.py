"""Which save is due, and what moves that on: schedules and sequences of saves."""

import math
from typing import Any

from cprsim.closed_form import intervals
from cprsim.contract import growing, learned, rules
from cprsim.machine.codes import CHAINS, DIFFERENCES, GROWING, LEARNED, NONE, ROTATIONS, SAVING
from cprsim.machine.differences import ASKED, STORED, UNDER_WAY, ask_link, copy_link, last_link
from cprsim.machine.rows import Running, part

_ROUNDING = rules.ROUNDING


def start(it: Running) -> None:
    """The first save of each schedule is a period away."""
    run, plan = it.run, it.plan
    for i in range(plan.schedules):
        it.tiers[i].period_s = it.schedules[plan.first_schedule + i].first_period_s
        it.tiers[i].due_s = it.tiers[i].period_s
        it.tiers[i].pending = 0
        it.tiers[i].taken_link = it.tiers[i].stored_link = NONE
    run.source = run.answered = run.chosen = NONE
    run.train_s = _next_due_s(it)


def saved(it: Running, save: Any, stored: bool) -> None:
    """Training may go on after a save, which is usable if `stored`."""
    if it.plan.own:
        it.outside.saved(save, stored)
        return
    run, plan, number = it.run, it.plan, it.saves[save].tier
    if plan.sequence == GROWING or plan.sequence == LEARNED:
        _measure(it)
    it.tiers[number].pending += not stored
    if stored:
        run.stored_s = run.progress_s
    for i in range(0 if stored else number, number + 1):
        it.tiers[i].due_s = run.progress_s + it.tiers[i].period_s
    run.train_s = _next_due_s(it)
    if plan.sequence == CHAINS:
        _chain(it, save, number, stored)
    elif plan.sequence == ROTATIONS and stored and number:
        # A blocking save holds fewer experts than the hosts can keep of it.
        it.tiers[0].due_s = run.train_s = run.progress_s
    elif plan.sequence == DIFFERENCES:
        if stored or save == plan.last_save:
            last_link(it)
        copy_link(it, STORED if stored else UNDER_WAY, ASKED)


def landed(it: Running, number: int, save: int) -> None:
    """The last byte of a background save is stored."""
    if it.plan.own:
        it.outside.landed(save)
        return
    it.tiers[number].pending -= 1
    it.tiers[number].stored_link = it.tiers[number].taken_link
    copy_link(it, STORED, UNDER_WAY)


def skip(it: Running, save: Any) -> None:
    """A void save serves no tier: its own waits for the next, the nearer ones for theirs."""
    if it.plan.own:
        it.outside.skipped(save)
        return
    run, number = it.run, it.saves[save].tier
    if it.saves[save].blocking:
        it.tiers[number].due_s = run.progress_s + it.tiers[number].period_s
        run.train_s = _next_due_s(it)
    else:
        it.tiers[number].pending -= 1
    it.tiers[number].taken_link = it.tiers[number].stored_link  # the next is the same link


def unusable(it: Running, tier: int, corrupt: bool) -> None:
    """The job returns to an older checkpoint of a tier, if it is one, than it holds last."""
    if it.plan.own:
        it.outside.unusable(tier, corrupt)
        return
    run, plan = it.run, it.plan
    run.source = tier
    for i in range(plan.schedules):
        it.tiers[i].stored_link = NONE
    it.links[STORED].has_link = False
    if corrupt:
        run.answered = plan.last_return if tier == NONE else it.whole[plan.returns + tier]


def resume(it: Running, returned: bool) -> None:
    """Training goes on after a recovery, from a checkpoint if all `returned` to one."""
    if it.plan.own:
        it.outside.resumed(NONE, False)
        return
    _go_on(it)
    if returned:
        it.run.stored_s = it.run.progress_s
    if it.plan.sequence == ROTATIONS:
        _count(it)


def handed_over(it: Running, tier: int) -> None:
    """Training goes on in another allocation, with what was saved to a tier."""
    if it.plan.own:
        it.outside.resumed(tier, True)
        return
    it.run.source = tier
    _go_on(it)
    it.run.turned_s = it.run.stored_s = it.run.progress_s


def _go_on(it: Running) -> None:
    run, plan = it.run, it.plan
    run.since_s, run.since_progress_s = run.now, run.progress_s
    if plan.sequence == LEARNED:
        _learn(it)
    void = 0
    for i in range(plan.schedules):
        it.tiers[i].due_s = rules.r3_due_s(it.tiers[i].due_s, run.progress_s, it.tiers[i].period_s)
        under_way = 0
        for place in range(run.flows):
            flow = it.flows[place]
            under_way += flow.kind == SAVING and it.saves[flow.save].tier == i
        void |= (under_way < it.tiers[i].pending) << i
        it.tiers[i].pending = under_way
    if plan.sequence == CHAINS:
        _return(it, void)
    run.train_s = _next_due_s(it)


def ask(it: Running) -> int:
    """The save that is taken now; `NONE` to train, until `train_to_s`."""
    run, plan = it.run, it.plan
    run.train_to_s = run.train_s
    if run.progress_s < run.train_s:
        return NONE
    number = _due(it)
    if number == NONE:
        return NONE
    save = it.schedules[plan.first_schedule + number].save
    if plan.sequence == CHAINS:
        return _next_link(it, number)
    if plan.sequence == ROTATIONS:
        return _saved_to(it, number)
    if plan.sequence == DIFFERENCES:
        ask_link(it)
    return save


def _due(it: Running) -> int:
    """The schedule whose save is due and not held back; else sets the progress to train to."""
    run, plan = it.run, it.plan
    # Of a single tier that is known, since something is.
    at_once_s = math.inf if plan.schedules == 1 else run.progress_s * (1 + _ROUNDING)
    run.train_to_s = math.inf
    for back in range(plan.schedules):
        i = plan.schedules - 1 - back  # the furthest tier first: it may serve all
        if at_once_s < it.tiers[i].due_s:
            run.train_to_s = min(run.train_to_s, it.tiers[i].due_s)
        elif it.tiers[i].pending < it.schedules[plan.first_schedule + i].most:
            return i
    return NONE


def _next_due_s(it: Running) -> float:
    due_s = math.inf
    for i in range(it.plan.schedules):
        due_s = min(due_s, it.tiers[i].due_s)
    return due_s


# --- Intervals that follow what saves take -------------------------------------------------------


def _measure(it: Running) -> None:
    """Save less often if the last time was too dear, or as often as what was seen says."""
    run, plan = it.run, it.plan
    trained_s = run.progress_s - run.since_progress_s
    saving_s = run.now - run.since_s - trained_s
    if plan.sequence == LEARNED:
        run.saving_s += saving_s
        run.timed_saves += 1
        _learn(it)
    elif growing.too_dear(saving_s, trained_s, plan.max_overhead):
        it.tiers[0].period_s += plan.more_s
    run.since_s, run.since_progress_s = run.now, run.progress_s


def _learn(it: Running) -> None:
    """Plan the interval anew, and whether recovery is partial, by all that was seen so far."""
    run, plan = it.run, it.plan
    mtbf_s = learned.mtbf_seen_s(plan.prior_mtbf_s, plan.prior_weight, run.failures, run.now)
    save_s = learned.save_seen_s(plan.prior_save_s, run.timed_saves, run.saving_s)
    full_s = it.tiers[0].period_s = intervals.young_s(save_s, mtbf_s)
    if plan.partial_answer == NONE:
        return
    run.chosen = plan.full_answer
    if learned.partial_costs_less(save_s, full_s, plan.partial_mtbfs, plan.spared_s):
        it.tiers[0].period_s = plan.partial_mtbfs * mtbf_s
        run.chosen = plan.partial_answer


# --- Chains --------------------------------------------------------------------------------------


def _next_link(it: Running, number: int) -> int:
    schedule = it.schedules[it.plan.first_schedule + number]
    link = it.tiers[number].taken_link + 1
    return it.whole[schedule.chain + (link if link < schedule.links else 0)]


def _chain(it: Running, save: Any, number: int, stored: bool) -> None:
    links = it.schedules[it.plan.first_schedule + number].links
    like = save == _next_link(it, number)  # any other save is whole, like a base
    link = it.tiers[number].taken_link + 1
    it.tiers[number].taken_link = link if like and link < links else 0
    if not stored:
        return
    it.tiers[number].stored_link = it.tiers[number].taken_link
    for i in range(number):  # a base of a further tier is one here; a difference is one more here
        last = it.schedules[it.plan.first_schedule + i].links - 1
        if it.tiers[number].taken_link:
            it.tiers[i].taken_link = min(it.tiers[i].taken_link + 1, last)
        else:
            it.tiers[i].taken_link = 0
        it.tiers[i].stored_link = it.tiers[i].taken_link


def _return(it: Running, void: int) -> None:
    """Tiers that were filled anew hold a base; saves that were void are in no chain."""
    run, plan = it.run, it.plan
    source = plan.schedules if run.source == NONE else run.source
    saved_there = run.source != NONE and it.tiers[run.source].stored_link != NONE
    for i in range(plan.schedules):
        if i < source:
            it.tiers[i].stored_link = 0 if saved_there else NONE
        elif i > source and void >> i & 1:
            it.tiers[i].due_s = run.progress_s
        it.tiers[i].taken_link = it.tiers[i].stored_link


# --- Rotations -----------------------------------------------------------------------------------


def _saved_to(it: Running, number: int) -> int:
    place = it.plan.rotations_at + 2 * it.run.rotation
    stored, kept = it.whole[place], it.whole[place + 1]
    return stored if kept == NONE or number == it.saves[stored].tier else kept


def _left_s(it: Running, number: int, saves: float) -> float:
    save = it.saves[_saved_to(it, number)]
    return rules.r25_unsaved_s(part(it.real, save.unsaved, save.unsaved_count), saves)


def _count(it: Running) -> None:
    """Add what the saves had left of the experts that the job has returned to."""
    run, plan = it.run, it.plan
    answer = it.answers[run.answered]
    saves = max(run.progress_s - run.turned_s, 0.0) / plan.interval_s
    down = run.answered_down / plan.rotation_servers if answer.has_healthy else 1.0
    run.rotation_lost_s += down * _left_s(it, answer.source, saves)
    if down < 1.0 and answer.has_healthy:
        run.rotation_lost_s += (1 - down) * _left_s(it, answer.healthy, saves)
    run.turned_s = run.progress_s
    if run.rotation_lost_s > plan.limit_s:
        run.rotation = min(run.rotation + 1, plan.rotations - 1)
