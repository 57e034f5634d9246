"""First and last step of a run: reset the job, and write its ledger."""

import math
from typing import Any

from cprsim.machine import cursors, flows, learning, marks, node_lists, rules, schedules
from cprsim.machine.codes import (
    DETECT,
    DONE,
    LOAD,
    NONE,
    RESCHEDULE,
    SAVE,
    SHUTDOWN,
    STALL,
    START,
    VERIFY,
)
from cprsim.machine.rows import Running

_VERIFIED = rules.VERIFIED


def start(job: Running) -> None:
    """Reset the job to its beginning."""
    run, plan = job.run, job.plan
    _give_lists_back(job)
    run.held, run.saving, run.handing_over = NONE, NONE, False
    run.now = run.progress_s = run.slowdown_s = run.lost_s = run.pls = run.updates_lost = 0.0
    run.stored = run.sent = run.since_s = run.since_progress_s = 0.0
    run.timed_saves = run.saving_s = 0.0
    run.returned_s = run.returned_slowdown_s = run.returned_updates_lost = 0.0
    run.turned_s = run.rotation_lost_s = run.verified_s = run.redone_s = 0.0
    run.begun = run.faults = run.torn_loads = 0
    run.corrupt = run.torn = False
    run.status = DONE
    run.failures = run.saves = run.passed = run.idle_saves = run.wasted = 0
    run.flows = run.comings = run.void = run.load = run.rotation = 0
    run.foreground = NONE
    run.starts = run.ends = 0
    run.warm = run.stops = False
    run.allocation_began_s = run.until_s = run.stored_s = 0.0
    run.told_s = run.notice_s = -math.inf
    run.alarms = 0
    run.next_end_s = math.inf
    run.training, run.knows_degraded = plan.training, True
    for cause in range(len(job.spent)):
        job.spent[cause] = 0.0
    run.epoch += 1
    run.back_since = run.epoch
    for number in range(plan.schedules):
        tier = job.tiers[number]
        tier.last_s = tier.last_slowdown_s = tier.last_updates_lost = 0.0
        tier.whole_s = tier.start_s = tier.portions = 0.0
        tier.last_reads, tier.last_marks = 1.0, _VERIFIED
        tier.kept_first = tier.kept_count = 0
        tier.unsaved, tier.unsaved_count = 0, 1
        tier.tier_since = run.epoch
    for link in range(len(job.links)):
        job.links[link].has_link = False
    ready_s = job.ready_s
    for spare in range(plan.spares):
        ready_s[spare] = 0.0
    learning.start(job)
    cursors.start(job)
    schedules.start(job)
    if plan.shared:
        schedules.stagger(job)


def _give_lists_back(job: Running) -> None:
    """Give back the lists that the previous run has left taken."""
    run, lists = job.run, job.lists
    if run.status != DONE:  # the run stopped midway: any list may be taken
        for row in range(node_lists.FIXED, len(lists)):
            node_lists.give_back(lists, row)
        return
    for place in range(run.comings):
        node_lists.give_back(lists, job.comings[place].hit)
        node_lists.give_back(lists, job.comings[place].lost)
    for place in range(run.flows):
        flows.forget(job, job.flows[place])


def write(job: Running, ledger: Any) -> None:
    """Write a finished run into the columns of a ledger, in the order of `Ledger`."""
    run = job.run
    ledger[0], ledger[1] = job.plan.useful_s, run.lost_s
    ledger[2], ledger[3] = job.spent[SAVE], job.spent[LOAD]
    ledger[4], ledger[5] = job.spent[RESCHEDULE], job.spent[DETECT]
    ledger[6], ledger[7], ledger[8] = run.slowdown_s, job.spent[STALL], job.spent[VERIFY]
    ledger[9], ledger[10] = job.spent[START], job.spent[SHUTDOWN]
    ledger[11], ledger[12], ledger[13] = run.now, run.pls, run.updates_lost
    ledger[14], ledger[15] = learning.lost(job), run.failures
    ledger[16], ledger[17] = run.absorbed + run.passed, run.saves
    ledger[18], ledger[19], ledger[20] = run.stored, run.sent, marks.is_corrupt(job)
