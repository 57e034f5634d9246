"""Schedules and sequences of saves: which save is due, and when the next one is.

A job of the machine calls these functions, and so does a controller (`cprsim.contract.controller`),
whose rows have the columns that they read.
"""

import math
from typing import Any

from cprsim.machine import rules
from cprsim.machine.codes import CHAINS, DIFFERENCES, GROWING, LEARNED, NONE, ROTATIONS, SAVING
from cprsim.machine.differences import ASKED, STORED, UNDER_WAY, ask_link, last_link
from cprsim.machine.rows import Running, part, put

_ROUNDING = rules.ROUNDING
#: An overhead that is above the bound by no more than this share is the rounding of two clocks.
_TOLERANCE = 1e-6


def start(job: Running) -> None:
    """Set the first save of each schedule one period ahead."""
    run, plan = job.run, job.plan
    for i in range(plan.schedules):
        job.tiers[i].period_s = job.schedules[plan.first_schedule + i].first_period_s
        job.tiers[i].due_s = job.tiers[i].period_s
        job.tiers[i].pending = 0
        job.tiers[i].taken_link = job.tiers[i].stored_link = NONE
    run.train_s = _next_due_s(job)


def stagger(job: Running) -> None:
    """Set the first save of each schedule a part of a period ahead, so that jobs take turns."""
    for i in range(job.plan.schedules):
        job.tiers[i].due_s *= job.plan.first_due
    job.run.train_s = _next_due_s(job)


def saved(job: Running, save: Any, stored: bool) -> None:
    """Move schedules on as training resumes after a save, which is usable already if `stored`."""
    if job.plan.own:
        job.outside.saved(save, stored)
        return
    run, plan, number = job.run, job.plan, job.saves[save].tier
    if plan.sequence == GROWING or plan.sequence == LEARNED:
        _measure(job)
    job.tiers[number].pending += not stored
    if stored:
        run.stored_s = run.progress_s
    # A save that is stored before training resumes serves all nearer tiers (rule 5).
    for i in range(0 if stored else number, number + 1):
        tier = job.tiers[i]
        tier.due_s = run.progress_s + tier.period_s
    run.train_s = _next_due_s(job)
    if plan.sequence == CHAINS:
        _chain(job, save, number, stored)
    elif plan.sequence == ROTATIONS and stored and number:
        # A blocking save holds fewer experts than the hosts can keep of it.
        job.tiers[0].due_s = run.train_s = run.progress_s
    elif plan.sequence == DIFFERENCES:
        if save != job.schedules[plan.first_schedule].save:
            last_link(job, save)
        put(job.links, STORED if stored else UNDER_WAY, job.links[ASKED])


def landed(job: Running, number: int, save: int) -> None:
    """Move schedules on when the last byte of a background save is stored."""
    if job.plan.own:
        job.outside.landed(save)
        return
    job.tiers[number].pending -= 1
    job.tiers[number].stored_link = job.tiers[number].taken_link
    if job.plan.sequence == DIFFERENCES:
        put(job.links, STORED, job.links[UNDER_WAY])


def skip(job: Running, save: Any) -> None:
    """Move schedules on after a failed save (rule 31).

    Its own tier waits for the next save; nearer tiers stay due.
    """
    if job.plan.own:
        job.outside.skipped(save)
        return
    run, number = job.run, job.saves[save].tier
    if job.saves[save].blocking:
        job.tiers[number].due_s = run.progress_s + job.tiers[number].period_s
        run.train_s = _next_due_s(job)
    else:
        job.tiers[number].pending -= 1
    job.tiers[number].taken_link = job.tiers[number].stored_link  # the next save repeats it


def unusable(job: Running, tier: int, answer: int) -> None:
    """Record that the job may return to an older checkpoint than the last of a tier.

    `answer`: its return after a silent fault (rule 34), or `NONE` after a torn checkpoint (rule
    35), which some answer to a loss has met.
    """
    if job.plan.own:
        job.outside.unusable(tier, answer != NONE)
        return
    run, plan = job.run, job.plan
    run.source = tier
    for i in range(plan.schedules):
        job.tiers[i].stored_link = NONE
    job.links[STORED].has_link = False
    if answer != NONE:
        run.answered = answer


def resume(job: Running, returned: bool) -> None:
    """Move schedules on as training resumes after a recovery.

    `returned`: the whole job returned to a checkpoint.
    """
    if job.plan.own:
        job.outside.resumed(NONE, False)
        return
    _continue(job)
    if returned:
        job.run.stored_s = job.run.progress_s
    if job.plan.sequence == ROTATIONS:
        _count(job)


def handed_over(job: Running, tier: int) -> None:
    """Move schedules on as training resumes in another allocation, from a tier's last save."""
    if job.plan.own:
        job.outside.resumed(tier, True)
        return
    job.run.source = tier
    _continue(job)
    job.run.turned_s = job.run.stored_s = job.run.progress_s


