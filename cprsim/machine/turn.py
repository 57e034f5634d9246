"""What is next where nothing is under way: the end, a failure, or what the policy says."""

from cprsim.contract import rules
from cprsim.machine import (
    allocations,
    attempts,
    flows,
    node_lists,
    notices,
    recovery,
    save,
    schedules,
    state,
    withdrawals,
)
from cprsim.machine.answers import by_rule
from cprsim.machine.beside import beside
from cprsim.machine.codes import NONE, NOT_AHEAD, REPLACING
from cprsim.machine.node_lists import DOWN
from cprsim.machine.phases import OVER, TRAINING
from cprsim.machine.rows import Running
from cprsim.machine.turns import in_turn
from cprsim.machine.work import begin

_LOST = rules.LOST


def take_turn(it: Running) -> None:
    """Begin what is next; where it takes no time, it may be over at once."""
    run = it.run
    if run.progress_s >= it.plan.useful_s or run.stops:  # an end and a failure: the end comes first
        _near_the_end(it)
    elif run.next_s <= run.now:
        recovery.strike(it)
    elif run.leaving:
        withdrawals.take(it)
    else:
        _decide(it)


def _decide(it: Running) -> None:
    """Do what the policy says."""
    run, plan = it.run, it.plan
    if plan.own:
        if plan.notices:
            notices.announce(it)
        it.outside.decide()
        return
    if plan.notices and notices.answers(it):
        return
    if (plan.in_turn and not run.flows and in_turn(it)) or (plan.beside and beside(it)):
        return
    number = schedules.ask(it)
    if number == NONE:
        train(it, run.train_to_s)
    else:
        save.save(it, number)


def train(it: Running, until_s: float) -> None:
    """Train until the job's progress is that, or the end."""
    run, plan = it.run, it.plan
    run.idle_saves = 0
    if until_s >= plan.nearly_done_s:
        until_s = plan.useful_s
    elif until_s <= run.progress_s:
        attempts.give_up(it, NOT_AHEAD)
        return
    run.to_s = until_s
    volume = until_s - run.progress_s
    if plan.unslowed and not run.flows:
        begin(it, TRAINING, it.transfers[0], volume, 1.0)
        return
    training = it.transfers[_training(it)]
    begin(it, TRAINING, training, volume, training.limit)


def _training(it: Running) -> int:
    """The transfer of a useful second, which takes longer while nodes are down."""
    run = it.run
    if not run.knows_degraded:
        run.training = it.plan.training
        if flows.rebuilding(it):
            node_lists.clear(it.lists, DOWN)
            flows.join_down(it, DOWN)
            run.training = it.answers[by_rule(it, DOWN)].training
        run.knows_degraded = True
    return run.training


# --- The end -------------------------------------------------------------------------------------


def _near_the_end(it: Running) -> None:
    """Nothing more is trained, or not before the job has other nodes."""
    run, plan = it.run, it.plan
    done = run.progress_s >= plan.useful_s
    over = rules.r4_is_over(plan.final_save or not done, _saved_s(it), run.progress_s)
    if not done:
        _refill(it)
    if over and not save.verifies(it):
        if done:
            _end(it)
        else:
            allocations.hand_over(it)
    elif run.next_s <= run.now:
        recovery.strike(it)
    elif over:
        save.verify(it, NONE)
    else:
        save.save_the_end(it)


def _end(it: Running) -> None:
    """The job is done."""
    _refill(it)
    flows.abandon_all(it)
    if it.plan.starts:
        allocations.end(it)
    else:
        it.run.phase = OVER


def _refill(it: Running) -> None:
    """Shards that are still down have missed what they will never learn."""
    for place in range(it.run.flows):
        flow = it.flows[place]
        if flow.kind >= REPLACING and it.answers[flow.answer].depth == _LOST:
            state.refill(it, flow.down)


def _saved_s(it: Running) -> float:
    """Progress of the checkpoint that the job ends with."""
    last = it.saves[it.plan.last_save]
    return state.saved(it, last.tier, it.plan.last_mirrored).progress_s
