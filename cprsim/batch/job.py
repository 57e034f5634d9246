"""`cprsim.sim.job`: the job trains, saves, fails and recovers as its plan says."""

from typing import Any

from cprsim.batch import (
    attempts,
    flows,
    marks,
    node_lists,
    notices,
    schedules,
    starts,
    state,
    withdrawals,
)
from cprsim.batch.answers import answer_to
from cprsim.batch.beside import beside
from cprsim.batch.compiled import compiled, inlined
from cprsim.batch.differences import ASKED
from cprsim.batch.node_lists import DOWN
from cprsim.batch.recovery import hand_over, recover, return_to_verified
from cprsim.batch.rows import (
    DIFFERENCES,
    NO,
    NONE,
    REPLACING,
    SAVE,
    STALL,
    TRAIN,
    VERIFY,
    Running,
    code,
)
from cprsim.batch.turns import in_turn
from cprsim.batch.work import do, step, uncontended
from cprsim.contract import rules

_NOBODY = code(0)
#: In place of a save: one that was under way was waited for.
_WAITED = code(-2)
_ROUNDING, _LOST = rules.ROUNDING, rules.LOST
_is_over = compiled(rules.r4_is_over)
_is_void = compiled(rules.r9_is_void)
_verifies_now = compiled(rules.r34_verifies)


@compiled
def process(it: Running) -> None:
    """Run the job from start to end."""
    run, plan = it.run, it.plan
    useful_s = plan.useful_s
    starts.first(it)
    withdrawals.await_next(it)
    while not run.status:
        if run.progress_s >= useful_s or run.stops:  # an end and a failure: the end comes first
            done = run.progress_s >= useful_s
            over = _is_over(plan.final_save or not done, _saved_s(it), run.progress_s)
            if not done:
                _refill(it)
            if over and not _verifies(it):
                if not done:
                    _hand_over(it)
                    continue
                _end(it)
                return
            if run.next_s <= run.now:
                recover(it)
                continue
            if over:
                _verify(it)
                continue
            save = _last_save(it)
        elif run.next_s <= run.now:
            recover(it)
            continue
        elif run.leaving:
            withdrawals.take(it)
            continue
        else:
            save = notices.answer(it) if plan.notices else NONE
            if save == NONE:
                if (plan.in_turn and not run.flows and in_turn(it)) or (plan.beside and beside(it)):
                    continue
                save = schedules.ask(it)
        if save == NONE:
            _train(it)
        elif save >= 0:
            _save(it, save)


@inlined
def _hand_over(it: Running) -> None:
    """What was trained in this allocation is saved; the next one goes on with it."""
    run = it.run
    if run.progress_s <= run.allocation_began_s:
        attempts.vain(it)
    hand_over(it)
    run.allocation_began_s = run.progress_s
    withdrawals.await_next(it)


@inlined
def _end(it: Running) -> None:
    """The job is done."""
    _refill(it)
    if it.plan.starts:
        flows.abandon_saves(it)
        flows.abandon_rebuilding(it)
        starts.end(it)


@compiled
def _refill(it: Running) -> None:
    """Shards that are still down have missed what they will never learn."""
    for place in range(it.run.flows):
        flow = it.flows[place]
        if flow.kind >= REPLACING and it.answers[flow.answer].depth == _LOST:
            state.refill(it, flow.down)


@inlined
def _train(it: Running) -> None:
    run, plan = it.run, it.plan
    run.idle_saves = 0
    until_s = run.train_to_s
    if until_s >= plan.nearly_done_s:
        until_s = plan.useful_s
    elif until_s <= run.progress_s:
        attempts.give_up(it)
        return
    start_s, from_s = run.now, run.progress_s
    volume = until_s - from_s
    if plan.unslowed and not run.flows:
        uncontended(it, TRAIN, volume)
        run.progress_s = from_s + run.now - start_s if run.cut else until_s
        return
    training = it.transfers[_training(it)]
    done = do(it, TRAIN, training, volume, training.limit)
    run.progress_s = until_s if done == volume else from_s + done
    slower_s = run.now - start_s - done
    if slower_s > _ROUNDING * run.now:
        run.slowdown_s += slower_s


