"""What is under way in the foreground: so much of a transfer, with flows beside it or none."""

import math
from typing import Any

from cprsim.contract import rules
from cprsim.machine.codes import FOREGROUND, NONE
from cprsim.machine.fabric import close_flow, open_flow
from cprsim.machine.flows import settle
from cprsim.machine.phases import AWAITING, CAUSE_OF, TRAINING
from cprsim.machine.rows import Running

_ROUNDING = rules.ROUNDING


def begin(job: Running, phase: int, transfer: Any, volume: float, rate: float) -> None:
    """Have `volume` of a transfer under way, at `rate` a second if nothing else is on its links."""
    run = job.run
    run.phase, run.volume, run.rate = phase, volume, rate
    run.began_s, run.from_s, run.news = run.now, run.progress_s, False
    run.done, run.ends_s = volume, math.inf
    if not volume:
        return
    if job.plan.tight and transfer.linked and run.flows:
        open_flow(job, FOREGROUND, transfer, volume)
    else:
        run.ends_s = run.now + volume / rate


def wait(job: Running, phase: int, seconds: float) -> None:
    """Let so many seconds pass."""
    begin(job, phase, job.transfers[0], seconds, 1.0)


def next_s(job: Running) -> float:
    """When something happens next: an end, that of a flow, or a failure."""
    return min(job.run.ends_s, job.run.next_end_s, job.run.next_s)


def go_on(job: Running) -> bool:
    """Go on to what comes first; whether what was under way ends with it, `done` so far."""
    run = job.run
    ends_s, strike_s = min(run.ends_s, run.next_end_s), run.next_s
    fails = strike_s < ends_s  # at the same instant the end comes first
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
    """Whether it ends before its time: the end of a flow is news for who trains or waits for it."""
    run = job.run
    return fails or (run.news and (run.phase == TRAINING or run.phase == AWAITING))


def _charge(job: Running, alone: bool) -> None:
    """The time went to a cause."""
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
