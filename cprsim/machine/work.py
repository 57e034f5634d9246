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


def begin(it: Running, phase: int, transfer: Any, volume: float, rate: float) -> None:
    """Have `volume` of a transfer under way, at `rate` a second if nothing else is on its links."""
    run = it.run
    run.phase, run.volume, run.rate = phase, volume, rate
    run.began_s, run.from_s, run.news = run.now, run.progress_s, False
    run.done, run.ends_s = volume, math.inf
    if not volume:
        return
    if it.plan.tight and transfer.linked and run.flows:
        open_flow(it, FOREGROUND, transfer, volume)
    else:
        run.ends_s = run.now + volume / rate


def wait(it: Running, phase: int, seconds: float) -> None:
    """Let so many seconds pass."""
    begin(it, phase, it.transfers[0], seconds, 1.0)


def next_s(it: Running) -> float:
    """When something happens next: an end, that of a flow, or a failure."""
    return min(it.run.ends_s, it.run.next_end_s, it.run.next_s)


def go_on(it: Running) -> bool:
    """Go on to what comes first; whether what was under way ends with it, `done` so far."""
    run = it.run
    ends_s, strike_s = min(run.ends_s, run.next_end_s), run.next_s
    fails = strike_s < ends_s  # at the same instant the end comes first
    alone = not run.flows
    run.now = strike_s if fails else ends_s
    if alone:
        run.done = (run.now - run.began_s) * run.rate if fails else run.volume
        over = True
    elif run.foreground != NONE:
        settle(it, run.phase == TRAINING, run.from_s)
        over = run.foreground == NONE
        if not over and _stops(it, fails):
            run.done = close_flow(it, run.foreground)
            over = True
    else:
        over = run.now >= run.ends_s
        run.done = run.volume
        if not over:
            run.done = min(run.volume, (run.now - run.began_s) * run.rate)
        if run.next_end_s <= run.now:
            if run.phase == TRAINING:
                run.progress_s = run.from_s + run.done
            settle(it, False, 0.0)
        over = over or _stops(it, fails)
    if over:
        _charge(it, alone)
    return over


def _stops(it: Running, fails: bool) -> bool:
    """Whether it ends before its time: the end of a flow is news for who trains or waits for it."""
    run = it.run
    return fails or (run.news and (run.phase == TRAINING or run.phase == AWAITING))


def _charge(it: Running, alone: bool) -> None:
    """The time went to a cause."""
    run, cause = it.run, CAUSE_OF[it.run.phase]
    it.spent[cause] += run.now - run.began_s
    it.outside.span(cause, run.began_s, run.now)
    if run.phase != TRAINING:
        return
    cut = run.done != run.volume
    if alone and it.plan.unslowed:
        run.progress_s = run.from_s + run.now - run.began_s if cut else run.to_s
        return
    run.progress_s = run.from_s + run.done if cut else run.to_s
    slower_s = run.now - run.began_s - run.done
    if slower_s > _ROUNDING * run.now:
        run.slowdown_s += slower_s
        it.outside.slowed(slower_s)
