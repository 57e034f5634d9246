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
    """Write a finished run into the columns of `cprsim.contract.ledger.Ledger`, in their order."""
    run, spent = job.run, job.spent
    columns = (
        job.plan.useful_s,
        run.lost_s,
        spent[codes.SAVE],
        spent[codes.LOAD],
        spent[codes.RESCHEDULE],
        spent[codes.DETECT],
        run.slowdown_s,
        spent[codes.STALL],
        spent[codes.VERIFY],
        spent[codes.START],
        spent[codes.SHUTDOWN],
        run.now,
        run.pls,
        run.updates_lost,
        learning.lost(job),
        float(run.failures),
        float(run.absorbed + run.masked),
        float(run.saves),
        run.stored,
        run.sent,
        1.0 if marks.is_corrupt(job) else 0.0,
    )
    for place in range(len(columns)):
        ledger[place] = columns[place]