def _continue(job: Running) -> None:
    run, plan = job.run, job.plan
    run.since_s, run.since_progress_s = run.now, run.progress_s
    if plan.sequence == LEARNED:
        _learn(job)
    void = 0
    for i in range(plan.schedules):
        tier = job.tiers[i]
        if tier.due_s - run.progress_s > tier.period_s:  # at most a period ahead (rule 3)
            tier.due_s = run.progress_s + tier.period_s
        under_way = 0
        for place in range(run.flows):
            flow = job.flows[place]
            under_way += flow.kind == SAVING and job.saves[flow.save].tier == i
        void |= (under_way < job.tiers[i].pending) << i
        job.tiers[i].pending = under_way
    if plan.sequence == CHAINS:
        _rebase_chains(job, void)
    run.train_s = _next_due_s(job)


def ask(job: Running) -> int:
    """Return the save to take now, or `NONE` to train until progress `run.train_to_s`."""
    run, plan = job.run, job.plan
    run.train_to_s = run.train_s
    if run.progress_s < run.train_s:
        return NONE
    number = _due(job)
    if number == NONE:
        return NONE
    save = job.schedules[plan.first_schedule + number].save
    if plan.sequence == CHAINS:
        return _next_link(job, number)
    if plan.sequence == ROTATIONS:
        return _saved_to(job, number)
    if plan.sequence == DIFFERENCES:
        ask_link(job)
    return save


def _due(job: Running) -> int:
    """Return the schedule whose save is due and may begin, or `NONE`.

    Then `run.train_to_s` is the progress to train to.
    """
    run, plan = job.run, job.plan
    # With a single tier it is the one that is due, since a save is due.
    at_once_s = math.inf if plan.schedules == 1 else run.progress_s * (1 + _ROUNDING)
    run.train_to_s = math.inf
    for back in range(plan.schedules):
        i = plan.schedules - 1 - back  # the furthest tier first, which may serve all (rule 5)
        tier = job.tiers[i]
        if at_once_s < tier.due_s:
            run.train_to_s = min(run.train_to_s, tier.due_s)
        elif tier.pending < job.schedules[plan.first_schedule + i].most:
            save = job.schedules[plan.first_schedule + i].save
            if not (plan.shared and job.outside.must_wait(save)):
                return i
    return NONE


def _next_due_s(job: Running) -> float:
    due_s = job.tiers[0].due_s if job.plan.schedules else math.inf
    for i in range(1, job.plan.schedules):
        due_s = min(due_s, job.tiers[i].due_s)
    return due_s


# --- Intervals that follow what saves take -------------------------------------------------------


def _measure(job: Running) -> None:
    """Adapt the interval to the cost of the last save."""
    run, plan = job.run, job.plan
    trained_s = run.progress_s - run.since_progress_s
    saving_s = run.now - run.since_s - trained_s
    if plan.sequence == LEARNED:
        run.saving_s += saving_s
        run.timed_saves += 1
        _learn(job)
    elif saving_s > trained_s * plan.max_overhead * (1 + _TOLERANCE):
        job.tiers[0].period_s += plan.more_s
    run.since_s, run.since_progress_s = run.now, run.progress_s


def _learn(job: Running) -> None:
    """Plan the interval, and the choice of recovery, from all measurements so far."""
    run, plan = job.run, job.plan
    mtbf_s = mtbf_seen_s(plan.prior_mtbf_s, plan.prior_weight, run.failures, run.now)
    save_s = save_seen_s(plan.prior_save_s, run.timed_saves, run.saving_s)
    full_s = job.tiers[0].period_s = math.sqrt(2 * save_s * mtbf_s)
    if plan.partial_answer == NONE:
        return
    run.chosen = plan.full_answer
    if partial_costs_less(save_s, full_s, plan.partial_mtbfs, plan.spared_s):
        job.tiers[0].period_s = plan.partial_mtbfs * mtbf_s
        run.chosen = plan.partial_answer


def mtbf_seen_s(prior_s: float, weight: float, failures: float, watched_s: float) -> float:
    """Return the inverse of the mean hazard after so many failures in so much time, s.

    The hazard has the gamma law of `weight` failures in `weight * prior_s` to begin with, the
    conjugate one of exponential failures (A. Gelman et al., "Bayesian Data Analysis", 2013, ch.
    2.6), and so that of `weight + failures` in all the time later.
    """
    return (weight * prior_s + watched_s) / (weight + failures)


def save_seen_s(prior_s: float, saves: float, saving_s: float) -> float:
    """Return the mean time of `saves` that took `saving_s` together and one of `prior_s`, s."""
    return (prior_s + saving_s) / (1 + saves)


