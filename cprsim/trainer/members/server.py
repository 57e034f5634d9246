"""A parameter server: one process that holds the rows of one shard and answers for them."""

import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from cprsim.contract import Redundancy, Tracking
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.around import Around, Link, MemberLoop, run_member
from cprsim.trainer.members.checkpoint_writer import CheckpointWriter
from cprsim.trainer.members.copying import (
    Fetching,
    Forwarder,
    Ring,
    SourcesLostError,
    give_copy,
)
from cprsim.trainer.members.shard import ModifiedRows, Shard, ShardState
from cprsim.trainer.members.store import CheckpointStore
from cprsim.trainer.members.trackers import ShardTracker, Unsettled
from cprsim.trainer.members.wire import Message, Op, PeerLostError

#: What trainers and servers say that is not answered.
_UNANSWERED = (Op.UPDATE, Op.KEEP)


@dataclass(frozen=True)
class ServerSpec:
    """What a server is told when it starts; it is the same each time it is started.

    `tables`: rows of tracked tables among its own. `folder`: of its checkpoints. `copies_of`: of
    servers whose rows it holds copies of, what they are told, by number. `tells_modified`: whether
    saves may be of rows that were modified alone.
    """

    number: int
    rows: int
    dim: int
    seed: int
    spread: float
    learning_rate: float
    tracking: Tracking | None
    tables: tuple[range, ...]
    folder: Path
    copies_of: Mapping[int, "ServerSpec"] = field(default_factory=dict)
    deadlines: Deadlines = field(default_factory=Deadlines)
    tells_modified: bool = False

    def shard(self) -> Shard:
        """Its rows at the start of the job."""
        return Shard(self.rows, self.dim, self.seed, self.spread, self.learning_rate)

    def store(self) -> CheckpointStore:
        """Where its checkpoints are."""
        return CheckpointStore(self.folder)


def ring_of(servers: int, redundancy: Redundancy | None) -> Ring:
    """Which servers hold copies of a shard."""
    return Ring(servers, 1 if redundancy is None else 1 + redundancy.parity)


def with_copies(specs: Sequence[ServerSpec], redundancy: Redundancy | None) -> list[ServerSpec]:
    """These servers, with copies of each other's rows."""
    ring = ring_of(len(specs), redundancy)
    return [
        replace(each, copies_of={other: specs[other] for other in ring.copied(each.number)})
        for each in specs
    ]


def run_server(spec: ServerSpec, address: Path, control: socket.socket) -> None:
    """Be a server: obey the controller, and answer the trainer and other servers at `address`."""

    async def obey(loop: MemberLoop) -> None:
        server = Server(spec, loop)
        await loop.listen(address, server.serve)
        await server.obey()

    run_member(obey, control)


class _Greeted(NamedTuple):
    """A connection that updates may come by: its epoch, and which server it is from, if one."""

    epoch: int
    by: int | None


