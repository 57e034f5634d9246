"""A parameter server: one process that holds the rows of one shard and answers for them."""

import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cprsim.contract import Copies, Tracking
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.checkpoint_writer import CheckpointWriter
from cprsim.trainer.members.copying import Fetching, Forwarder, Ring, SourceLostError, give_copy
from cprsim.trainer.members.member_loop import run_member
from cprsim.trainer.members.shard import Shard
from cprsim.trainer.members.shard_state import ShardState
from cprsim.trainer.members.store import CheckpointStore
from cprsim.trainer.members.trackers import ShardTracker
from cprsim.trainer.members.wire import Link, Message, Op, PeerLostError, listening


@dataclass(frozen=True)
class ServerSpec:
    """What a server is told when it starts; it is the same each time it is started.

    `tables`: rows of tracked tables among its own. `folder`: of its checkpoints. `copies_of`: of
    servers whose rows it holds copies of, what they are told, by number. `deadlines`: half of them
    are for other servers, so that whoever waits for both learns which one is silent. `trainers`:
    how many there are; step s is that of trainer s mod `trainers`.
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
    trainers: int = 1

    def shard(self) -> Shard:
        """Its rows at the start of the job."""
        return Shard(self.rows, self.dim, self.seed, self.spread, self.learning_rate)


def with_copies(specs: Sequence[ServerSpec], copies: Copies | None) -> list[ServerSpec]:
    """These servers, with copies of each other's rows."""
    if copies is None:
        return list(specs)
    ring = Ring(len(specs), copies.per_shard)
    return [
        replace(each, copies_of={other: specs[other] for other in ring.shards(each.number)[1:]})
        for each in specs
    ]


def run_server(spec: ServerSpec, address: Path, control: socket.socket) -> None:
    """Be a server: obey the controller, and answer trainers at `address`."""

    def make() -> Callable[[Link, Message], None]:
        server = Server(spec)
        listener = listening(address)
        threading.Thread(target=_accept, args=(listener, server), daemon=True).start()
        return server.handle

    run_member(make, control)


def _accept(listener: socket.socket, server: "Server") -> None:
    while True:
        end, _ = listener.accept()
        link = Link(end, deadline_s=None)
        threading.Thread(target=server.serve, args=(link,), daemon=True).start()


