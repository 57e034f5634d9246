"""`cprsim.sim.work`: work in the foreground, flows beside it, failures that cut in."""

from typing import Any

from cprsim.batch.compiled import compiled, inlined
from cprsim.batch.fabric import close_flow, open_flow
from cprsim.batch.flows import settle
from cprsim.batch.rows import FOREGROUND, NO, NONE, TRAIN, Running


@compiled
def do(it: Running, cause: int, transfer: Any, volume: float, rate: float) -> float:
    """Do so much of a transfer, up to a failure; charge the time; what was done.

    Training also stops when a flow beside it ends, since that is news for the policy.
    """
    run = it.run
    if not volume:
        return 0.0
    start_s, from_s = run.now, run.progress_s
    if not run.flows:
        uncontended(it, cause, volume / rate)
        return (run.now - start_s) * rate if run.cut else volume
    if not (it.plan.tight and transfer.linked):
        return _do_apart(it, cause, volume, rate)
    open_flow(it, FOREGROUND, transfer, volume)
    run.news = False
    training = cause == TRAIN
    done = volume
    while not run.status:
        failed = step(it, training, from_s)
        if run.foreground == NONE:
            break
        if failed or (run.news and training):
            done = close_flow(it, run.foreground)
            break
    it.spent[cause] += run.now - start_s
    return done


@inlined
def _do_apart(it: Running, cause: int, volume: float, rate: float) -> float:
    """The same where nothing beside it meets it on a full link: no flow has to be opened."""
    run = it.run
    start_s, from_s = run.now, run.progress_s
    end_s, done = start_s + volume / rate, volume
    run.news = False
    while not run.status:
        next_s, strike_s = min(end_s, run.next_end_s), run.next_s
        run.now = min(next_s, strike_s)
        done = volume if run.now >= end_s else min(volume, (run.now - start_s) * rate)
        if run.next_end_s <= run.now:
            if cause == TRAIN:
                run.progress_s = from_s + done
            settle(it, NO, 0.0)
        if run.now >= end_s or strike_s < next_s or (run.news and cause == TRAIN):
            break
    it.spent[cause] += run.now - start_s
    return done


@compiled
def uncontended(it: Running, cause: int, seconds: float) -> None:
    """So many seconds of work with nothing beside it, or up to a failure before their end."""
    run = it.run
    start_s, strike_s = run.now, run.next_s
    end_s = start_s + seconds
    run.cut = end_s > strike_s  # at the same instant the end comes first
    if run.cut:
        end_s = strike_s
    run.now = end_s
    it.spent[cause] += end_s - start_s


@compiled
def step(it: Running, training: bool, from_s: float) -> bool:
    """Go on to the next end of any flow or the next failure; whether it is a failure."""
    run = it.run
    end_s, strike_s = run.next_end_s, run.next_s
    run.now = min(end_s, strike_s)
    settle(it, training, from_s)
    return strike_s < end_s
