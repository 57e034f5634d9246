"""The next failure of a run, and the nodes that it hits.

The earliest end of a node's life is found in a tournament tree, in which each inner place holds the
earlier of two. An end or a replacement costs the logarithm of the number of nodes.
"""

import math

from cprsim.job.severity import SEVERITIES
from cprsim.machine import codes, node_lists, offenders
from cprsim.machine.node_lists import COUNT, FIRST, SEVERITY, SPARE, STRUCK
from cprsim.machine.rows import Running, drawn

_NODE, _CLUSTER = SEVERITIES.index("node"), SEVERITIES.index("cluster")


def start(job: Running) -> None:
    """Begin at time 0, with the job running."""
    run, plan = job.run, job.plan
    if plan.source == codes.OTHER:
        job.outside.begin_failures()
        return
    if plan.source == codes.LIVES:
        for node in range(plan.nodes):
            job.nodes[node].generation = 0
            job.nodes[node].placed_s = 0.0
            offenders.begin(job, node)
            job.tree[plan.leaves + node] = _life_s(job, 0, node)
        for leaf in range(plan.leaves + plan.nodes, 2 * plan.leaves):
            job.tree[leaf] = math.inf
        for place in range(plan.leaves - 1, 0, -1):
            job.tree[place] = min(job.tree[2 * place], job.tree[2 * place + 1])
    run.next_s = _next_s(job, 0.0)


def look_ahead(job: Running) -> None:
    """List the nodes that the failure at `next_s` will hit in `STRUCK`, without a change."""
    source = job.plan.source
    node_lists.clear(job.lists, STRUCK)
    job.lists[STRUCK][SEVERITY] = _NODE
    if source == codes.OTHER:
        job.outside.look_ahead()
    elif source == codes.RENEWAL or source == codes.ABSOLUTE:
        _take_chosen(job)
        _grade(job)
    else:
        _look_at_lives(job)


def strike(job: Running) -> None:
    """List the nodes hit by the failure at `next_s` in `STRUCK`; none strikes before `resume`."""
    run, source = job.run, job.plan.source
    at_s, run.last_struck = run.next_s, run.struck
    run.next_s = math.inf
    node_lists.clear(job.lists, STRUCK)
    job.lists[STRUCK][SEVERITY] = _NODE
    if source == codes.OTHER:
        job.outside.strike()
        return
    if source == codes.RENEWAL or source == codes.ABSOLUTE:
        _take_chosen(job)
        _grade(job)
        run.struck += 1
        return
    run.running = False
    _take_lives(job, at_s)


def replace(job: Running, nodes: int) -> None:
    """Place new nodes in the places of a list."""
    if job.plan.source == codes.OTHER:
        job.outside.replace(nodes)
        return
    if job.plan.source != codes.LIVES:
        return
    for i in range(job.lists[nodes][COUNT]):
        _place(job, job.lists[nodes][FIRST + i])
    if job.run.running:
        job.run.next_s = _next_s(job, job.run.now)


def resume(job: Running) -> None:
    """Let failures strike again from now on; a renewed clock starts (rule 11)."""
    run, source = job.run, job.plan.source
    run.running = True
    if source == codes.OTHER:
        job.outside.resume()
        return
    if source == codes.ABSOLUTE:
        while _at_s(job, run.struck) < run.now:
            run.struck += 1
            run.absorbed += 1
    elif source == codes.LIVES:
        _pass_lives(job)
    run.next_s = _next_s(job, run.now)


def pause(job: Running) -> None:
    """Stop failures, as the job has no nodes; a renewed clock stops meanwhile (rule 11)."""
    run = job.run
    if job.plan.source == codes.OTHER:
        job.outside.pause()
        return
    run.paused_s = run.next_s - run.now
    run.next_s = math.inf
    run.running = False


