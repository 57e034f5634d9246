"""One run's way through its failures.

Lives of nodes end in the order of a tournament: a tree of the earlier of two, so that each life
that ends, and each node that is placed, costs the logarithm of their number.
"""

import math

from cprsim.failures.hit import SEVERITIES
from cprsim.machine import node_lists
from cprsim.machine.codes import (
    ABSOLUTE,
    LIVES,
    MORE_BURSTS,
    MORE_GAPS,
    MORE_LIVES,
    MORE_SEVERITIES,
    MORE_VICTIMS,
    NONE,
    OTHER,
    RENEWAL,
    SHARED,
)
from cprsim.machine.node_lists import COUNT, FIRST, SEVERITY, SPARE, STRUCK
from cprsim.machine.rows import Running

_NODE, _CLUSTER = SEVERITIES.index("node"), SEVERITIES.index("cluster")


def start(it: Running) -> None:
    """At time 0 with the job running."""
    run, plan = it.run, it.plan
    run.struck = run.bursts = run.absorbed = 0
    run.running = True
    if plan.source == OTHER:
        it.outside.begin_failures()
        return
    if plan.source == LIVES or plan.source == SHARED:
        for node in range(plan.nodes):
            it.nodes[node].generation = 0
            it.nodes[node].placed_s = 0.0
            it.tree[plan.leaves + node] = _life_s(it, 0, node)
        for leaf in range(plan.leaves + plan.nodes, 2 * plan.leaves):
            it.tree[leaf] = math.inf
        for place in range(plan.leaves - 1, 0, -1):
            it.tree[place] = min(it.tree[2 * place], it.tree[2 * place + 1])
    run.next_s = _next_s(it, 0.0)


def look_ahead(it: Running) -> None:
    """What the failure at `next_s` is to take down, into the list of the struck."""
    source = it.plan.source
    node_lists.clear(it.lists, STRUCK)
    it.lists[STRUCK][SEVERITY] = _NODE
    if source == OTHER:
        it.outside.look_ahead()
    elif source == RENEWAL or source == ABSOLUTE:
        _take_chosen(it)
        _grade(it)
    elif source == SHARED:
        _look_at_shared(it)
    else:
        for node in range(it.plan.nodes):
            if it.tree[it.plan.leaves + node] == it.run.next_s:
                node_lists.append(it.lists, STRUCK, node)


def strike(it: Running) -> None:
    """Take the failure at `next_s` into the list of the struck; none comes before `resume`."""
    run, source = it.run, it.plan.source
    at_s = run.next_s
    run.next_s = math.inf
    node_lists.clear(it.lists, STRUCK)
    it.lists[STRUCK][SEVERITY] = _NODE
    if source == OTHER:
        it.outside.strike()
        return
    if source == RENEWAL or source == ABSOLUTE:
        _take_chosen(it)
        _grade(it)
        run.struck += 1
        return
    run.running = False
    if source == SHARED:
        _take_shared(it, at_s)
        return
    while it.tree[1] == at_s:  # lives that end together are one failure
        node_lists.append(it.lists, STRUCK, _take_first(it))


def replace(it: Running, nodes: int) -> None:
    """The nodes of a list are placed anew."""
    if it.plan.source == OTHER:
        it.outside.replace(nodes)
        return
    if it.plan.source != LIVES and it.plan.source != SHARED:
        return
    for i in range(it.lists[nodes][COUNT]):
        _place(it, it.lists[nodes][FIRST + i])
    if it.run.running:
        it.run.next_s = _next_s(it, it.run.now)


def resume(it: Running) -> None:
    """The job can be hit again from now on; a renewed clock starts."""
    run, source = it.run, it.plan.source
    run.running = True
    if source == OTHER:
        it.outside.resume()
        return
    if source == ABSOLUTE:
        while _at_s(it, run.struck) < run.now:
            run.struck += 1
            run.absorbed += 1
    elif source == LIVES:
        while it.tree[1] < run.now:
            # It failed in the downtime and is replaced with the others, before the job goes on.
            run.absorbed += 1
            _place(it, _take_first(it))
    elif source == SHARED:
        _pass_shared(it)
    run.next_s = _next_s(it, run.now)


