"""Recoveries, from a failure that strikes to training on (rules 7 to 13 of docs/semantics.md).

`begin_recovery` lists the nodes hit, asks the policy for its answer (a `Recover`: how far to roll
back, from which tier, and whether other nodes train on), and rolls back. The failure is detected
(`detected`), machines come (`arrived`), and what was lost is loaded (`loaded`); then training, or a
save that was interrupted, resumes. A failure that strikes meanwhile is answered as well, by
`_answer_failure`, and the deepest of the answers holds; it is masked if it hits no node that is up.
Depths: no rollback, the lost shards alone, the whole job.

A failure comes here by the phase that it strikes in:

- in training by `turn.take_turn`, in a save by `save.interrupt`: `begin_recovery`;
- in detection and while machines are waited for by `detected` and `arrived`: `_answer_failure`;
- in a restart or a load: `recover_again`.
"""

from cprsim.machine import (
    attempts,
    cursors,
    marks,
    node_lists,
    restarts,
    rules,
    schedules,
    starts,
    state,
    waiting,
)
from cprsim.machine.answers import answer_to
from cprsim.machine.answers import load as transfer_of
from cprsim.machine.codes import FILLING, MORE_ROOM, NONE, REPLACING
from cprsim.machine.flows import abandon_rebuilding, abandon_saves, join_down, rebuild, rebuilding
from cprsim.machine.node_lists import (
    AWAY,
    COUNT,
    DOWN,
    EMPTY,
    FIRST,
    HIT,
    LOST,
    NEW,
    PLACED,
    SEVERITY,
    STRUCK,
    WAITING,
)
from cprsim.machine.phases import ARRIVING, DETECTING, HELD, LOADING, RESTARTING, TAKING_OVER, TURN
from cprsim.machine.rows import Running
from cprsim.machine.work import begin, wait

_RELOADED = 0  # row of `job.rated` for the load


def begin_recovery(job: Running) -> None:
    """Begin a recovery from the failure at this instant."""
    job.run.depth = rules.NO_ROLLBACK
    waiting.take_failure(job)
    node_lists.clear(job.lists, WAITING)  # no recovery is under way
    job.run.deepest_answer = NONE
    _answer_failure(job)


def roll_back_to_verified(job: Running) -> None:
    """Return the job to its last verified checkpoint after a silent fault (rule 34)."""
    run, tier = job.run, marks.last_verified(job)
    number = job.plan.last_return if tier == NONE else job.whole[job.plan.returns + tier]
    _drop_unusable(job, job.answers[number].source, number)
    for row in (NEW, DOWN, WAITING):
        node_lists.clear(job.lists, row)
    _apply_rollback(job, number)
    run.deepest_answer, run.depth = number, rules.ALL
    run.failures_resume_after_load = False  # no node has failed, so failures were never stopped
    load(job, LOADING, 0)


def _answer_failure(job: Running) -> None:
    """Roll back as the answer says, and begin detection; replacement machines set out after it."""
    run, plan, lists = job.run, job.plan, job.lists
    attempts.count_failure(job)
    job.outside.failure()
    starts.forget_cache(job)
    _take_stock(job)
    number = answer_to(job, DOWN)
    answer = job.answers[number]
    _remember_answer(job, number)
    roll_back(job, number)
    delay_s = restarts.wait_s(job, lists[LOST][COUNT], answer.takeover_s)
    detect_s = restarts.detection_s(job)
    if rules.regroups(answer.depth, answer.keep):
        delay_s += restarts.regroup_s(job)
    if answer.depth == rules.ALL and rebuilding(job):
        delay_s = max(delay_s, join_rebuilding(job) - detect_s)
    if answer.depth >= run.depth:  # it replaces the deepest one of this recovery (rule 12)
        run.deepest_answer, run.depth = number, answer.depth
    run.trains_on = rules.trains_on(answer.keep, run.depth)
    # Nodes that are up can fail, where the job keeps them (rule 11).
    kept = run.depth < rules.ALL or plan.holds_nodes
    run.can_fail_while_waiting = not run.trains_on and plan.while_waiting and kept
    run.failures_resume_after_load = not plan.during_recovery
    if run.can_fail_while_waiting:
        cursors.resume(job)
    waiting.set_out(job, HIT, LOST, delay_s)
    if not run.status:
        waiting.wait_for(job, DETECTING, detect_s)