def unpause(job: Running) -> None:
    """Let failures strike again after `pause`; those that fell strictly inside are masked."""
    if job.plan.source == codes.OTHER:
        job.outside.go_on()
    elif job.plan.source == codes.RENEWAL:
        job.run.next_s = job.run.now + job.run.paused_s
    else:
        resume(job)


def _next_s(job: Running, now: float) -> float:
    """Return when the next failure strikes, s."""
    run, source = job.run, job.plan.source
    if source == codes.LIVES:
        return min(_burst_s(job), job.tree[1])
    if source == codes.ABSOLUTE:
        return _at_s(job, run.struck)
    draws = job.draws
    return now + drawn(job, draws.gaps + run.struck, run.struck, draws.gap_count, codes.MORE_GAPS)


# --- Failures of the job, in order of time --------------------------------------------------------


def _at_s(job: Running, index: int) -> float:
    """Return when a failure strikes, s; a circular log repeats."""
    draws = job.draws
    count = draws.gap_count
    if index < count:
        return job.numbers[draws.gaps + index]
    if not count or math.isinf(draws.circle_s):
        return math.inf
    return job.numbers[draws.gaps + index % count] + index // count * draws.circle_s


def _take_chosen(job: Running) -> None:
    """List the nodes that the failure hits, as drawn or as logged."""
    draws, lists, servers = job.draws, job.lists, job.plan.servers
    index = job.run.struck
    if job.plan.source == codes.ABSOLUTE:
        index %= max(draws.gap_count, 1)
    if draws.hits != codes.NONE:
        if draws.victim_count and index >= draws.victim_count:
            job.run.status = codes.MORE_VICTIMS
            return
        first = job.choices[draws.hits + index]
        lists[STRUCK][SEVERITY] = job.choices[first + 1]
        for i in range(job.choices[first]):
            node_lists.append(lists, STRUCK, job.choices[first + 2 + i])
        return
    if index >= draws.victim_count:
        job.run.status = codes.MORE_VICTIMS
        return
    of_servers = of_trainers = True
    if draws.kinds != codes.NONE:
        of_servers = job.choices[draws.kinds + index] == 1
        of_trainers = not of_servers
    if of_servers:
        first = draws.victims + index * draws.per_servers
        for i in range(draws.per_servers):
            node_lists.append(lists, STRUCK, job.choices[first + i])
    if of_trainers:
        first = draws.victim_trainers + index * draws.per_trainers
        for i in range(draws.per_trainers):
            node_lists.append(lists, STRUCK, servers + job.choices[first + i])


def _grade(job: Running) -> None:
    """Set the severity of the failure where it is drawn (rule 30).

    A failure of the cluster hits every node.
    """
    draws, lists, index = job.draws, job.lists, job.run.struck
    if draws.severities == codes.NONE:
        return
    if index >= draws.severity_count:
        job.run.status = codes.MORE_SEVERITIES
        return
    severity = job.choices[draws.severities + index]
    if severity == _CLUSTER:
        node_lists.clear(lists, STRUCK)
        for node in range(job.plan.nodes):
            node_lists.append(lists, STRUCK, node)
    lists[STRUCK][SEVERITY] = severity


# --- Lives of nodes, bursts, and failures of the cluster -----------------------------------------


def _life_s(job: Running, generation: int, node: int) -> float:
    draws = job.draws
    place = draws.lives + generation * draws.life_stride + node
    life_s = drawn(job, place, generation, draws.life_count, codes.MORE_LIVES)
    return life_s / draws.bad_times if job.nodes[node].bad else life_s


def _end(job: Running, node: int, at_s: float) -> None:
    """Set the end of a node's life, and update the tree above it."""
    tree, place = job.tree, job.plan.leaves + node
    tree[place] = at_s
    while place > 1:
        place //= 2
        earlier = min(tree[2 * place], tree[2 * place + 1])
        if tree[place] == earlier:
            return
        tree[place] = earlier