def pause(it: Running) -> None:
    """The job runs on no nodes from now on; a renewed clock stands still."""
    run = it.run
    if it.plan.source == OTHER:
        it.outside.pause()
        return
    run.paused_s = run.next_s - run.now
    run.next_s = math.inf
    run.running = False


def go_on(it: Running) -> None:
    """It runs again after a pause; what fell strictly inside is absorbed."""
    if it.plan.source == OTHER:
        it.outside.go_on()
    elif it.plan.source == RENEWAL:
        it.run.next_s = it.run.now + it.run.paused_s
    else:
        resume(it)


def _next_s(it: Running, now: float) -> float:
    """When the next failure strikes."""
    run, source = it.run, it.plan.source
    if source == LIVES:
        return it.tree[1]
    if source == SHARED:
        return min(_burst_s(it), it.tree[1])
    if source == ABSOLUTE:
        return _at_s(it, run.struck)
    if run.struck >= it.draws.gap_count:
        run.status = MORE_GAPS
        return math.inf
    return now + it.numbers[it.draws.gaps + run.struck]


# --- Failures in an order of their own -----------------------------------------------------------


def _at_s(it: Running, index: int) -> float:
    """Time of a failure; those of a circle come again and again."""
    draws = it.draws
    count = draws.gap_count
    if index < count:
        return it.numbers[draws.gaps + index]
    if not count or math.isinf(draws.circle_s):
        return math.inf
    return it.numbers[draws.gaps + index % count] + index // count * draws.circle_s


def _take_chosen(it: Running) -> None:
    """What the failure takes down that was drawn, or that a log tells."""
    draws, lists, servers = it.draws, it.lists, it.plan.servers
    index = it.run.struck
    if it.plan.source == ABSOLUTE:
        index %= max(draws.gap_count, 1)
    if draws.hits != NONE:
        first = it.choices[draws.hits + index]
        lists[STRUCK][SEVERITY] = it.choices[first + 1]
        for i in range(it.choices[first]):
            node_lists.append(lists, STRUCK, it.choices[first + 2 + i])
        return
    if index >= draws.victim_count:
        it.run.status = MORE_VICTIMS
        return
    of_servers = of_trainers = True
    if draws.kinds != NONE:
        of_servers = it.choices[draws.kinds + index] == 1
        of_trainers = not of_servers
    if of_servers:
        first = draws.victims + index * draws.per_servers
        for i in range(draws.per_servers):
            node_lists.append(lists, STRUCK, it.choices[first + i])
    if of_trainers:
        first = draws.victim_trainers + index * draws.per_trainers
        for i in range(draws.per_trainers):
            node_lists.append(lists, STRUCK, servers + it.choices[first + i])


def _grade(it: Running) -> None:
    """How severe the failure is, where that is drawn; of the cluster it takes down every node."""
    draws, lists, index = it.draws, it.lists, it.run.struck
    if draws.severities == NONE:
        return
    if index >= draws.severity_count:
        it.run.status = MORE_SEVERITIES
        return
    severity = it.choices[draws.severities + index]
    if severity == _CLUSTER:
        node_lists.clear(lists, STRUCK)
        for node in range(it.plan.nodes):
            node_lists.append(lists, STRUCK, node)
    lists[STRUCK][SEVERITY] = severity


# --- Lives of nodes ------------------------------------------------------------------------------


def _life_s(it: Running, generation: int, node: int) -> float:
    if generation >= it.draws.life_count:
        it.run.status = MORE_LIVES
        return math.inf
    return it.numbers[it.draws.lives + generation * it.draws.life_stride + node]