def detected(job: Running) -> None:
    """Continue after a stretch of the detection."""
    run = job.run
    if not waiting.waited(job):
        return
    # Machines set out at the end of the detection, which a failure may have cut.
    job.comings[run.comings - 1].left_s += run.wait_s
    if run.wait_cut:
        _answer_failure(job)
    elif run.trains_on:
        _train_on(job)
    else:
        waiting.wait_for(job, ARRIVING, waiting.longest_s(job))


def arrived(job: Running) -> None:
    """Continue after a stretch of the wait for machines."""
    if not waiting.waited(job):
        return
    if job.run.wait_cut:
        _answer_failure(job)
    else:
        _reload(job)


def taken_over(job: Running) -> None:
    """Train on once other nodes serve for the lost ones, or load lost shards to them first."""
    if job.answers[job.run.deepest_answer].regrows:
        _reload(job)
    else:
        cursors.resume(job)
        _resume(job)


def _reload(job: Running) -> None:
    """Restart processes where the answer needs it (rule 36), and load what was lost."""
    run, plan = job.run, job.plan
    if plan.during_recovery and not run.can_fail_while_waiting:
        cursors.resume(job)
    answer = job.answers[run.deepest_answer]
    again = rules.restarts_all(answer.starts_again, job.lists[WAITING][SEVERITY])
    if again and plan.starts:
        starts.start(job, RESTARTING)
    else:
        _load_lost(job)


def started_again(job: Running) -> None:
    """Load what was lost once all processes are up again."""
    starts.warmed(job)
    _load_lost(job)


def _load_lost(job: Running) -> None:
    load(job, LOADING, node_lists.server_count(job.lists, WAITING, job.plan.servers))


def recover_again(job: Running) -> None:
    """Recover from a failure during a restart or a load.

    The new recovery loads all of `WAITING`, from the beginning.
    """
    waiting.take_failure(job)
    _answer_failure(job)


def load(job: Running, phase: int, servers: int) -> None:
    """Begin the load that the deepest rollback of this recovery needs."""
    run, answer = job.run, job.answers[job.run.deepest_answer]
    found = transfer_of(job, answer, servers, _RELOADED)
    run.load_s, run.load_volume = run.now, found.volume
    if not found.volume or not answer.can_fail:
        run.torn_loads = 0
    begin(job, phase, found, found.volume, found.limit)


def loads_again(job: Running) -> bool:
    """Return whether a load that has ended has failed, and begin it again if so (rule 32)."""
    run, found = job.run, job.rated[_RELOADED]
    answer = job.answers[run.deepest_answer]
    if not run.volume or not attempts.load_has_failed(job, answer, run.load_s):
        return False
    run.load_s = run.now
    begin(job, run.phase, found, run.load_volume, found.limit)
    return True


def loaded(job: Running) -> None:
    """Train on once a load has succeeded."""
    if loads_again(job):
        return
    if job.run.failures_resume_after_load:
        cursors.resume(job)
    _resume(job)


def _resume(job: Running) -> None:
    """Resume the schedules, then training or the interrupted save."""
    schedules.resume(job, job.run.depth == rules.ALL)
    if job.run.held == NONE:
        job.run.phase = TURN
    else:
        job.run.phase = HELD


def _take_stock(job: Running) -> None:
    """Update the lists of a recovery from the failure in `STRUCK`.

    - `AWAY`: nodes whose machines are on their way.
    - `HIT` = `STRUCK` - `AWAY`: nodes that need machines.
    - `LOST` = `HIT` - nodes being rebuilt: nodes that this recovery loads.
    - `NEW` = `LOST` - `WAITING`: nodes that lose state. A node hit twice needs another machine, and
      loses nothing again.
    - `PLACED` = `WAITING` - `AWAY` - nodes being rebuilt: nodes whose machines had come before.
    - `WAITING` + `LOST` is the next `WAITING`: nodes that this recovery waits for or loads.
    - `DOWN` = `WAITING` + nodes being rebuilt: nodes that are down.
    """
    run, lists = job.run, job.lists
    waits = lists[WAITING][COUNT] or lists[WAITING][SEVERITY]
    if not (run.comings or run.flows or waits):  # no other node is down
        for row in (HIT, LOST, NEW, WAITING, DOWN):
            node_lists.copy(lists, row, STRUCK)
        node_lists.clear(lists, PLACED)
        node_lists.clear(lists, AWAY)
        return
    waiting.list_away(job)
    node_lists.without(lists, HIT, STRUCK, AWAY)
    node_lists.clear(lists, DOWN)
    join_down(job, DOWN)
    node_lists.without(lists, LOST, HIT, DOWN)  # nodes being rebuilt have nothing to lose (rule 14)
    node_lists.without(lists, NEW, LOST, WAITING)
    node_lists.without(lists, PLACED, WAITING, AWAY)
    node_lists.without(lists, PLACED, PLACED, DOWN)
    node_lists.join(lists, WAITING, LOST)
    node_lists.copy(lists, DOWN, WAITING)
    join_down(job, DOWN)


