"""Failures: who is set back, who is waited for, and who is replaced while the job trains on."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from cprsim.contract import Loss, Recover, Resumed, rules
from cprsim.failures.hit import SEVERITIES, Hit
from cprsim.failures.timeline import Cursor
from cprsim.sim.background import BackgroundSaves, Dialogue
from cprsim.sim.fabric import Flow
from cprsim.sim.limits import Limits
from cprsim.sim.observer import BackgroundTask
from cprsim.sim.resolved import Rated, ResolvedPlan
from cprsim.sim.spares import Spares
from cprsim.sim.state import State
from cprsim.sim.work import WAIT, Process, Work

_NOTHING = Recover("none")
_NOBODY = Loss(frozenset(), frozenset(), "process")


class Delays(Protocol):
    """Rescheduling delays by the number of the failure, s."""

    def __getitem__(self, index: int) -> float:
        """The delay after failure `index`, from 0."""


class _Rebuild(NamedTuple):
    """Nodes that are replaced and filled while the job trains on, as `answer` says.

    `place`: those of them that the timeline has yet to be told of.
    """

    down: Loss
    place: Hit
    answer: Recover


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
    ) -> None:
        self._resolved, self._state, self._work, self._cursor = resolved, state, work, cursor
        self._delays, self._dialogue, self._limits = delays, dialogue, limits
        self._background = background
        self._spares = Spares(resolved.spares)
        self._rebuilding: dict[Flow, _Rebuild] = {}
        self._degraded: float | None = 0.0

    @property
    def degraded(self) -> float:
        """Share of time that nodes which are down add to training: what the rule says of them."""
        if self._degraded is None:
            down = self._down(_NOBODY)
            self._degraded = self._resolved.plan.recover(down).degraded if self._rebuilding else 0.0
        return self._degraded

    def recover(self) -> Process:
        """From a failure at this instant until training can go on; returns the deepest of `DEPTH`.

        Failures while loading are part of it: what the deepest rollback among their answers needs
        is what has to be loaded.
        """
        resolved, work, cursor = self._resolved, self._work, self._cursor
        waiting = _NOBODY  # nodes that are waited for: this failure's, and those while loading
        deepest, depth = _NOTHING, rules.NONE
        while True:
            hit = self._strike()
            lost = _without(hit, self._down(_NOBODY))  # what is being rebuilt has no more to lose
            new = _without(lost, waiting)
            placed, waiting = waiting, _joined(waiting, lost)
            down = self._down(waiting)
            answer = self._dialogue.answer(down)
            self._set_back(answer, new.servers, down.servers)
            delay_s = self._replacement_s(lost) + answer.takeover_s
            if answer.rollback == "all" and self._rebuilding:
                waiting, hit, longest_s = self._take_over_rebuilding(waiting, hit)
                delay_s = max(delay_s, longest_s - resolved.detect_s)  # noticing it comes first
            if rules.r12_goes_as_deep(rules.DEPTH[answer.rollback], depth):
                deepest, depth = answer, rules.DEPTH[answer.rollback]
            if resolved.detect_s:
                yield from work.do("detect", WAIT, resolved.detect_s, 1.0)
            if rules.r13_trains_on(answer.keep_training, depth):
                self._rebuild(lost, placed, deepest, delay_s)
                if answer.pause_s and (lost.servers or lost.trainers):
                    yield from work.do("reschedule", WAIT, answer.pause_s, 1.0)
                cursor.resume(work.now)
                break
            yield from work.do("reschedule", WAIT, delay_s, 1.0)
            cursor.replace(hit, work.now)
            if resolved.during_recovery:
                cursor.resume(work.now)
            load, rate = self._load(deepest, len(waiting.servers))
            left = load.volume
            if left:
                left -= yield from work.do("load", load, left, rate)
            if not left:
                if not resolved.during_recovery:
                    cursor.resume(work.now)
                break
        self._dialogue.tell(Resumed(self._dialogue.now(), self._background.saves))
        return depth

    def end(self) -> None:
        """The job is done; shards that are still down have missed what they will never learn."""
        for each in self._rebuilding.values():
            if each.answer.rollback == "lost":
                self._state.refill(each.down.servers)

    def _strike(self) -> Hit:
        self._limits.failure()
        hit = self._cursor.strike()
        self._work.see_failure(hit)
        return hit

    def _set_back(self, answer: Recover, servers: Sequence[int], down: frozenset[int]) -> None:
        """Return who has to return to a checkpoint; `servers` have just lost their state."""
        if answer.rollback == "all":
            self._state.roll_back(answer.source, down, answer.healthy)
        elif answer.rollback == "lost":
            self._state.lose(servers, answer.source)
        if rules.r9_is_void(rules.DEPTH[answer.rollback], len(servers), trained_on=True):
            self._background.abandon()
        self._work.see_answer(answer, self._state.progress_s, self._state.slowdown_s)

    def _load(self, answer: Recover, servers: int) -> Rated:
        return self._resolved.load(answer, servers, self._state.saved(answer.source).reads)

    def _replacement_s(self, lost: Hit) -> float:
        """How long the nodes that this failure took wait for others."""
        delay_s = self._delays[self._limits.failures - 1]
        return self._spares.wait_s(len(lost.servers) + len(lost.trainers), self._work.now, delay_s)

    def _down(self, waiting: Loss) -> Loss:
        """All that is down: who is waited for, and who is being rebuilt in the background."""
        if not self._rebuilding:
            return waiting
        for each in self._rebuilding.values():
            waiting = _joined(waiting, each.down)
        return waiting

    # --- Replacement in the background -----------------------------------------------------------

    def _rebuild(self, hit: Hit, placed: Loss, answer: Recover, delay_s: float) -> None:
        """Replace and fill the lost nodes while the job trains on; fill those that are placed."""
        if hit.servers or hit.trainers:
            rebuild = _Rebuild(_joined(_NOBODY, hit), hit, answer)
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
        self._rebuilding[flow] = rebuild

    def _filled(self, flow: Flow) -> None:
        rebuild = self._rebuilding.pop(flow)
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
        self._degraded = None
        servers = tuple(server for each in hits for server in each.servers)
        trainers = tuple(trainer for each in hits for trainer in each.trainers)
        return down, Hit(servers, trainers), longest_s


def _task(kind: Literal["reschedule", "load"], rebuild: _Rebuild) -> BackgroundTask:
    return BackgroundTask(kind, rebuild.answer.source, rebuild.down.servers, rebuild.down.trainers)


def _without(hit: Hit, down: Loss) -> Hit:
    """The nodes of `hit` that were not down before."""
    if down is _NOBODY:
        return hit
    servers = tuple(server for server in hit.servers if server not in down.servers)
    trainers = tuple(trainer for trainer in hit.trainers if trainer not in down.trainers)
    return Hit(servers, trainers, hit.severity)


def _joined(loss: Loss, other: Hit | Loss) -> Loss:
    """Both together, and the worse of what happened to them."""
    if loss is _NOBODY:
        return Loss(frozenset(other.servers), frozenset(other.trainers), other.severity)
    return Loss(
        loss.servers.union(other.servers),
        loss.trainers.union(other.trainers),
        max(loss.severity, other.severity, key=SEVERITIES.index),
    )
