"""Foreground work: some volume of a transfer, by itself or together with background flows."""

import math
from typing import Any

from cprsim.machine import rules
from cprsim.machine.codes import FOREGROUND, NONE
from cprsim.machine.fabric import close_flow, open_flow
from cprsim.machine.flows import settle
from cprsim.machine.phases import AWAITING, CAUSE_OF, TRAINING
from cprsim.machine.rows import Running

_ROUNDING = rules.ROUNDING


def begin(job: Running, phase: int, transfer: Any, volume: float, rate: float) -> None:
    """Begin a phase that moves `volume` of a transfer, at `rate` per second on free links.

    `volume`: bytes or seconds, as the transfer has it.
    """
    run = job.run
    run.phase, run.volume, run.rate = phase, volume, rate
    run.began_s, run.from_s, run.news = run.now, run.progress_s, False
    run.done, run.ends_s = volume, math.inf
    if not volume:
        return
    if transfer.linked and (job.plan.shared or (job.plan.tight and run.flows)):
        open_flow(job, FOREGROUND, transfer, volume)
    else:
        run.ends_s = run.now + volume / rate


def wait(job: Running, phase: int, seconds: float) -> None:
    """Begin a phase that takes `seconds`."""
    begin(job, phase, job.transfers[0], seconds, 1.0)


def next_s(job: Running) -> float:
    """Return the time of the next event: the end of the phase or of a flow, or a failure, s."""
    return min(job.run.ends_s, job.run.next_end_s, job.run.next_s)


def advance(job: Running) -> bool:
    """Advance to the next event; return whether it ends the phase.

    `run.done` is then the volume moved.
    """
    run = job.run
    ends_s, strike_s = min(run.ends_s, run.next_end_s), run.next_s
    fails = strike_s < ends_s  # at the same instant the end comes first (rule 6)
    alone = not run.flows
    run.now = strike_s if fails else ends_s
    if alone:
        run.done = (run.now - run.began_s) * run.rate if fails else run.volume
        over = True
    elif run.foreground != NONE:
        settle(job, run.phase == TRAINING, run.from_s)
        over = run.foreground == NONE
        if not over and _stops(job, fails):
            run.done = close_flow(job, run.foreground)
            over = True
    else:
        over = run.now >= run.ends_s
        run.done = run.volume
        if not over:
            run.done = min(run.volume, (run.now - run.began_s) * run.rate)
        if run.next_end_s <= run.now:
            if run.phase == TRAINING:
                run.progress_s = run.from_s + run.done
            settle(job, False, 0.0)
        over = over or _stops(job, fails)
    if over:
        _charge(job, alone)
    return over


def _stops(job: Running, fails: bool) -> bool:
    """Return whether the phase ends early, by a failure or by the end of a flow.

    The end of a flow interrupts training, and the wait at the end of the job.
    """
    run = job.run
    return fails or (run.news and (run.phase == TRAINING or run.phase == AWAITING))


def _charge(job: Running, alone: bool) -> None:
    """Charge the seconds of the phase to its cause, and count progress and slowdown."""
    run, cause = job.run, CAUSE_OF[job.run.phase]
    job.spent[cause] += run.now - run.began_s
    job.outside.span(cause, run.began_s, run.now)
    if run.phase != TRAINING:
        return
    cut = run.done != run.volume
    if alone and job.plan.unslowed:
        run.progress_s = run.from_s + run.now - run.began_s if cut else run.to_s
        return
    run.progress_s = run.from_s + run.done if cut else run.to_s
    slower_s = run.now - run.began_s - run.done
    if slower_s > _ROUNDING * run.now:
        run.slowdown_s += slower_s
        job.outside.slowed(slower_s)