def _remember_answer(job: Running, answer: int) -> None:
    """Record what sequences of saves need to know of an answer."""
    run, lists = job.run, job.lists
    run.source = job.answers[answer].source
    run.answered = answer
    run.answered_down = node_lists.server_count(lists, DOWN, job.plan.servers)


def roll_back(job: Running, number: int) -> None:
    """Roll back the job or the lost shards, as an answer says.

    Servers in `NEW` have just lost their state.
    """
    answer = job.answers[number]
    servers = node_lists.server_count(job.lists, NEW, job.plan.servers)
    # Whether any node reads the checkpoint that the answer returns to (rule 35).
    all_read = answer.depth == rules.ALL and not answer.has_healthy
    if job.plan.torn and answer.depth != rules.NO_ROLLBACK and (servers or all_read):
        _drop_unusable(job, answer.source, NONE)
    _apply_rollback(job, number)


def _drop_unusable(job: Running, tier: int, verified: int) -> None:
    """Drop checkpoints that can't be returned to; torn ones are loaded before that is known.

    `verified`: the answer that returns to a verified checkpoint, or `NONE`.
    """
    torn = marks.drop_unusable(job, tier, verified != NONE)
    job.run.torn_loads += torn
    if torn or verified != NONE:
        schedules.unusable(job, tier, verified)


def _apply_rollback(job: Running, number: int) -> None:
    """Roll back as an answer says, and abandon saves that then lack a part (rule 9)."""
    answer = job.answers[number]
    if answer.depth == rules.ALL:
        state.roll_back(job, answer, DOWN)
    elif answer.depth == rules.LOST:
        state.lose(job, NEW, answer.source)
    servers = node_lists.server_count(job.lists, NEW, job.plan.servers)
    # A lost server takes its part of every background save with it.
    if rules.background_save_is_lost(answer.depth, servers):
        abandon_saves(job)
    job.outside.answered(number)


def _train_on(job: Running) -> None:
    """Rebuild lost nodes in the background, and let the other nodes take over (rule 13)."""
    run, lists, answer = job.run, job.lists, job.answers[job.run.deepest_answer]
    last = run.comings - 1
    for place in range(last):
        coming = job.comings[place]
        rebuild(job, coming.hit, EMPTY, answer.fills, coming.left_s)
    coming = job.comings[last]
    rebuild(job, coming.lost, PLACED, answer.fills, coming.left_s)
    anyone = lists[coming.lost][COUNT]
    while run.comings:
        waiting.drop(job, run.comings - 1)
    wait(job, TAKING_OVER, answer.pause_s if anyone else 0.0)


def join_rebuilding(job: Running) -> float:
    """Let a restart of the whole job wait for the nodes that are being rebuilt as well.

    Returns how long their machines still take, s. `HIT` then has all nodes to be replaced.
    """
    run, lists, longest_s = job.run, job.lists, 0.0
    node_lists.copy(lists, WAITING, DOWN)
    for place in range(run.flows):
        flow = job.flows[place]
        if flow.kind < REPLACING:
            continue
        if flow.kind != FILLING:
            longest_s = max(longest_s, flow.ends_at - run.now)
        if lists[HIT][COUNT] + lists[flow.place][COUNT] + FIRST > len(lists[HIT]):
            run.status = MORE_ROOM
            return 0.0
        for i in range(lists[flow.place][COUNT]):
            node_lists.append(lists, HIT, lists[flow.place][FIRST + i])
    abandon_rebuilding(job)
    run.knows_degraded = False
    return longest_s
