"""Failures: who is set back, who is waited for, and who is replaced while the job trains on."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from cprsim.basics.units import counted
from cprsim.contract import Drain, Loss, Recover, Resumed, Unusable, rules
from cprsim.errors import RunError
from cprsim.failures.hit import SEVERITIES, Hit
from cprsim.failures.timeline import Cursor
from cprsim.sim.attempts import Attempts
from cprsim.sim.background import BackgroundSaves, Dialogue
from cprsim.sim.fabric import Flow
from cprsim.sim.limits import Limits
from cprsim.sim.machines import NOBODY, Coming, Machines, but, joined, without
from cprsim.sim.observer import BackgroundTask
from cprsim.sim.resolved import Rated, ResolvedPlan
from cprsim.sim.spares import Spares
from cprsim.sim.starts import Attempted
from cprsim.sim.state import State
from cprsim.sim.work import WAIT, Process, Work

_NOTHING = Recover("none")


class Delays(Protocol):
    """Rescheduling delays by the number of the failure, s."""

    def __getitem__(self, index: int) -> float:
        """The delay after failure `index`, from 0."""


class _Rebuild(NamedTuple):
    """Nodes that are replaced and filled while the job trains on, as `answer` says.

    `place`: those of them that the timeline has yet to be told of. `since_s`: when their filling
    has begun.
    """

    down: Loss
    place: Hit
    answer: Recover
    since_s: float = 0.0


class Recovery:
    """Brings the job of one run back to training after failures."""

    def __init__(
        self,
        resolved: ResolvedPlan,
        state: State,
        work: Work,
        cursor: Cursor,
        delays: Delays,
        dialogue: Dialogue,
        limits: Limits,
        background: BackgroundSaves,
        attempts: Attempts,
        attempted: Attempted,
    ) -> None:
        self._resolved, self._state, self._work, self._cursor = resolved, state, work, cursor
        self._delays, self._dialogue, self._limits = delays, dialogue, limits
        self._background, self._attempts, self._attempted = background, attempts, attempted
        self._spares = Spares(resolved.spares)
        self._rebuilding: dict[Flow, _Rebuild] = {}
        self._degraded: float | None = 0.0
        self._answer, self._by_rule = _NOTHING, True  # the last; whether it is the plan's rule's
        self._machines = Machines(work, cursor)
        self._drained = 0  # failures of nodes that spares had taken the place of before
        self._torn = 0  # checkpoints that have yet to be found so, by a load each

    @property
    def degraded(self) -> float:
        """Share of time that nodes which are down add to training: what the answer says of them.

        As some of them come back, the plan's rule says what it is then, if the answer was the
        rule's; what a controller said of its own holds until all are back.
        """
        if self._degraded is None:
            answer = _NOTHING
            if self._rebuilding:
                by_rule = self._resolved.plan.recover(self._down(NOBODY))
                answer = by_rule if self._by_rule else self._answer
            self._degraded = answer.degraded
        return self._degraded

    @property
    def absorbed(self) -> int:
        """Failures of nodes that were away, which took nothing."""
        return self._machines.absorbed + self._drained

    @property
    def failures(self) -> int:
        """All so far, absorbed ones included."""
        return self._limits.failures + self._cursor.absorbed + self.absorbed

    @property
    def ready(self) -> int:
        """Spare machines that stand ready."""
        return self._spares.ready(self._work.now)

    def there(self, hit: Hit) -> Hit:
        """Those of a hit that the job has: the others are withdrawn."""
        return without(hit, self._machines.withdrawn)

    def drain(self, drain: Drain) -> Process:
        """Nodes that are to fail move to spares; what fails then is past as soon as they have.

        A failure that takes others as well strikes.
        """
        work, cursor, nodes = self._work, self._cursor, drain.nodes
        if not nodes.drains_to(self.ready):
            ready = counted(self.ready, "spare machine")
            raise RunError(f"{counted(nodes.nodes, 'node')} can't be drained to {ready}")
        self._limits.drain()
        done_s = yield from work.do("reschedule", WAIT, drain.takes_s, 1.0)
        if done_s < drain.takes_s:
            return
        delay_s = self._resolved.costs.reschedule_mean_s
        self._spares.wait_s(nodes.nodes, work.now, delay_s)
        if cursor.next_s == drain.deadline_s and _is_all_of(nodes, self.there(cursor.ahead())):
            self._drained += 1
            cursor.replace(cursor.strike(), drain.deadline_s)
            cursor.resume(drain.deadline_s)

    def recover(self) -> Process:
        """From a failure at this instant until training can go on; returns the deepest of `DEPTH`.

        Failures while nodes are waited for and while loading are part of it: what the deepest
        rollback among their answers needs is what has to be loaded.
        """
        struck = self._machines.strike()
        if struck is None:
            return rules.NONE
        return (yield from self._until_loaded(struck, _NOTHING))

    def return_to_verified(self) -> Process:
        """A silent fault was found: the job returns to the last checkpoint that was verified."""
        found = self._state.last_verified()
        answer = Recover("all", source=found or self._resolved.plan.tiers[-1].name)
        self._fall_back(answer.source, corrupt=True)
        self._return(answer, (), frozenset())
        struck = yield from self._load_all(answer, 0)
        yield from self._until_loaded(struck, answer)

    def hand_over(self) -> Process:
        """An allocation is over: in the next one the job starts, and loads what it has saved."""
        self._background.abandon()
        _, hit, _ = self._take_over_rebuilding(NOBODY, Hit((), ()))
        self._cursor.pause(self._work.now)
        yield from self._attempted.returned()
        yield from self._attempted.allocated()
        answer = Recover("all", source=self._resolved.plan.last_save.tier)
        self._set_back(answer, (), frozenset())
        yield from self._load_all(answer, 0)
        self._cursor.replace(hit, self._work.now)
        self._cursor.go_on(self._work.now)
        self._dialogue.tell(Resumed(self._dialogue.now(), (), answer.source))

    def _until_loaded(self, struck: Hit | None, deepest: Recover) -> Process:
        """From a failure, if there is one, until training can go on; `deepest` is to be loaded."""
        resolved, cursor, machines = self._resolved, self._cursor, self._machines
        waiting = NOBODY  # nodes that are waited for, or that load
        depth = rules.DEPTH[deepest.rollback]
        while struck is not None:
            self._limits.failure()
            self._work.see_failure(struck)
            self._attempted.failed(struck.severity)
            hit = without(struck, machines.away)
            lost = without(hit, self._down(NOBODY))  # what is being rebuilt has no more to lose
            new = without(lost, waiting)
            placed = but(waiting, self._down(machines.away))
            waiting = joined(waiting, lost)
            down = self._down(waiting)
            answer = self._answer = self._dialogue.answer(down)
            if answer.keep_training:
                self._by_rule = answer.degraded == resolved.plan.recover(down).degraded
            self._set_back(answer, new.servers, down.servers)
            delay_s = self._replacement_s(lost) + answer.takeover_s
            if answer.rollback == "all" and self._rebuilding:
                waiting, hit, longest_s = self._take_over_rebuilding(waiting, hit)
                delay_s = max(delay_s, longest_s - resolved.detect_s)  # noticing it comes first
            if rules.r12_goes_as_deep(rules.DEPTH[answer.rollback], depth):
                deepest, depth = answer, rules.DEPTH[answer.rollback]
            trains_on = rules.r13_trains_on(answer.keep_training, depth)
            goes_on = not trains_on and resolved.can_fail_waiting(depth)
            if goes_on:
                cursor.resume(self._work.now)
            machines.coming.append(Coming(hit, lost, delay_s))
            struck = yield from machines.notice(resolved.detect_s)
            if struck is None and trains_on:
                yield from self._train_on(placed, deepest)
                if deepest.regrow is None:
                    cursor.resume(self._work.now)
                    break
            elif struck is None:
                struck = yield from machines.arrive()
            if struck is None:
                if resolved.during_recovery and not goes_on:
                    cursor.resume(self._work.now)
                struck = yield from self._reload(deepest, waiting)
        self._dialogue.tell(Resumed(self._dialogue.now(), self._background.saves))
        return depth

    def _reload(self, answer: Recover, lost: Loss) -> Process:
        """Start again, load what was lost; the hit of a failure that comes first, or None."""
        severity = SEVERITIES.index(lost.severity)
        starts = rules.r36_starts_again(answer.starts_again, severity)
        if starts:
            struck = yield from self._attempted.again(self._machines.strike)
            if struck is not None:
                return struck
        struck = yield from self._load_all(answer, len(lost.servers))
        if struck is None and not self._resolved.during_recovery:
            self._cursor.resume(self._work.now)
        return struck

    def _load_all(self, answer: Recover, servers: int) -> Process:
        """Load until it succeeds; the hit of a failure that comes first, or None."""
        load, rate = self._load(answer, servers)
        left, start_s = load.volume, self._work.now
        if not left or not self._attempts.can_be_vain(answer.source):
            self._torn = 0
        while left:
            left -= yield from self._work.do("load", load, left, rate)
            if left:
                struck = self._machines.strike()
                if struck is not None:
                    return struck
            elif self._has_failed(answer, start_s):
                left, start_s = load.volume, self._work.now
        return None

    def _train_on(self, placed: Loss, answer: Recover) -> Process:
        """The others go on, once they have taken over, while the lost nodes are rebuilt."""
        fills = answer.fills
        *_, last = coming = self._machines.coming
        for each in coming[:-1]:
            self._rebuild(each.hit, NOBODY, fills, each.left_s)
        self._rebuild(last.lost, placed, fills, last.left_s)
        coming.clear()
        if answer.pause_s and (last.lost.servers or last.lost.trainers):
            yield from self._work.do("reschedule", WAIT, answer.pause_s, 1.0)

    def end(self) -> None:
        """Training is over; shards that are still down have missed what they will never learn."""
        for each in self._rebuilding.values():
            if each.answer.rollback == "lost":
                self._state.refill(each.down.servers)

    def _set_back(self, answer: Recover, servers: Sequence[int], down: frozenset[int]) -> None:
        """Return who has to return to a checkpoint; `servers` have just lost their state."""
        depth, fresher = rules.DEPTH[answer.rollback], answer.healthy is not None
        if self._resolved.torn and rules.r35_is_read(depth, fresher, len(servers)):
            self._fall_back(answer.source, corrupt=False)
        self._return(answer, servers, down)

    def _fall_back(self, source: str, corrupt: bool) -> None:
        """Leave out what can't be returned to; it is loaded before that is known of torn ones."""
        torn = self._state.fall_back(source, corrupt)
        self._torn += torn
        if torn or corrupt:
            self._dialogue.tell(Unusable(self._dialogue.now(), source, corrupt))

    def _return(self, answer: Recover, servers: Sequence[int], down: frozenset[int]) -> None:
        if answer.rollback == "all":
            self._state.roll_back(answer.source, down, answer.healthy)
        elif answer.rollback == "lost":
            self._state.lose(servers, answer.source)
        if rules.r9_is_void(rules.DEPTH[answer.rollback], len(servers), trained_on=True):
            self._background.abandon()
        self._work.see_answer(answer, self._state.progress_s, self._state.slowdown_s)

    def _load(self, answer: Recover, servers: int) -> Rated:
        return self._resolved.load(answer, servers, self._state.saved(answer.source).reads)

    def _has_failed(self, answer: Recover, start_s: float) -> bool:
        """Whether a load that ends now has to be begun again."""
        failed = self._attempts.load_has_failed(answer.source, start_s, self._work.now)
        if not failed and self._torn and self._attempts.can_be_vain(answer.source):
            self._torn -= 1
            failed = True
        if failed:
            self._limits.vain()
        return failed

    def _replacement_s(self, lost: Hit) -> float:
        """How long the nodes that this failure took wait for others."""
        delay_s = self._delays[self._limits.failures - 1]
        return self._spares.wait_s(len(lost.servers) + len(lost.trainers), self._work.now, delay_s)

    def _down(self, waiting: Loss) -> Loss:
        """All that is down: who is waited for, and who is being rebuilt in the background."""
        if not self._rebuilding:
            return waiting
        for each in self._rebuilding.values():
            waiting = joined(waiting, each.down)
        return waiting

    # --- Replacement in the background -----------------------------------------------------------

    def _rebuild(self, hit: Hit, placed: Loss, answer: Recover, delay_s: float) -> None:
        """Replace and fill the lost nodes while the job trains on; fill those that are placed."""
        if hit.servers or hit.trainers:
            rebuild = _Rebuild(joined(NOBODY, hit), hit, answer)
            flow = self._work.start(_task("reschedule", rebuild), WAIT, self._replaced, delay_s)
            self._rebuilding[flow] = rebuild
        placed = Loss(placed.servers.difference(hit.servers), placed.trainers, placed.severity)
        if placed.servers:
            self._fill(_Rebuild(placed, Hit((), ()), answer))
        self._degraded = None
        if self._rebuilding:
            self._work.settle()

    def _replaced(self, flow: Flow) -> None:
        rebuild = self._rebuilding.pop(flow)
        self._degraded = None
        # For trainers nothing is loaded: they are back.
        if rebuild.place.trainers:
            self._cursor.replace(Hit((), rebuild.place.trainers), self._work.now)
        if rebuild.down.servers:
            down = rebuild.down._replace(trainers=frozenset())
            self._fill(_Rebuild(down, rebuild.place._replace(trainers=()), rebuild.answer))

    def _fill(self, rebuild: _Rebuild) -> None:
        fill, _ = self._load(rebuild.answer, len(rebuild.down.servers))
        flow = self._work.start(_task("load", rebuild), fill, self._filled)
        self._rebuilding[flow] = rebuild._replace(since_s=self._work.now)

    def _filled(self, flow: Flow) -> None:
        rebuild = self._rebuilding.pop(flow)
        if flow.transfer.volume and self._has_failed(rebuild.answer, rebuild.since_s):
            self._fill(rebuild)
            return
        self._degraded = None
        if rebuild.answer.rollback == "lost":
            self._state.refill(rebuild.down.servers)
        # Its age counts from when it serves: until then it is down for every purpose.
        self._cursor.replace(rebuild.place, self._work.now)

    def _take_over_rebuilding(self, waiting: Loss, hit: Hit) -> tuple[Loss, Hit, float]:
        """A restart of the whole job waits for the nodes that were being rebuilt as well.

        Returns who is waited for, whom to replace, and how long those still have to be waited for.
        """
        down, hits = self._down(waiting), [hit, *(r.place for r in self._rebuilding.values())]
        waits = [flow.ends_at for flow in self._rebuilding if flow.transfer is WAIT]
        longest_s = max([at_s - self._work.now for at_s in waits], default=0.0)
        for flow in self._rebuilding:
            self._work.abandon(flow)
        self._rebuilding.clear()
        self._machines.withdrawn = NOBODY
        self._degraded = None
        servers = tuple(server for each in hits for server in each.servers)
        trainers = tuple(trainer for each in hits for trainer in each.trainers)
        return down, Hit(servers, trainers), longest_s

    # --- Withdrawn servers -----------------------------------------------------------------------

    def who_may_leave(self, servers: int) -> _Rebuild | None:
        """The last so many that are up, if the rest goes on without them; else it has to stop."""
        down = self._down(NOBODY)
        up = [each for each in range(self._resolved.servers) if each not in down.servers]
        leave = joined(NOBODY, Hit(tuple(up[-servers:]), ()))
        answer = self._resolved.plan.recover(joined(down, leave))
        goes_on = rules.r39_goes_on(answer.regrow is not None, len(up), servers)
        return _Rebuild(leave, Hit((), ()), answer) if goes_on else None

    def withdraw(self, leaving: _Rebuild, until_s: float) -> Process:
        """They leave their rows to the others and go; whether no failure comes first.

        When they are back they are filled as replacements are.
        """
        down, answer = leaving.down, leaving.answer
        rows, rate = self._load(answer.fills, len(down.servers))
        moved = yield from self._work.do("load", rows, rows.volume, rate)
        if moved < rows.volume:
            return False
        paused_s = yield from self._work.do("reschedule", WAIT, answer.pause_s, 1.0)
        if paused_s < answer.pause_s:
            return False
        away = leaving._replace(answer=answer.fills)
        left_s = rules.r39_left_s(until_s, self._work.now)
        self._machines.withdrawn, self._by_rule = down, True
        flow = self._work.start(_task("reschedule", away), WAIT, self._returned, left_s)
        self._rebuilding[flow] = away
        self._degraded = None
        self._work.settle()
        return True

    def _returned(self, flow: Flow) -> None:
        self._machines.withdrawn = NOBODY
        self._replaced(flow)


def _task(kind: Literal["reschedule", "load"], rebuild: _Rebuild) -> BackgroundTask:
    return BackgroundTask(kind, rebuild.answer.source, rebuild.down.servers, rebuild.down.trainers)


def _is_all_of(drained: Loss, hit: Hit) -> bool:
    """Whether a failure takes nobody who wasn't drained; one of the cluster takes spares, too."""
    alone = drained.servers.issuperset(hit.servers) and drained.trainers.issuperset(hit.trainers)
    return alone and hit.severity != "cluster"
