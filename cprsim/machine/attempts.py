"""Failed saves and loads, runs that are given up, and the pool of spare machines.

Rules 14, 29 and 31 to 33 of docs/semantics.md.
"""

from typing import Any

from cprsim.machine import codes, rules
from cprsim.machine.rows import Running, drawn

#: A job with this many failures will not end, even if its failures take no time.
MOST_FAILURES = 1_000_000
#: Saves in a row without training in between, after which a job will not end.
MOST_IDLE_SAVES = 1000
#: Failed saves and loads after which a job will not end, even if they take no time.
MOST_WASTED = 10_000_000


def save_has_failed(job: Running, save: Any, start_s: float) -> bool:
    """Return whether a save that began at `start_s` and ends now has failed (rule 31).

    Sets `run.torn` where the save leaves a torn checkpoint instead (rule 35).
    """
    run, draws = job.run, job.draws
    run.torn = False
    if not save.can_fail:
        return False
    chance = drawn(job, draws.voids + run.void, run.void, draws.void_count, codes.MORE_VOIDS)
    torn = False
    if job.plan.torn > 0:
        at = draws.torn + run.void
        torn = drawn(job, at, run.void, draws.void_count, codes.MORE_VOIDS) < job.plan.torn
    run.torn = torn and not job.plan.checksum
    void = torn and job.plan.checksum
    run.void += 1
    return chance < job.plan.save_fails or _was_away(job, start_s) or void


def load_has_failed(job: Running, answer: Any, start_s: float) -> bool:
    """Return whether a load that began at `start_s` and ends now has failed (rule 32)."""
    run, draws = job.run, job.draws
    if not answer.can_fail:
        return False
    chance = drawn(job, draws.loads + run.load, run.load, draws.load_count, codes.MORE_LOADS)
    run.load += 1
    failed = chance < job.plan.load_fails or _was_away(job, start_s)
    if not failed and run.torn_loads:
        run.torn_loads -= 1
        failed = True
    if failed:
        count_wasted(job, codes.WASTED)
    return failed


def _was_away(job: Running, start_s: float) -> bool:
    """Return whether the store had an outage at any time since `start_s` (rule 33).

    False for work that takes no time.
    """
    draws, now = job.draws, job.run.now
    if not job.plan.has_outages:
        return False
    low, high = 0, 1
    while high < draws.outage_count and _is_back_s(job, high - 1) <= now:
        high = min(2 * high, draws.outage_count)
    if _is_back_s(job, high - 1) <= now:
        job.run.status = codes.MORE_OUTAGES
        return False
    if start_s == now:
        return False
    while low < high:  # binary search: the first outage that ends after the start
        middle = (low + high) // 2
        if _is_back_s(job, middle) <= start_s:
            low = middle + 1
        else:
            high = middle
    return job.numbers[draws.outages + 2 * low] < now


def _is_back_s(job: Running, outage: int) -> float:
    """Return when an outage ends, s; starts and ends alternate in the numbers."""
    return job.numbers[job.draws.outages + 2 * outage + 1]


def give_up(job: Running, why: int) -> None:
    """Give the run up, unless it has stopped for another reason."""
    job.outside.given_up(why)
    job.run.status = job.run.status or codes.GIVEN_UP


def count_failure(job: Running) -> None:
    """Count a failure; give the run up where it can no longer end (rule 29)."""
    run = job.run
    far = rules.fails_too_often(run.progress_s, job.plan.useful_s, run.failures)
    if far or run.failures >= MOST_FAILURES:
        give_up(job, codes.TOO_MANY)
    _check(job, codes.TOO_RARELY_SAVED)
    run.failures += 1


def count_save(job: Running) -> None:
    """Count a save; give the run up where it only saves."""
    run = job.run
    run.idle_saves += 1
    _check(job, codes.TOO_OFTEN_SAVED)
    if run.idle_saves > MOST_IDLE_SAVES:
        give_up(job, codes.ONLY_SAVES)


def count_wasted(job: Running, why: int) -> None:
    """Count a failed save or load, a drain or the like; give up for reason `why` after too many."""
    run = job.run
    if run.wasted >= MOST_WASTED:
        give_up(job, why)
    _check(job, why)
    run.wasted += 1


def _check(job: Running, why: int) -> None:
    run = job.run
    if rules.makes_no_progress(run.now, job.plan.useful_s, run.failures + run.saves + run.wasted):
        give_up(job, why)


def replacement_s(job: Running, nodes: int) -> float:
    """Return how long the nodes hit by the last failure wait for replacements, s."""
    run, draws = job.run, job.draws
    delay_s = codes.AS_ALL_S
    if draws.repairs != codes.NONE:
        delay_s = job.numbers[draws.repairs + run.last_struck]
    if delay_s == codes.AS_ALL_S:
        delay_s = job.plan.delay_s
        if draws.delay_count:
            delay_s = drawn(
                job,
                draws.delays + run.failures - 1,
                run.failures - 1,
                draws.delay_count,
                codes.MORE_DELAYS,
            )
    return take_spares(job, nodes, delay_s) if job.plan.spares else delay_s


def spares_ready(job: Running) -> int:
    """Return the number of spare machines that are ready now."""
    count = 0
    for spare in range(job.plan.spares):
        count += job.ready_s[spare] <= job.run.now
    return count


def take_spares(job: Running, nodes: int, delay_s: float) -> float:
    """Return how long `nodes` nodes wait for machines from the pool, s (rule 14).

    The nodes' own replacements join the pool in `delay_s`. The nodes take the machines that are
    ready first, and wait for the last of these. `job.ready_s` is a heap.
    """
    ready_s, now_s = job.ready_s, job.run.now
    back_s, wait_s = now_s + delay_s, 0.0
    for _ in range(nodes):
        first_s = ready_s[0]
        if first_s > back_s:  # the node's own replacement is ready before any machine of the pool
            wait_s = max(back_s - now_s, 0.0)
            continue
        _replace_first(ready_s, job.plan.spares, back_s)
        wait_s = max(first_s - now_s, 0.0)
    return wait_s


def _replace_first(heap: Any, size: int, number: float) -> None:
    """Put a number into a heap in place of the least one."""
    place, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= number:
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = number
