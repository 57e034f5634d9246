"""Small real runs, and what the rows held whenever something happened."""

import contextlib
import hashlib
import math
import socket
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from cprsim.contract import (
    REMOTE,
    Failed,
    Loss,
    Redundancy,
    Resumed,
    Saved,
    Stored,
    Tier,
    Tracking,
    every,
)
from cprsim.failures.hit import Hit
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.policies.full import full_plan
from cprsim.policies.replication import any_copy_serves
from cprsim.sim.cursor import cursor_of
from cprsim.trainer.coordinator.cluster import Death, LocalCluster
from cprsim.trainer.coordinator.execution import Execution
from cprsim.trainer.coordinator.history import JobSetBack, ShardAway, ShardFilled
from cprsim.trainer.coordinator.rebuilding import Rebuilding
from cprsim.trainer.coordinator.running_job import RunningJob
from cprsim.trainer.coordinator.strikes import InjectionMode, StepClock, Strikes, WallClock
from cprsim.trainer.data import Planted
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.server import ServerSpec, with_copies
from cprsim.trainer.members.trainer import TrainerSpec
from cprsim.trainer.members.wire import Arriving, Message, Op, PeerLostError, packed
from cprsim.trainer.support import TRAINER

STEPS, BATCH, DIM = 40, 64, 8
DATA = Planted(
    samples=STEPS * BATCH, test_samples=256, batch_size=BATCH, rows=(300, 100, 20), dim=DIM
)
#: So long that no member is taken for hung, however busy the machine is.
PATIENT = Deadlines(answer_s=60.0, work_s=120.0)
#: A mistaken kill changes no prediction of `full`, so only tests of hangs are this impatient.
IMPATIENT = Deadlines(answer_s=1.0, work_s=120.0)


NOBODY = Loss(frozenset(), frozenset())
#: Every failure kills.
KILLS = InjectionMode()


def servers_hit(*servers):
    return Hit(servers, ())


def trainer_hit(*servers):
    return Hit(servers, (0,))


def behind(plan, max_pending=1):
    """The same plan with all saves in the background."""
    (schedule,) = plan.schedules
    save = schedule.save._replace(blocking=False)
    return replace(plan, schedules=every(schedule.interval_s, save, max_pending))


def copied(servers, per_shard, interval_s=1e9):
    """Copies of each shard, and rare saves."""
    return replace(
        full_plan(interval_s),
        recovery="replica",
        schedules=every(interval_s),
        recover=any_copy_serves(servers, per_shard),
        tiers=(Tier("copies", "peers"), REMOTE),
        redundancy=Redundancy("copies", 1, per_shard - 1),
    )


def connected(address):
    """A socket at a server, by somebody who is no member."""
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(60.0)
    try:
        link.connect(str(address))
    except OSError as error:
        link.close()
        raise PeerLostError(str(error)) from None
    return link


def asked(link, op, step, *arrays):
    """What it answers; raises `PeerLostError` if it goes instead."""
    arriving = Arriving()
    try:
        link.sendall(packed(Message(op, step, arrays)))
        while piece := link.recv(1 << 16):
            for message in arriving.take(piece):
                return message
    except OSError as error:
        raise PeerLostError(str(error)) from None
    raise PeerLostError("the connection is closed")


@dataclass
class Ran:
    """What came of a run."""

    job: RunningJob
    predictions: str
    failures: int
    struck: int
    replaced: int
    pids: list = field(default_factory=list)
    watched: "Watched | None" = None
    digests: list = field(default_factory=list)

    @property
    def pls(self):
        return self.job.lost_steps / (self.job.steps * 2)