def _take_first(job: Running) -> int:
    """Return the node whose life ends first, and mark it as down.

    Of several that end together, the one with the lowest number.
    """
    tree, place = job.tree, 1
    while place < job.plan.leaves:
        place *= 2
        if tree[place] > tree[place + 1]:
            place += 1
    node = place - job.plan.leaves
    _end(job, node, math.inf)
    return node


def _place(job: Running, node: int) -> None:
    """Place a new node, or one that was repaired."""
    row = job.nodes[node]
    row.generation += 1
    row.placed_s = job.run.now
    offenders.repair(job, node)
    _end(job, node, job.run.now + _life_s(job, row.generation, node))


def _burst_s(job: Running) -> float:
    draws, passed = job.draws, job.run.bursts
    if draws.bursts == codes.NONE:
        return math.inf
    return drawn(job, draws.bursts + passed, passed, draws.burst_count, codes.MORE_BURSTS)


def _strike_at(job: Running, at_s: float) -> int:
    """List the nodes hit at an instant, which are one failure; return how many lives have ended.

    `SPARE`: nodes chosen by bursts, up or down. `STRUCK`: all nodes hit that are up.
    """
    _list_bursts(job, at_s)
    ended = 0
    while job.tree[1] == at_s:
        node_lists.insert(job.lists, STRUCK, _take_first(job))
        ended += 1
    return ended


def _list_bursts(job: Running, at_s: float) -> None:
    """List the nodes chosen by bursts at an instant, and pass these bursts.

    `SPARE`: all of them. `STRUCK`: those that are up.
    """
    run, draws, lists = job.run, job.draws, job.lists
    node_lists.clear(lists, SPARE)
    while not run.status and _burst_s(job) == at_s:
        first = draws.burst_nodes + run.bursts * draws.burst_width
        for i in range(draws.burst_width):
            if job.choices[first + i] != codes.NONE:
                node_lists.insert(lists, SPARE, job.choices[first + i])
        run.bursts += 1
    for i in range(lists[SPARE][COUNT]):
        node = lists[SPARE][FIRST + i]
        if job.nodes[node].placed_s <= at_s:  # the node is neither down nor newer than the burst
            node_lists.append(lists, STRUCK, node)


def _look_at_lives(job: Running) -> None:
    """List the nodes that the failure at `next_s` will hit; it stays ahead."""
    lists, at_s, bursts = job.lists, job.run.next_s, job.run.bursts
    _list_bursts(job, at_s)
    job.run.bursts = bursts
    for node in range(job.plan.nodes):
        if job.tree[job.plan.leaves + node] == at_s:
            node_lists.insert(lists, STRUCK, node)
    _grade_lives(job)


def _grade_lives(job: Running) -> None:
    lists = job.lists
    if not lists[STRUCK][COUNT]:  # all chosen nodes are down: it costs its detection (rule 18)
        node_lists.copy(lists, STRUCK, SPARE)
        lists[STRUCK][SEVERITY] = _NODE
    _grade(job)


def _take_lives(job: Running, at_s: float) -> None:
    """List the nodes that fail at an instant; from then on they are down."""
    lists = job.lists
    _strike_at(job, at_s)
    _grade_lives(job)
    job.run.struck += 1
    for i in range(lists[STRUCK][COUNT]):
        node = lists[STRUCK][FIRST + i]
        job.nodes[node].placed_s = math.inf
        _end(job, node, math.inf)


def _pass_lives(job: Running) -> None:
    """Mask failures of the downtime; nodes that they hit are replaced with the others.

    Their machines are not repaired for it (rule 41). A burst counts as one masked failure, together
    with the lives that end with it (rule 18).
    """
    run = job.run
    while not run.status and _next_s(job, run.now) < run.now:
        node_lists.clear(job.lists, STRUCK)
        ended = _strike_at(job, _next_s(job, run.now))
        run.absorbed += 1 if job.lists[SPARE][COUNT] else ended
        for i in range(job.lists[STRUCK][COUNT]):
            node = job.lists[STRUCK][FIRST + i]
            job.nodes[node].stays = True
            _place(job, node)
