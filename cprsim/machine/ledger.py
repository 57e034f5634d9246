"""First and last step of a run: reset the job, and write its ledger."""

from typing import Any

from cprsim.machine import codes, cursors, flows, learning, marks, node_lists, schedules
from cprsim.machine.rows import Running, put


def start(job: Running) -> None:
    """Reset the job to its beginning."""
    run, plan = job.run, job.plan
    _give_lists_back(job)
    epoch = run.epoch + 1
    put(job.states, 0, job.states[1])  # which is always new
    run.epoch = run.back_since = epoch
    run.training = plan.training
    for cause in range(len(job.spent)):
        job.spent[cause] = 0.0
    for number in range(plan.schedules):
        marks.begin(job, number)
        job.tiers[number].start_s, job.tiers[number].tier_since = 0.0, epoch
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
    if run.status != codes.DONE:  # the run stopped midway: any list may be taken
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
    run, spent = job.run, job.spent
    ledger[0], ledger[1] = job.plan.useful_s, run.lost_s
    ledger[2], ledger[3] = spent[codes.SAVE], spent[codes.LOAD]
    ledger[4], ledger[5] = spent[codes.RESCHEDULE], spent[codes.DETECT]
    ledger[6], ledger[7], ledger[8] = run.slowdown_s, spent[codes.STALL], spent[codes.VERIFY]
    ledger[9], ledger[10] = spent[codes.START], spent[codes.SHUTDOWN]
    ledger[11], ledger[12], ledger[13] = run.now, run.pls, run.updates_lost
    ledger[14], ledger[15] = learning.lost(job), run.failures
    ledger[16], ledger[17] = run.absorbed + run.masked, run.saves
    ledger[18], ledger[19], ledger[20] = run.stored, run.sent, marks.is_corrupt(job)
