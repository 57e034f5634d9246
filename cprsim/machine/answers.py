"""Which answer a loss has, and what it loads."""

from typing import Any

from cprsim.contract import rules
from cprsim.machine import node_lists, state
from cprsim.machine.attempts import give_up
from cprsim.machine.codes import NO_LOAD, NONE
from cprsim.machine.node_lists import COUNT, FIRST, SEVERITY
from cprsim.machine.rows import LINKS, Running

_LINKS = len(LINKS)


def by_rule(it: Running, down: int) -> int:
    """The answer that the plan's rule has for who is down, without asking anybody."""
    return it.outside.by_rule(down) if it.plan.own else answer_to(it, down)


def answer_to(it: Running, down: int) -> int:
    """The answer to who is down: what was chosen, or that of the first case that fits."""
    plan = it.plan
    if plan.own:
        return it.outside.answer(down)
    if it.run.chosen != NONE:
        return it.run.chosen
    last = plan.first_case + plan.cases - 1
    servers = node_lists.server_count(it.lists, down, plan.servers)
    trainers = it.lists[down][COUNT] - servers
    severity = 1 << it.lists[down][SEVERITY]
    for place in range(plan.first_case, last):
        case = it.cases[place]
        if (
            case.severities & severity
            and case.least_servers <= servers <= case.most_servers
            and case.least_trainers <= trainers <= case.most_trainers
            and (case.sets == NONE or _is_gone(it, case, down, servers))
        ):
            return case.answer
    return it.cases[last].answer


def _is_gone(it: Running, case: Any, down: int, servers: int) -> bool:
    """Whether some set of its servers is down as a whole."""
    for i in range(servers):
        first = case.sets + it.lists[down][FIRST + i] * case.count * case.width
        for each in range(first, first + case.count * case.width, case.width):
            if _is_down(it, each, case.width, down):
                return True
    return False


def _is_down(it: Running, first: int, size: int, down: int) -> bool:
    if it.whole[first] == NONE:  # a place without a set
        return False
    for place in range(first, first + size):
        if not node_lists.holds(it.lists, down, it.whole[place]):
            return False
    return True


def load(it: Running, answer: Any, servers: int, room: int) -> Any:
    """What is loaded after a failure of so many servers; a transfer in that room."""
    of_checkpoint = state.saved(it, answer.source, answer.mirrored).reads
    reads = rules.r26_reads(answer.reads, answer.made_anew, of_checkpoint)
    rated, place = it.rated[room], answer.load if servers else answer.nothing
    if place == NONE:  # it can't be derived, as the simulator says
        give_up(it, NO_LOAD)
        place = 0
    found = it.transfers[place]
    rated.volume = found.volume if reads == 1.0 else found.volume * reads
    rated.limit, rated.share, rated.linked = found.cap, found.share, found.linked
    for link in range(_LINKS):
        rated.uses[link] = found.uses[link]
    rated.uses[_LINKS - 1] += answer.each * (servers - 1) if servers else 0.0
    for link in range(_LINKS):
        if rated.uses[link] and it.plan.capacity[link] / rated.uses[link] < rated.limit:
            rated.limit = it.plan.capacity[link] / rated.uses[link]
    return rated