def _end(it: Running, node: int, at_s: float) -> None:
    """That node's life ends then."""
    tree, place = it.tree, it.plan.leaves + node
    tree[place] = at_s
    while place > 1:
        place //= 2
        earlier = min(tree[2 * place], tree[2 * place + 1])
        if tree[place] == earlier:
            return
        tree[place] = earlier


def _take_first(it: Running) -> int:
    """The node whose life ends first, the lowest of several; it is down from now on."""
    tree, place = it.tree, 1
    while place < it.plan.leaves:
        place *= 2
        if tree[place] > tree[place + 1]:
            place += 1
    node = place - it.plan.leaves
    _end(it, node, math.inf)
    return node


def _place(it: Running, node: int) -> None:
    """Place a new node."""
    row = it.nodes[node]
    row.generation += 1
    row.placed_s = it.run.now
    _end(it, node, it.run.now + _life_s(it, row.generation, node))


# --- Bursts, and failures of the cluster ---------------------------------------------------------


def _burst_s(it: Running) -> float:
    draws = it.draws
    if draws.bursts == NONE:
        return math.inf
    if it.run.bursts >= draws.burst_count:
        it.run.status = MORE_BURSTS
        return math.inf
    return it.numbers[draws.bursts + it.run.bursts]


def _strike_at(it: Running, at_s: float) -> int:
    """Nodes of bursts at this instant (`SPARE`), and those that are up of all that are hit.

    These go into the list of the struck. Returns how many lives end by themselves.
    """
    _list_bursts(it, at_s)
    ended = 0
    while it.tree[1] == at_s:
        node_lists.insert(it.lists, STRUCK, _take_first(it))
        ended += 1
    return ended


def _list_bursts(it: Running, at_s: float) -> None:
    """Nodes of bursts at this instant, which are over then, and those of them that are up."""
    run, draws, lists = it.run, it.draws, it.lists
    node_lists.clear(lists, SPARE)
    while not run.status and _burst_s(it) == at_s:
        first = draws.burst_nodes + run.bursts * draws.burst_width
        for i in range(draws.burst_width):
            if it.choices[first + i] != NONE:
                node_lists.insert(lists, SPARE, it.choices[first + i])
        run.bursts += 1
    for i in range(lists[SPARE][COUNT]):
        node = lists[SPARE][FIRST + i]
        if it.nodes[node].placed_s <= at_s:  # neither down nor placed after it
            node_lists.append(lists, STRUCK, node)


def _look_at_shared(it: Running) -> None:
    lists, at_s, bursts = it.lists, it.run.next_s, it.run.bursts
    _list_bursts(it, at_s)
    it.run.bursts = bursts
    for node in range(it.plan.nodes):
        if it.tree[it.plan.leaves + node] == at_s:
            node_lists.insert(lists, STRUCK, node)
    _grade_shared(it)


def _grade_shared(it: Running) -> None:
    lists = it.lists
    if not lists[STRUCK][COUNT]:  # where all were down before, they are hit once more
        node_lists.copy(lists, STRUCK, SPARE)
        lists[STRUCK][SEVERITY] = _NODE
    _grade(it)


def _take_shared(it: Running, at_s: float) -> None:
    lists = it.lists
    _strike_at(it, at_s)
    _grade_shared(it)
    it.run.struck += 1
    for i in range(lists[STRUCK][COUNT]):
        node = lists[STRUCK][FIRST + i]
        it.nodes[node].placed_s = math.inf
        _end(it, node, math.inf)


def _pass_shared(it: Running) -> None:
    """What came in the downtime: who failed is replaced with the others."""
    run = it.run
    while not run.status and _next_s(it, run.now) < run.now:
        node_lists.clear(it.lists, STRUCK)
        ended = _strike_at(it, _next_s(it, run.now))
        run.absorbed += 1 if it.lists[SPARE][COUNT] else ended
        for i in range(it.lists[STRUCK][COUNT]):
            _place(it, it.lists[STRUCK][FIRST + i])
