"""Repeat offenders: machines that fail more often than others until a repair cures them.

Rule 41 of docs/semantics.md.
"""

from cprsim.machine.codes import NONE
from cprsim.machine.node_lists import COUNT, FIRST
from cprsim.machine.rows import Running


def begin(job: Running, node: int) -> None:
    """Put the first machine into a place."""
    row = job.nodes[node]
    row.repairs, row.is_away, row.stays = 0, False, False
    row.bad = job.draws.states != NONE and _state(job, node) < job.draws.bad_share


def strike(job: Running, nodes: int, in_place: bool) -> None:
    """Note which machines of a list of nodes restart in place, which repairs nothing.

    A machine that is to be replaced, for this failure or an earlier one, is repaired.
    """
    for i in range(job.lists[nodes][COUNT]):
        row = job.nodes[job.lists[nodes][FIRST + i]]
        row.stays = in_place and (row.stays or not row.is_away)
        row.is_away = True


def repair(job: Running, node: int) -> None:
    """Repair the machine of a place whose next life begins, or retire it for another."""
    draws, row = job.draws, job.nodes[node]
    stays, row.stays, row.is_away = row.stays, False, False
    if draws.states == NONE or stays or row.generation >= draws.life_count:
        return
    state = _state(job, node)
    if state < draws.misdiagnosed:
        return
    state = (state - draws.misdiagnosed) / (1 - draws.misdiagnosed)  # from 0 to 1 again
    row.repairs += 1
    if row.repairs == draws.retired_after:
        row.repairs = 0
        row.bad = state < draws.bad_share
    elif state < draws.cured:
        row.bad = False


def _state(job: Running, node: int) -> float:
    """Return the number from 0 to 1 that decides on the machine of a place."""
    draws = job.draws
    return job.numbers[draws.states + job.nodes[node].generation * draws.life_stride + node]