class Server:
    """The state of a server: its rows, copies of other servers' rows, and their checkpoints.

    A connection belongs to an epoch, which is counted on with every recovery. Once the rows have
    returned to a checkpoint, what is still under way in connections of earlier ones is void.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._checkpoints = CheckpointWriter(spec.shard, CheckpointStore(spec.folder))
        self._own = ShardState(self._checkpoints.parameters, spec.trainers)
        self._own.tracker = self._new_tracker()
        self._states = {spec.number: self._own}
        self._states |= {
            number: ShardState(each.shard()) for number, each in spec.copies_of.items()
        }
        # Half of its own deadline: a silent source is named before this server counts as silent
        # itself.
        self._fetching = Fetching(spec.deadlines.work_s / 2)
        self._connections = threading.Condition()
        self._epochs: list[int] = []  # of connections that are open
        self._epoch = 0

    # --- Trainers, and servers that pass on what they say ---

    def serve(self, link: Link) -> None:
        """Answer one trainer or server until it goes."""
        # None until it has greeted: who only fetches a copy has no epoch, and changes no rows.
        epoch: int | None = None
        state, forwarder = self._own, Forwarder(self._spec.number, [], 0, 0.0)
        try:
            while True:
                message = link.receive()
                if message.op == Op.GREET:
                    epoch, facts = message.step, message.facts
                    self._opened(epoch)
                    state = self._states[facts["shard"]]
                    answer_s = self._spec.deadlines.answer_s / 2
                    forwarder = Forwarder(facts["shard"], facts["copies"], epoch, answer_s)
                elif message.op == Op.UPDATE and epoch is not None:
                    # Passed on first, and nobody answers an update: copies apply it while this
                    # server does. SYNC alone waits for all of them.
                    forwarder.pass_on(message)
                    self._update(state, epoch, message)
                    continue
                elif message.op == Op.SYNC:
                    forwarder.sync()
                elif message.op == Op.FETCH:
                    give_copy(self._states[message.step], link)
                    continue
                if forwarder.lost is not None:
                    link.send(Op.LOST, forwarder.lost)
                elif message.op == Op.LOOKUP:
                    ids = _tensor(message.parts[0], np.int64) if message.parts else None
                    link.send(Op.ROWS, message.step, state.lookup(ids).numpy())
                else:
                    link.send(message.op, message.step)
        except PeerLostError:
            link.close()
        finally:
            forwarder.close()
            self._closed(epoch)

    def _opened(self, epoch: int) -> None:
        """Wait until connections of earlier epochs have been served to their ends.

        Their trainers are dead or have left them; what they had sent belongs into the next save.
        """
        with self._connections:
            self._epochs.append(epoch)
            # Counted before it waits, so that still newer ones wait for it, too. Older ones wait
            # for nobody newer, so there is no circle.
            self._connections.wait_for(lambda: min(self._epochs) >= epoch)

    def _closed(self, epoch: int | None) -> None:
        with self._connections:
            if epoch is not None:
                self._epochs.remove(epoch)
            self._connections.notify_all()

    def _update(self, state: ShardState, epoch: int, message: Message) -> None:
        *which, last = message.parts
        gradients = _tensor(last, np.float32).view(-1, self._spec.dim)
        with state.lock:
            # Sent before the rows returned to a checkpoint: its step is trained again, or counts as
            # lost with the shard. So it may be dropped, and must be.
            if epoch < self._epoch:
                return
            if which:
                ids, times = which
                state.update(
                    message.step, _tensor(ids, np.int64), _tensor(times, np.int32), gradients
                )
            else:
                state.update_all(message.step, gradients)

    # --- The controller ---

    def handle(self, link: Link, message: Message) -> None:
        """Do what the controller asks for."""
        if message.op == Op.SAVE:
            self._save(link, message)
        elif message.op == Op.LOAD:
            self._load(link, message)
        elif message.op in (Op.FILL, Op.CATCH_UP):
            self._fetch(link, message)
        elif message.op == Op.DIGEST:
            copies = {number: state.shard.digest() for number, state in self._states.items()}
            sha256 = copies.pop(self._spec.number)
            link.tell(Op.DIGEST, self._own.applied, {"sha256": sha256, "copies": copies})

    def _save(self, link: Link, message: Message) -> None:
        """Copy the rows; they are written while trainers go on."""
        started_s = time.perf_counter()
        with self._own.lock:
            ids, tracker = None, self._own.tracker
            if tracker is not None and message.facts["portion"] < 1:
                ids = tracker.select()
            chosen_s = time.perf_counter()
            # Chosen, copied and noted under one lock: an update in between would count as saved
            # without being in the save.
            arrays = self._own.shard.arrays(ids)
            if tracker is not None:
                tracker.saved(np.arange(self._spec.rows) if ids is None else ids)
        spent = {
            "select_s": chosen_s - started_s,
            "gather_s": time.perf_counter() - chosen_s,
        }
        self._checkpoints.save(link, message, arrays, ids, **spent)

    def _load(self, link: Link, message: Message) -> None:
        """Return to a checkpoint; connections of earlier epochs are void from now on."""
        with self._own.lock:
            # Under the lock, together with the epoch: no update of an earlier connection may fall
            # between the checkpoint's rows and the number that makes it void.
            step, size = self._checkpoints.load(message.step)
            self._own.tracker = self._new_tracker()
            # All steps from here on are new to it, whatever it had applied before.
            self._epoch = message.facts["epoch"]
            self._own.return_to(step)
        link.tell(Op.LOADED, step, {"bytes": size, "epoch": message.facts["epoch"]})

    def _fetch(self, link: Link, message: Message) -> None:
        """Fetch shards that other servers hold; say so if one of those doesn't answer."""
        facts = message.facts
        told = {"epoch": facts["epoch"]}
        try:
            if message.op == Op.FILL:
                sources = {int(shard): source for shard, source in facts["sources"].items()}
                self._fetching.begin(sources, self._states)
            else:
                self._fetching.end()
        except SourceLostError as lost:
            told["lost"] = lost.server
        link.tell(Op.LOADED, self._own.applied, told)

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


def _tensor(part: bytearray, kind: type[np.generic]) -> Tensor:
    return torch.from_numpy(np.frombuffer(part, kind))