class Watched:
    """A controller that looks at all rows of all servers whenever it is told something.

    `expected`: what each server's last checkpoint holds, worked out from the live rows and from
    which of them were saved.
    """

    def __init__(self, controller, cluster, job):
        self._controller, self._cluster, self._job = controller, cluster, job
        self.expected, self.before, self.after, self.first, self.final = {}, [], [], {}, {}
        self.pending = []  # how many saves are under way in the background, at each event
        self._taken = []  # of these, which rows are saved, and the live ones
        self._seen = []  # servers that were filled, as far as that was noted
        self.filled = []  # of servers that were away: when, which, its rows, and the saved ones
        self._events = []  # of failures, each what is down; and of recoveries, None

    def start(self):
        self.first = self.expected = self._live()

    def finish(self):
        self._note_filled()  # it may take longer than what is left of the job
        self.final = self._live()

    def ask(self, now):
        self._note_filled()
        return self._controller.ask(now)

    def answer(self, now, loss):
        self._note(Failed(now, loss))
        self._note_filled()
        return self._controller.answer(now, loss)

    def _note_filled(self):
        # A save that was under way may have been noted since: look at all of them, not the last.
        filled = [each for each in self._job.row_events if isinstance(each, ShardFilled)]
        for each in filled[len(self._seen) :]:
            self._seen.append(each)
            live = self._live()
            if each.server in live:  # else it has died again
                self.filled.append((each, live[each.server], self.expected[each.server]))

    def tell(self, event):
        self._note(event)
        self._controller.tell(event)

    def _note(self, event):
        if isinstance(event, Saved) and event.stored:
            self._store(self._job.row_events[-1].rows, self._live())
        elif isinstance(event, Saved):
            # Who is away takes its part once it is back, and then holds what it had saved.
            held = {server: self.expected[server] for server in self._away()}
            self._taken.append((self._job.row_events[-1].rows, self._live() | held))
        elif isinstance(event, Stored):
            self._store(*self._taken.pop(0))
        elif isinstance(event, Failed):
            self.before.append((event.loss, self._live(), dict(self.expected)))
            self._events.append(event.loss)
        elif isinstance(event, Resumed):
            self.after.append(self._live())
            self._events.append(None)
            self._taken = self._taken[: len(event.pending)]
        self.pending.append(len(self._taken))

    def recoveries(self):
        """For each recovery all that was lost in it, and the rows before, saved, and after.

        A recovery may see several failures: the controller is told of the first, and again of all
        together when others are found dead on the way.
        """
        failures, after = iter(self.before), iter(self.after)
        lost, first = NOBODY, None
        for loss in self._events:
            if loss is None:
                yield (lost, *first), next(after)
                lost, first = NOBODY, None
            else:
                _, *rows = next(failures)
                first = first or rows
                lost = Loss(lost.servers | loss.servers, lost.trainers | loss.trainers)

    def _store(self, saved, live):
        expected = {}
        for server in live.keys() & self.expected.keys():  # of one that just died nothing is known
            rows, held = live[server], self.expected[server].copy()
            ids = saved.get(server, np.arange(len(rows)))
            held[ids] = rows[ids]
            expected[server] = held
        self.expected = expected

    def _away(self):
        away = set()
        for each in self._job.row_events:
            if isinstance(each, ShardAway):
                away.add(each.server)
            elif isinstance(each, ShardFilled):
                away.discard(each.server)
            elif isinstance(each, JobSetBack):
                away.clear()
        return away

    def _live(self):
        """Rows of the servers that answer; not all that are dead are known to be."""
        found = {}
        for name in set(self._cluster.servers) - set(self._cluster.dead):
            with contextlib.suppress(PeerLostError):
                found[name[1]] = self._rows(name)
        return found

    def _rows(self, name):
        link = connected(self._cluster.address(name))
        try:
            return asked(link, Op.FETCH, name[1]).arrays[0]
        finally:
            link.close()