@inlined
def _training(it: Running) -> int:
    """The transfer of a useful second, which takes longer while nodes are down."""
    run = it.run
    if not run.knows_degraded:
        run.training = it.plan.training
        if flows.rebuilding(it):
            node_lists.clear(it.lists, DOWN)
            flows.join_down(it, DOWN)
            run.training = it.answers[answer_to(it, DOWN)].training
        run.knows_degraded = True
    return run.training


@inlined
def _at_end(it: Running) -> bool:
    """Whether nothing more is trained, or not before the job has other nodes."""
    return it.run.progress_s >= it.plan.useful_s or it.run.stops


@compiled
def _verifies(it: Running) -> bool:
    """Whether what is trained now is verified before it is saved, or the job is over."""
    run, plan = it.run, it.plan
    if not plan.verifies or marks.is_verified(it):
        return False
    return _verifies_now(run.begun, plan.verify_every, _at_end(it))


@compiled
def _verify(it: Running) -> bool:
    """Verify what was trained; whether it is sound, and no failure has taken the job back."""
    if not _hold_up(it, VERIFY, it.transfers[0], it.plan.verify_s):
        return False
    it.run.begun = 0
    if it.run.status:
        return False
    if marks.verify(it):
        return True
    attempts.vain(it)
    if not it.run.status:
        return_to_verified(it)
    return False


@compiled
def _save(it: Running, number: int) -> None:
    run, save = it.run, it.saves[number]
    attempts.save(it)
    if not _verifies(it):
        run.begun += 1
    elif not _verify(it):
        return
    writes, reads = 1.0, save.reads
    whole = number == it.plan.last_save or (it.plan.notices and number == it.plan.emergency)
    if it.plan.sequence == DIFFERENCES and not whole:
        writes, reads = it.links[ASKED].writes, it.links[ASKED].reads
    while not run.status:
        start_s = run.now
        hold, cause = it.transfers[save.transfer], SAVE
        volume = hold.volume
        if not save.blocking:
            hold, cause, volume = it.transfers[0], STALL, save.snapshot_s
        if not _hold_up(it, cause, hold, volume):
            return
        if not (save.blocking and attempts.save_is_void(it, save, start_s)):
            _held_up(it, number, writes, reads)
            break
        state.ended(it, save, writes)
        attempts.vain(it)
        if not (_at_end(it) or save.tries_again):  # without the last one the job isn't over
            schedules.skip(it, number)
            break
    if run.flows:
        flows.settle(it, NO, 0.0)


@compiled
def _hold_up(it: Running, cause: int, hold: Any, volume: float) -> bool:
    """Hold training up for so much of a save; whether that isn't void for a rollback."""
    left = volume - do(it, cause, hold, volume, hold.limit)
    while left > 0 and not it.run.status:
        depth = recover(it)
        if _is_void(depth, _NOBODY, NO):
            return False
        left -= do(it, cause, hold, left, hold.limit)
    return True


@inlined
def _held_up(it: Running, number: int, writes: float, reads: float) -> None:
    """Training may go on."""
    save = it.saves[number]
    taken = state.taken(it, reads)
    if save.blocking:
        state.usable(it, taken, save, writes)
    else:
        flows.start_save(it, number, taken, writes)
    schedules.saved(it, number, save.blocking)


@inlined
def _saved_s(it: Running) -> float:
    """Progress of the checkpoint that the job ends with."""
    last = it.saves[it.plan.last_save]
    return state.saved(it, last.tier, it.plan.last_mirrored).progress_s


@inlined
def _last_save(it: Running) -> int:
    """`final_save`: the job isn't over until a checkpoint of all of it is usable."""
    run, plan = it.run, it.plan
    tier = it.saves[plan.last_save].tier
    if flows.hold_all(it, run.progress_s) or flows.saves_under_way(it, tier) >= plan.most_last:
        start_s = run.now
        step(it, NO, 0.0)
        it.spent[SAVE] += run.now - start_s
        return _WAITED
    if tier == NONE:
        attempts.give_up(it)
        return _WAITED
    return plan.last_save
