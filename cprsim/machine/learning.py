"""Updates that each shard has lost for good, and what was learned by them.

Rule 24 of docs/semantics.md. A job that returns to a checkpoint takes back what its shards lost
after it. So losses are entries of a stack, with the share of updates lost as it was after each:
checkpoints know that share of their own time, and it never falls but by such a return.
"""

import math

from cprsim.machine import marks, rules
from cprsim.machine.codes import MORE_ROOM, SAVING
from cprsim.machine.rows import Running, put


def start(job: Running) -> None:
    """Begin without a loss."""
    job.run.losses = 0
    for server in range(job.plan.servers):
        job.nodes[server].lost_s = 0.0


def note(job: Running, server: int, updates_s: float) -> None:
    """Note updates of a shard, in seconds of a mean shard, that `updates_lost` has just counted."""
    run, own_s = job.run, updates_s
    if updates_s <= 0.0:
        return
    if job.plan.uneven:
        pace = job.real[job.plan.updates + server] * job.plan.servers
        own_s = updates_s / pace if pace > 0.0 else job.plan.useful_s
    if run.losses == len(job.losses):
        _forget(job)
        if run.losses == len(job.losses):
            run.status = MORE_ROOM
            return
    entry, node = job.losses[run.losses], job.nodes[server]
    entry.server, entry.lost_s, entry.updates_lost = server, node.lost_s, run.updates_lost
    run.losses += 1
    node.lost_s += own_s


def take_back(job: Running, updates_lost: float) -> None:
    """Take back all losses after a checkpoint, at which so much was lost of all updates."""
    run = job.run
    if updates_lost == run.updates_lost:
        return
    if updates_lost == 0.0:
        start(job)
        return
    while run.losses and job.losses[run.losses - 1].updates_lost > updates_lost:
        run.losses -= 1
        entry = job.losses[run.losses]
        job.nodes[entry.server].lost_s = entry.lost_s


def lost(job: Running) -> float:
    """Return the learning lost, a mean over shards."""
    total = 0.0
    if job.run.updates_lost > 0.0:
        for server in range(job.plan.servers):
            total += rules.learning_lost(job.nodes[server].lost_s / job.plan.useful_s)
    return total / job.plan.servers


def _forget(job: Running) -> None:
    """Drop entries that no checkpoint can take back; the initial state takes all back anyhow."""
    run, dropped, first_lost = job.run, 0, _least(job)
    while dropped < run.losses and job.losses[dropped].updates_lost <= first_lost:
        dropped += 1
    if dropped == 0:
        return
    for place in range(dropped, run.losses):
        put(job.losses, place - dropped, job.losses[place])
    run.losses -= dropped


def _least(job: Running) -> float:
    """Return the least share of updates lost, above 0, of all checkpoints stored or under way."""
    least = math.inf
    if job.plan.step_s > 0.0:  # a mirror
        least = _less(least, job.run.returned_updates_lost)
    for number in range(job.plan.schedules):
        for back in range(job.tiers[number].kept_count + 1):
            place = marks.in_ring(job, number, -back)
            least = _less(least, job.kept[place].updates_lost)
    for place in range(job.run.flows):
        if job.flows[place].kind == SAVING:
            least = _less(least, job.flows[place].taken_updates_lost)
    return least


def _less(least: float, updates_lost: float) -> float:
    return updates_lost if 0.0 < updates_lost < least else least