def ran(
    plan,
    failures,
    folder: Path,
    *,
    manner=KILLS,
    deadlines=PATIENT,
    final_save=False,
    watch=False,
    at_time=False,
    during_recovery=True,
    servers=2,
    stepped=lambda _cluster, _step: None,
    free=False,
) -> Ran:
    """Run `plan`, a step being a useful second; `failures` are pairs of a time and a hit.

    `free`: failures are pinned to steps, but what goes on beside training takes its time.
    """
    placement = Placement(tuple(table.rows for table in DATA.tables), servers)
    tracking: Tracking | None = plan.tracking
    specs = [
        ServerSpec(
            number=server,
            rows=placement.rows_of(server),
            dim=DIM,
            seed=server,
            spread=0.05,
            learning_rate=0.05,
            tracking=tracking,
            tables=(placement.range_of(0, server),),
            folder=folder / f"server-{server}",
            deadlines=deadlines,
            tells_modified=plan.tells_modified,
        )
        for server in range(servers)
    ]
    specs = with_copies(specs, plan.redundancy)
    trainer = TrainerSpec(
        DATA,
        placement,
        DIM,
        16,
        99,
        0.05,
        deadlines.answer_s,
        folder / "dense",
        copies=0 if plan.redundancy is None else 1 + plan.redundancy.parity,
    )
    job = RunningJob(TRAINER.start(plan), STEPS, 1.0)
    with LocalCluster(specs, trainer, deadlines) as cluster:
        pids = [cluster.pid(name) for name in cluster.names]
        watched = Watched(job.controller, cluster, job) if watch else None
        if watched is not None:
            watched.start()
            job.controller = watched
        times, hits = zip(*failures, strict=True) if failures else ((), ())
        clock = (
            WallClock(lambda: job.watch.now_s) if at_time else StepClock(1.0, lambda: job.executed)
        )
        if free:
            clock.pinned = False
        cursor = cursor_of(AbsoluteTimeline(times, hits))
        strikes = Strikes(cluster, cursor, clock, manner, during_recovery)
        execution = Execution(
            job,
            cluster,
            strikes,
            plan.last_save if final_save else None,
            lambda step: stepped(cluster, step),
            plan.redundancy,
        )
        execution.run()
        if watched is not None:
            watched.finish()
        pids += [cluster.pid(name) for name in cluster.names]
        message = execution.predict(DATA.steps, DATA.steps + DATA.test_steps)
        digests = [_digests(cluster, spec) for spec in specs]
    assert job.step == STEPS
    assert math.isclose(sum(job.watch.seconds.values()), job.watch.spans[-1].end_s, rel_tol=1e-9)
    return Ran(
        job,
        hashlib.sha256(message.arrays[0].data).hexdigest(),
        strikes.failures,
        strikes.struck,
        execution.recovery.replaced,
        pids,
        watched,
        digests,
    )


def filled_late(monkeypatch, step):
    """Nobody begins to fill a server that is away before the trainer has done so many steps."""
    ready, hear = [], Rebuilding._hear

    def late(self, event):
        op = None if isinstance(event, Death) else event.message.op
        if op == Op.READY and self._job.step < step:
            ready.append(event)
            return
        hear(self, event)
        if op == Op.STEPPED and event.message.step >= step:
            while ready:
                hear(self, ready.pop())

    monkeypatch.setattr(Rebuilding, "_hear", late)


def digest(parameters):
    """SHA-256 of weights and optimiser state, to compare bit for bit."""
    return _hash(parameters.arrays())


def _hash(arrays):
    return hashlib.sha256(b"".join(each.tobytes() for each in arrays)).hexdigest()


def _digests(cluster, spec):
    """Hashes of all state that a server holds: of its own rows, and of copies of others'."""
    link = connected(cluster.address(("server", spec.number)))
    found = {}
    try:
        for shard in (spec.number, *spec.copies_of):
            found[shard] = _hash(asked(link, Op.FETCH, shard).arrays)
            asked(link, Op.FETCH, shard)  # what has changed since
    finally:
        link.close()
    return {"sha256": found.pop(spec.number), "copies": found}
