"""The next action between phases: the end, a recovery, or what the policy decides."""

from cprsim.machine import (
    allocations,
    attempts,
    fast_background,
    fast_blocking,
    flows,
    node_lists,
    notices,
    recovery,
    rules,
    save,
    schedules,
    state,
)
from cprsim.machine.answers import by_rule
from cprsim.machine.codes import NONE, NOT_AHEAD, NOTICING, REPLACING
from cprsim.machine.fabric import open_flow
from cprsim.machine.node_lists import DOWN
from cprsim.machine.phases import OVER, TRAINING
from cprsim.machine.rows import Running
from cprsim.machine.work import begin

_LOST = rules.LOST


def take_turn(job: Running) -> None:
    """Begin the next action; one that takes no time may be over at once."""
    run = job.run
    # At the same instant the end comes before a failure (rule 6).
    if run.progress_s >= job.plan.useful_s or run.stops:
        _near_the_end(job)
    elif run.next_s <= run.now:
        recovery.begin_recovery(job)
    else:
        _decide(job)


def _decide(job: Running) -> None:
    """Begin the policy's next action."""
    run, plan = job.run, job.plan
    if plan.own:
        if plan.notices:
            notices.announce(job)
        job.outside.decide()
        return
    if plan.notices and notices.answers(job):
        return
    if plan.fast_blocking and not run.flows and fast_blocking.train_and_save(job):
        return
    if plan.fast_background and fast_background.train_and_save(job):
        return
    number = schedules.ask(job)
    if number == NONE:
        train(job, run.train_to_s)
    else:
        save.save(job, number)


def ask_again(job: Running, now: float) -> None:
    """Let a job that trains decide again at `now`: another job's save has ended."""
    open_flow(job, NOTICING, job.transfers[0], now - job.run.now)


def train(job: Running, until_s: float) -> None:
    """Train until progress `until_s`, or to the end of the job."""
    run, plan = job.run, job.plan
    run.idle_saves = 0
    if until_s >= plan.nearly_done_s:
        until_s = plan.useful_s
    elif until_s <= run.progress_s:
        attempts.give_up(job, NOT_AHEAD)
        return
    run.to_s = until_s
    volume = until_s - run.progress_s
    if plan.unslowed and not run.flows:
        begin(job, TRAINING, job.transfers[0], volume, 1.0)
        return
    training = job.transfers[_training(job)]
    begin(job, TRAINING, training, volume, training.limit)


def _training(job: Running) -> int:
    """Return the transfer of a useful second, which is slower while nodes are down."""
    run = job.run
    if not run.knows_degraded:
        run.training = job.plan.training
        if flows.rebuilding(job):
            node_lists.clear(job.lists, DOWN)
            flows.join_down(job, DOWN)
            run.training = job.answers[by_rule(job, DOWN)].training
        run.knows_degraded = True
    return run.training


# --- The end -------------------------------------------------------------------------------------


def _near_the_end(job: Running) -> None:
    """End the job or the allocation, once all training is verified and saved."""
    run, plan = job.run, job.plan
    done = run.progress_s >= plan.useful_s
    over = rules.is_over(plan.final_save or not done, _saved_s(job), run.progress_s)
    if not done:
        _refill(job)
    if over and not save.verifies(job):
        if done:
            _end(job)
        else:
            allocations.hand_over(job)
    elif run.next_s <= run.now:
        recovery.begin_recovery(job)
    elif over:
        save.verify(job, NONE)
    else:
        save.save_the_end(job)


def _end(job: Running) -> None:
    """End a job that has done all its training."""
    _refill(job)
    flows.abandon_all(job)
    if job.plan.starts:
        allocations.end(job)
    else:
        job.run.phase = OVER


def _refill(job: Running) -> None:
    """Count the updates that shards still down have missed as lost (rule 13)."""
    for place in range(job.run.flows):
        flow = job.flows[place]
        if flow.kind >= REPLACING and job.answers[flow.answer].depth == _LOST:
            state.refill(job, flow.down)


def _saved_s(job: Running) -> float:
    """Return progress of the checkpoint that the job ends with, in useful seconds."""
    last = job.saves[job.plan.last_save]
    return state.saved(job, last.tier, job.plan.last_mirrored).progress_s