class Server:
    """The state of a server: its rows, copies of other servers' rows, and their checkpoints.

    A connection belongs to an epoch, which is counted on with every recovery. Once the rows have
    returned to a checkpoint, what is still under way in connections of earlier ones is void.
    """

    def __init__(self, spec: ServerSpec, around: Around) -> None:
        self._spec, self._around = spec, around
        self.number = spec.number
        self._checkpoints = CheckpointWriter(spec.shard, spec.store(), around)
        self._own = ShardState(self._checkpoints.parameters)
        self._own.tracker = self._new_tracker()
        if spec.tells_modified:
            self._own.modified = ModifiedRows(spec.rows)
        self._unsettled: list[Unsettled] = []  # of saves that may turn out to be void
        self._states = {spec.number: self._own} | {
            number: ShardState(each.shard()) for number, each in spec.copies_of.items()
        }
        # Less than its own deadline: a silent source is named before this server counts as silent
        # itself.
        self._fetching = Fetching(around, spec.deadlines.fetched_s)
        self._open: list[_Greeted] = []
        self._epoch = 0
        self._kept: tuple[int, tuple[NDArray[Any], ...]] = 0, ()  # the dense part of a trainer

    # --- The trainer, and servers that pass on what it says ---

    async def serve(self, link: Link) -> None:
        """Answer the trainer or a server until it goes."""
        # None until it has greeted: who only fetches has no epoch, and changes no rows.
        greeted: _Greeted | None = None
        state, forwarder = self._own, Forwarder(self._around, self._spec.deadlines)
        try:
            while True:
                message = await self._around.received(link)
                if message.op == Op.GREET:
                    greeted = _Greeted(message.step, message.facts["by"])
                    state = self._states[message.facts["shard"]]
                    await self._greet(link, message, greeted, forwarder)
                elif message.op == Op.FETCH:
                    await give_copy(self._states[message.step], link, self._around)
                elif message.op not in _UNANSWERED:
                    await self._asked(link, message, state, forwarder)
                elif greeted is not None:
                    await self._take(message, greeted, state, forwarder)
        except PeerLostError:
            return
        finally:
            link.close()
            forwarder.close()
            if greeted is not None:
                self._open.remove(greeted)

    async def _greet(
        self, link: Link, message: Message, greeted: _Greeted, forwarder: Forwarder
    ) -> None:
        facts = message.facts
        await forwarder.greet(greeted.epoch, facts["shard"], facts["copies"], self.number)
        # Who has gone meanwhile is waited for by newer ones, and has sent nothing more.
        await self._opened(link, greeted, forwarder)
        await self._asked(link, message, self._own, forwarder)

    async def _take(
        self, message: Message, greeted: _Greeted, state: ShardState, forwarder: Forwarder
    ) -> None:
        """Do what is not answered.

        What was sent before the rows returned to a checkpoint is void: its step is trained again,
        or counts as lost with the shard. So it may be dropped, and must be.
        """
        if message.op == Op.UPDATE:
            # Passed on first: copies apply it while this server does. SYNC alone waits for all.
            await forwarder.pass_on(message)
        if greeted.epoch < self._epoch:
            return
        if message.op == Op.KEEP:
            self._kept = message.step, message.arrays
        else:
            state.update_by(message)

    async def _asked(
        self, link: Link, message: Message, state: ShardState, forwarder: Forwarder
    ) -> None:
        """Answer what is answered."""
        if message.op == Op.SYNC:
            await forwarder.sync()
        lost = sorted(forwarder.lost)
        if message.op in (Op.GREET, Op.SYNC):
            link.put(message.op, message.step, lost=lost)
        elif message.op == Op.KEPT:
            step, arrays = self._kept
            link.put(Op.KEPT, step, *arrays)
        elif lost:
            link.put(Op.LOST, message.step, lost=lost)
        else:
            ids = torch.from_numpy(message.arrays[0])
            link.put(Op.ROWS, message.step, state.shard.lookup(ids).numpy())
        await self._around.sent([link])

    async def _opened(self, link: Link, greeted: _Greeted, forwarder: Forwarder) -> None:
        """Wait until connections of earlier epochs have been served to their ends.

        Trainers are dead or have left them; what they had sent belongs into the next save. A
        server that hangs never ends its own: it is lost. Raises `PeerLostError` where the other
        side of `link` goes meanwhile.
        """
        began_s, deadlines = self._around.now_s(), self._spec.deadlines
        # Counted before it waits, so that still newer ones wait for it, too. Older ones wait for
        # nobody newer, so there is no circle.
        self._open.append(greeted)

        def earlier() -> list[_Greeted]:
            return [each for each in self._open if each.epoch < greeted.epoch]

        around = self._around
        await around.while_there(link, lambda: not earlier(), began_s + deadlines.ended_s)
        for each in earlier():
            forwarder.lost.add(self._spec.number if each.by is None else each.by)
        await forwarder.greeted(link, began_s + deadlines.greeted_s)

    # --- The controller ---

    async def obey(self) -> None:
        """Do what the controller asks for."""
        control = self._around.control
        control.put(Op.READY)
        while True:
            message = await self._around.received(control)
            if message.op == Op.SAVE:
                self._save(message)
            elif message.op == Op.LOAD:
                await self._load(message)
            elif message.op in (Op.FILL, Op.CATCH_UP):
                await self._fetch(message)

    def _save(self, message: Message) -> None:
        """Copy the rows; they are written while trainers go on."""
        started_s = time.perf_counter()
        ids, tracker, modified = None, self._own.tracker, self._own.modified
        facts = message.facts
        if modified is not None:
            ids = modified.select(facts["at"], facts["since"], facts["returns_to"])
        if tracker is not None:
            self._settle(tracker, facts["returns_to"])
            if facts["portion"] < 1:
                ids = tracker.select()
        chosen_s = time.perf_counter()
        arrays = self._own.shard.arrays(ids)
        if tracker is not None:
            rows = np.arange(self._spec.rows) if ids is None else ids
            self._unsettled.append(Unsettled(facts["at"], rows, tracker.noted(rows)))
            tracker.saved(rows)
        spent = {
            "select_s": chosen_s - started_s,
            "gather_s": time.perf_counter() - chosen_s,
        }
        self._checkpoints.save(message, arrays, ids, **spent)

    def _settle(self, tracker: ShardTracker, returns_to: Sequence[int]) -> None:
        """Rows of void saves are not saved; `returns_to`: the usable one, and those under way."""
        usable, *under_way = returns_to
        for each in reversed(self._unsettled):
            if each.step > usable and each.step not in under_way:
                tracker.forget_saved(each)
        self._unsettled = [each for each in self._unsettled if each.step in under_way]

    async def _load(self, message: Message) -> None:
        """Return to a checkpoint; connections of earlier epochs are void from now on."""
        # All steps from here on are new to it, whatever it had applied before.
        self._epoch = message.facts["epoch"]
        found = await self._checkpoints.load(message.step)
        self._own.tracker = self._new_tracker()
        self._unsettled.clear()
        self._kept = 0, ()
        self._own.applied = found.step
        if self._own.modified is not None:
            self._own.modified.return_to(found.step, found.changed)
        epoch = message.facts["epoch"]
        self._around.control.put(Op.LOADED, found.step, bytes=found.size, epoch=epoch)

    async def _fetch(self, message: Message) -> None:
        """Fetch shards that other servers hold; say so if some of those don't answer."""
        facts = message.facts
        told = {"epoch": facts["epoch"]}
        try:
            if message.op == Op.FILL:
                await self._fetching.begin(facts["sources"], self._states)
            else:
                await self._fetching.end()
        except SourcesLostError as gone:
            told["lost"] = sorted(gone.servers)
        self._around.control.put(Op.LOADED, self._own.applied, **told)

    def _new_tracker(self) -> ShardTracker | None:
        tracking = self._spec.tracking
        if tracking is None:
            return None
        return ShardTracker(
            tracking.tracker,
            self._own.shard.weights,
            self._spec.tables,
            tracking.fraction,
            tracking.subsample,
            self._spec.seed,
        )
