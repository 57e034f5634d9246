"""`cprsim.sim.attempts`, `limits` and `spares`: what turns out void, and who gets nowhere."""

from typing import Any

from cprsim.batch.compiled import compiled, inlined, part
from cprsim.batch.rows import GIVEN_UP, MORE_DELAYS, MORE_LOADS, MORE_OUTAGES, MORE_VOIDS, Running
from cprsim.contract import rules
from cprsim.sim.limits import MOST_FAILURES, MOST_IDLE_SAVES, MOST_IN_VAIN

_gets_nowhere = compiled(rules.r29_gets_nowhere)
_far_from_its_end = compiled(rules.r29_far_from_its_end)


@compiled
def save_is_void(it: Running, save: Any, start_s: float) -> bool:
    """Whether a save that began at `start_s` and ends now holds nothing."""
    run, draws = it.run, it.draws
    run.torn = False
    if not save.can_be_void:
        return False
    if run.void >= draws.void_count:
        run.status = MORE_VOIDS
        return False
    drawn = it.numbers[draws.voids + run.void]
    torn = it.plan.torn > 0 and it.numbers[draws.torn + run.void] < it.plan.torn
    run.torn = torn and not it.plan.checksum
    void = torn and it.plan.checksum
    run.void += 1
    return drawn < it.plan.save_fails or _was_away(it, start_s) or void


@compiled
def load_has_failed(it: Running, answer: Any, start_s: float) -> bool:
    """Whether a load that began at `start_s` and ends now has filled nothing."""
    run, draws = it.run, it.draws
    if not answer.can_fail:
        return False
    if run.load >= draws.load_count:
        run.status = MORE_LOADS
        return False
    drawn = it.numbers[draws.loads + run.load]
    run.load += 1
    failed = drawn < it.plan.load_fails or _was_away(it, start_s)
    if not failed and run.torn_loads:
        run.torn_loads -= 1
        failed = True
    if failed:
        vain(it)
    return failed


@compiled
def _was_away(it: Running, start_s: float) -> bool:
    """Whether the store was, for a part of the time until now; starts and ends stand in turn."""
    draws, now = it.draws, it.run.now
    if not it.plan.has_outages:
        return False
    if it.numbers[draws.outages + 2 * draws.outage_count - 1] <= now:
        it.run.status = MORE_OUTAGES
        return False
    if start_s == now:
        return False
    low, high = 0, draws.outage_count
    while low < high:  # the first that ends after the start
        middle = (low + high) // 2
        if it.numbers[draws.outages + 2 * middle + 1] <= start_s:
            low = middle + 1
        else:
            high = middle
    return it.numbers[draws.outages + 2 * low] < now


@compiled
def give_up(it: Running) -> None:
    """The simulator has to say why; unless something else ends the run already."""
    it.run.status = it.run.status or GIVEN_UP


@inlined
def failure(it: Running) -> None:
    """One more failure."""
    run = it.run
    far = _far_from_its_end(run.progress_s, it.plan.useful_s, run.failures)
    if far or run.failures >= MOST_FAILURES:
        give_up(it)
    _check(it)
    run.failures += 1


@inlined
def save(it: Running) -> None:
    """One more save."""
    run = it.run
    run.idle_saves += 1
    _check(it)
    if run.idle_saves > MOST_IDLE_SAVES:
        give_up(it)


@compiled
def vain(it: Running) -> None:
    """One more save that turned out void, or load that failed."""
    run = it.run
    if run.in_vain >= MOST_IN_VAIN:
        give_up(it)
    _check(it)
    run.in_vain += 1


@compiled
def _check(it: Running) -> None:
    run = it.run
    if _gets_nowhere(run.now, it.plan.useful_s, run.failures + run.saves + run.in_vain):
        give_up(it)


@inlined
def replacement_s(it: Running, nodes: int) -> float:
    """How long the nodes that the last failure took wait for others."""
    run, draws = it.run, it.draws
    delay_s = it.plan.delay_s
    if draws.delay_count:
        if run.failures > draws.delay_count:
            run.status = MORE_DELAYS
            return 0.0
        delay_s = it.numbers[draws.delays + run.failures - 1]
    return take_spares(it, nodes, delay_s) if it.plan.spares else delay_s


@compiled
def ready(it: Running) -> int:
    """How many spare machines stand ready."""
    count = 0
    for spare in range(it.plan.spares):
        count += it.ready_s[spare] <= it.run.now
    return count


@compiled
def take_spares(it: Running, nodes: int, delay_s: float) -> float:
    """How long so many nodes wait for others, of which as many will be there again in `delay_s`."""
    return _wait_s(part(it.ready_s, 0, it.plan.spares), nodes, it.run.now, delay_s)


@inlined
def _wait_s(ready_s: Any, nodes: int, now_s: float, delay_s: float) -> float:
    """As `cprsim.sim.spares`: until the last of so many machines is ready."""
    back_s, wait_s = now_s + delay_s, 0.0
    for _ in range(nodes):
        first_s = ready_s[0]
        if first_s > back_s:  # its own replacement comes before any other
            wait_s = max(back_s - now_s, 0.0)
            continue
        place = 0  # what is ready first is taken, and the replacement joins in its order
        while place + 1 < len(ready_s) and ready_s[place + 1] <= back_s:
            ready_s[place] = ready_s[place + 1]
            place += 1
        ready_s[place] = back_s
        wait_s = max(first_s - now_s, 0.0)
    return wait_s
