"""Answers of the policy to a loss, and the load of each."""

from typing import Any

from cprsim.machine import node_lists, rules, state
from cprsim.machine.attempts import give_up
from cprsim.machine.codes import NO_LOAD, NONE
from cprsim.machine.node_lists import COUNT, FIRST, SEVERITY
from cprsim.machine.plan_rows import LINKS
from cprsim.machine.rows import Running

_LINKS = len(LINKS)


def by_rule(job: Running, down: int) -> int:
    """Return the answer of the plan's rule to the loss in `down`, without asking a controller."""
    return job.outside.by_rule(down) if job.plan.own else answer_to(job, down)


def answer_to(job: Running, down: int) -> int:
    """Return the answer to the loss in list `down`.

    A controller decides, or a sequence has chosen it, or else the first case that fits has it.
    """
    plan = job.plan
    if plan.own:
        return job.outside.answer(down)
    if job.run.chosen != NONE:
        return job.run.chosen
    last = plan.first_case + plan.cases - 1
    servers = node_lists.server_count(job.lists, down, plan.servers)
    trainers = job.lists[down][COUNT] - servers
    severity = 1 << job.lists[down][SEVERITY]
    for place in range(plan.first_case, last):
        case = job.cases[place]
        if (
            case.severities & severity
            and case.least_servers <= servers <= case.most_servers
            and case.least_trainers <= trainers <= case.most_trainers
            and (case.sets == NONE or _is_gone(job, case, down, servers))
        ):
            return case.answer
    return job.cases[last].answer


def _is_gone(job: Running, case: Any, down: int, servers: int) -> bool:
    """Return whether all servers of one of the sets of `case` are down."""
    for i in range(servers):
        first = case.sets + job.lists[down][FIRST + i] * case.count * case.width
        for each in range(first, first + case.count * case.width, case.width):
            if _is_down(job, each, case.width, down):
                return True
    return False


def _is_down(job: Running, first: int, size: int, down: int) -> bool:
    if job.whole[first] == NONE:  # a place without a set
        return False
    for place in range(first, first + size):
        if not node_lists.holds(job.lists, down, job.whole[place]):
            return False
    return True


def load(job: Running, answer: Any, servers: int, room: int) -> Any:
    """Return the load after a failure of `servers` servers, as a transfer in row `room` of `rated`.

    Gives the run up where its cost can't be derived.
    """
    of_checkpoint = state.saved(job, answer.source, answer.mirrored).reads
    reads = rules.bytes_read(answer.reads, answer.made_anew, of_checkpoint)
    rated, place = job.rated[room], answer.load if servers else answer.nothing
    if place == NONE:  # its cost can't be derived; the simulator's error names the missing key
        give_up(job, NO_LOAD)
        place = 0
    found = job.transfers[place]
    rated.volume = found.volume if reads == 1.0 else found.volume * reads
    rated.limit, rated.share, rated.linked = found.cap, found.share, found.linked
    for link in range(_LINKS):
        rated.uses[link] = found.uses[link]
    rated.uses[_LINKS - 1] += answer.each * (servers - 1) if servers else 0.0
    for link in range(_LINKS):
        if rated.uses[link] and job.plan.capacity[link] / rated.uses[link] < rated.limit:
            rated.limit = job.plan.capacity[link] / rated.uses[link]
    return rated
