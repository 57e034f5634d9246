"""Machines on their way for nodes that are down, and failures of others meanwhile."""

from dataclasses import dataclass

from cprsim.contract import Loss
from cprsim.failures.hit import SEVERITIES, Hit
from cprsim.failures.timeline import Cursor
from cprsim.sim.work import WAIT, Process, Work

NOBODY = Loss(frozenset(), frozenset(), "process")


@dataclass(slots=True)
class Coming:
    """Machines for the nodes that one failure took.

    `hit`: whom the timeline is to be told of when they are there; `lost`: who is away until then;
    `left_s`: how long that still takes.
    """

    hit: Hit
    lost: Hit
    left_s: float


class Machines:
    """Those that a job waits for, in one recovery after the other.

    Where the timeline goes on meanwhile, a failure of a node that is up ends the waiting. One of
    nodes that are all away takes nothing: it is `absorbed`. `withdrawn`: whom the job's owner has
    taken for a while, whose failures the job doesn't see.
    """

    def __init__(self, work: Work, cursor: Cursor) -> None:
        self._work, self._cursor = work, cursor
        self.coming: list[Coming] = []
        self.absorbed = 0
        self.withdrawn = NOBODY

    def strike(self) -> Hit | None:
        """The failure at this instant; None where it takes nobody that the job has."""
        hit = self._cursor.strike()
        if self.withdrawn is NOBODY:
            return hit
        there = without(hit, self.withdrawn)
        gone = tuple(server for server in hit.servers if server in self.withdrawn.servers)
        self._cursor.replace(Hit(gone, ()), self._work.now)  # which is the owner's business
        if there.servers or there.trainers:
            return there
        self.absorbed += 1
        self._cursor.resume(self._work.now)
        return None

    @property
    def away(self) -> Loss:
        """The nodes that they are for."""
        away = NOBODY
        for each in self.coming:
            away = joined(away, each.lost)
        return away

    def notice(self, detect_s: float) -> Process:
        """Notice the last failure, for which machines set out then; the hit of another, or None."""
        last = self.coming[-1]
        struck, left_s = yield from self._wait("detect", detect_s, last)
        last.left_s += left_s
        return struck

    def arrive(self) -> Process:
        """Wait until all are there; the hit of a failure that comes first, or None."""
        longest_s = max(each.left_s for each in self.coming)
        struck, _ = yield from self._wait("reschedule", longest_s)
        return struck

    def _wait(self, cause: str, left_s: float, late: Coming | None = None) -> Process:
        """Wait so long, or until a node fails that is up; its hit or None, and what is left.

        Those who come meanwhile are placed; `late` has not set out yet.
        """
        while True:
            moving = [each for each in self.coming if each is not late]
            step_s = min([left_s, *(each.left_s for each in moving)])
            done_s = yield from self._work.do(cause, WAIT, step_s, 1.0)
            left_s -= done_s
            for each in moving:
                each.left_s -= done_s
                if not each.left_s:
                    self._cursor.replace(each.hit, self._work.now)
                    self.coming.remove(each)
            if done_s == step_s:
                if not left_s:
                    return None, 0.0
                continue
            hit = self.strike()
            if hit is None:
                continue
            there = without(hit, self.away)
            if there.servers or there.trainers:
                return hit, left_s
            self.absorbed += 1
            self._cursor.resume(self._work.now)


def without(hit: Hit, down: Loss) -> Hit:
    """The nodes of `hit` that were not down before."""
    if down is NOBODY:
        return hit
    servers = tuple(server for server in hit.servers if server not in down.servers)
    trainers = tuple(trainer for trainer in hit.trainers if trainer not in down.trainers)
    return Hit(servers, trainers, hit.severity)


def but(loss: Loss, away: Loss) -> Loss:
    """Those of a loss who aren't away."""
    if away is NOBODY:
        return loss
    servers, trainers = loss.servers - away.servers, loss.trainers - away.trainers
    return Loss(servers, trainers, loss.severity)


def joined(loss: Loss, other: Hit | Loss) -> Loss:
    """Both together, and the worse of what happened to them."""
    if loss is NOBODY:
        return Loss(frozenset(other.servers), frozenset(other.trainers), other.severity)
    return Loss(
        loss.servers.union(other.servers),
        loss.trainers.union(other.trainers),
        max(loss.severity, other.severity, key=SEVERITIES.index),
    )