def partial_costs_less(save_s: float, full_s: float, mtbfs: float, spared_s: float) -> bool:
    """Return whether partial recovery, with a save every `mtbfs` MTBFs, costs less than full.

    (E7) of CPR. In the time of an MTBF, (E2) has `save / mtbfs` for saves. (E1) has
    `sqrt(2 save MTBF)` for saves and lost computation at Young's interval, which is the same
    number, `full_s`. One recovery takes `spared_s` less.
    """
    return save_s / mtbfs - spared_s < full_s


# --- Chains --------------------------------------------------------------------------------------


def _next_link(job: Running, number: int) -> int:
    schedule = job.schedules[job.plan.first_schedule + number]
    link = job.tiers[number].taken_link + 1
    return job.whole[schedule.chain + (link if link < schedule.links else 0)]


def _chain(job: Running, save: Any, number: int, stored: bool) -> None:
    links = job.schedules[job.plan.first_schedule + number].links
    like = save == _next_link(job, number)  # any other save holds everything, like a base
    tier = job.tiers[number]
    link = tier.taken_link + 1
    tier.taken_link = link if like and link < links else 0
    if not stored:
        return
    tier.stored_link = tier.taken_link
    # The save is in nearer tiers as well: a base as a base, a difference as one more difference.
    for i in range(number):
        last = job.schedules[job.plan.first_schedule + i].links - 1
        nearer = job.tiers[i]
        nearer.taken_link = min(nearer.taken_link + 1, last) if tier.taken_link else 0
        nearer.stored_link = nearer.taken_link


def _rebase_chains(job: Running, void: int) -> None:
    """Give refilled tiers a base, and drop abandoned saves from chains."""
    run, plan = job.run, job.plan
    source = plan.schedules if run.source == NONE else run.source
    saved_there = run.source != NONE and job.tiers[run.source].stored_link != NONE
    for i in range(plan.schedules):
        if i < source:
            job.tiers[i].stored_link = 0 if saved_there else NONE
        elif i > source and void >> i & 1:
            job.tiers[i].due_s = run.progress_s
        job.tiers[i].taken_link = job.tiers[i].stored_link


# --- Rotations -----------------------------------------------------------------------------------


def _saved_to(job: Running, number: int) -> int:
    place = job.plan.rotations_at + 2 * job.run.rotation
    stored, kept = job.whole[place], job.whole[place + 1]
    return stored if kept == NONE or number == job.saves[stored].tier else kept


def _left_s(job: Running, number: int, saves: float) -> float:
    save = job.saves[_saved_to(job, number)]
    return rules.updates_unsaved_s(part(job.real, save.unsaved, save.unsaved_count), saves)


def _count(job: Running) -> None:
    """Add the updates lost by experts in a rollback; above the limit, take the next rotation."""
    run, plan = job.run, job.plan
    answer = job.answers[run.answered]
    saves = max(run.progress_s - run.turned_s, 0.0) / plan.interval_s
    down = run.answered_down / plan.rotation_servers if answer.has_healthy else 1.0
    run.rotation_lost_s += down * _left_s(job, answer.source, saves)
    if down < 1.0 and answer.has_healthy:
        run.rotation_lost_s += (1 - down) * _left_s(job, answer.healthy, saves)
    run.turned_s = run.progress_s
    if run.rotation_lost_s > plan.limit_s:
        run.rotation = min(run.rotation + 1, plan.rotations - 1)


# --- Notices of failures (rule 38) ---------------------------------------------------------------


def forget_notices(job: Running) -> None:
    """Clear the deadlines of notices that were answered, or that no answer fits."""
    job.run.deadline_s, job.run.drain_by_s = -math.inf, math.inf


def notice(job: Running, deadline_s: float, nodes: int, ready: int, severity: int) -> None:
    """Set the deadlines of the save and the drain that may answer a notice.

    `nodes` are to fail, and `ready` machines could replace them. A save has to be done by the last
    deadline. Of nodes that can be drained, those with the first deadline are.
    """
    run, plan = job.run, job.plan
    run.deadline_s = max(run.deadline_s, deadline_s)
    if not plan.drains or deadline_s >= run.drain_by_s:
        return
    able = rules.can_drain(nodes, ready, severity)
    if able and rules.ends_in_time(run.now, plan.drain_s, deadline_s):
        run.drain_by_s, run.drained_nodes = deadline_s, nodes


def saves_in_time(job: Running) -> bool:
    """Return whether a save answers the notices: it is done in time, and anything is unsaved."""
    run, plan = job.run, job.plan
    unsaved = plan.emergency != NONE and run.progress_s > run.stored_s
    return unsaved and rules.ends_in_time(run.now, plan.emergency_s, run.deadline_s)
