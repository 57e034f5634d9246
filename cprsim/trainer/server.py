"""A parameter server: one process that holds the rows of one shard and answers for them."""

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cprsim.contract import Tracking
from cprsim.trainer.keeper import Keeper
from cprsim.trainer.obedience import obey
from cprsim.trainer.shard import Shard
from cprsim.trainer.store import Store
from cprsim.trainer.trackers import ShardTracker
from cprsim.trainer.wire import Link, Message, Op, PeerLostError, listening


@dataclass(frozen=True)
class ServerSpec:
    """What a server is told when it starts; it is the same each time it is started.

    `tables`: rows of tracked tables among its own. `folder`: of its checkpoints.
    """

    rows: int
    dim: int
    seed: int
    spread: float
    learning_rate: float
    tracking: Tracking | None
    tables: tuple[range, ...]
    folder: Path

    def shard(self) -> Shard:
        """Its rows at the start of the job."""
        return Shard(self.rows, self.dim, self.seed, self.spread, self.learning_rate)


def serve(spec: ServerSpec, address: Path, control: socket.socket) -> None:
    """Be a server: obey the controller, and answer trainers at `address`."""

    def make() -> Callable[[Link, Message], None]:
        server = Server(spec)
        door = listening(address)
        threading.Thread(target=_welcome, args=(door, server), daemon=True).start()
        return server.obey

    obey(make, control)


def _welcome(door: socket.socket, server: "Server") -> None:
    while True:
        end, _ = door.accept()
        link = Link(end, deadline_s=None)
        threading.Thread(target=server.answer, args=(link,), daemon=True).start()


class Server:
    """The state of a server: its rows, behind a lock, and how far they have come.

    A connection belongs to an epoch, which is counted on with every recovery. Once the rows have
    returned to a checkpoint, what is still under way in connections of earlier ones is void.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._keeper = Keeper(spec.shard, Store(spec.folder))
        self._shard = self._keeper.learned
        self._tracker = self._new_tracker()
        self._lock = threading.Lock()
        self._connections = threading.Condition()
        self._epochs: list[int] = []  # of connections that are open
        self._epoch = 0
        self._applied = 0  # steps whose updates are in the rows

    # --- Trainers ---

    def answer(self, link: Link) -> None:
        """Answer one trainer until it goes."""
        epoch: int | None = None
        try:
            while True:
                message = link.receive()
                if message.op == Op.GREET:
                    epoch = message.step
                    self._opened(epoch)
                    link.send(Op.GREET, epoch)
                elif message.op == Op.LOOKUP:
                    link.send(Op.ROWS, message.step, self._lookup(message).numpy())
                elif message.op == Op.UPDATE and epoch is not None:
                    self._update(epoch, message)
                elif message.op == Op.SYNC:
                    link.send(Op.SYNC, message.step)
        except PeerLostError:
            link.close()
        finally:
            self._closed(epoch)

    def _opened(self, epoch: int) -> None:
        """Wait until connections of earlier epochs have been served to their ends.

        Their trainers are dead or have left them; what they had sent belongs into the next save.
        """
        with self._connections:
            self._epochs.append(epoch)
            self._connections.wait_for(lambda: min(self._epochs) >= epoch)

    def _closed(self, epoch: int | None) -> None:
        with self._connections:
            if epoch is not None:
                self._epochs.remove(epoch)
            self._connections.notify_all()

    def _lookup(self, message: Message) -> Tensor:
        ids = torch.from_numpy(np.frombuffer(message.parts[0], np.int64))
        with self._lock:
            return self._shard.lookup(ids)

    def _update(self, epoch: int, message: Message) -> None:
        ids, times, gradients = (
            torch.from_numpy(np.frombuffer(part, kind))
            for part, kind in zip(message.parts, (np.int64, np.int32, np.float32), strict=True)
        )
        with self._lock:
            if epoch < self._epoch or message.step < self._applied:
                return
            self._shard.update(ids, gradients.view(len(ids), -1))
            if self._tracker is not None:
                self._tracker.note(ids, times)
            self._applied = message.step + 1

    # --- The controller ---

    def obey(self, link: Link, message: Message) -> None:
        """Do what the controller asks for."""
        if message.op == Op.SAVE:
            self._save(link, message)
        elif message.op == Op.LOAD:
            self._load(link, message)
        elif message.op == Op.DIGEST:
            with self._lock:
                link.tell(Op.DIGEST, self._applied, {"sha256": self._shard.digest()})

    def _save(self, link: Link, message: Message) -> None:
        """Copy the rows, then write them; trainers need not wait for that."""
        started_s = time.perf_counter()
        with self._lock:
            ids = None
            if self._tracker is not None and message.facts["portion"] < 1:
                ids = self._tracker.select()
            chosen_s = time.perf_counter()
            arrays = self._shard.arrays(ids)
            if self._tracker is not None:
                self._tracker.saved(np.arange(self._spec.rows) if ids is None else ids)
        taken_s = time.perf_counter()
        link.send(Op.TAKEN, message.step)
        size = self._keeper.store.write(message.step, arrays, ids)
        facts = {
            "bytes": size,
            "whole": ids is None,
            "select_s": chosen_s - started_s,
            "gather_s": taken_s - chosen_s,
            "write_s": time.perf_counter() - taken_s,
        }
        rows = np.empty(0, np.int64) if ids is None else ids
        link.tell(Op.SAVED, message.step, facts, rows)

    def _load(self, link: Link, message: Message) -> None:
        """Return to a checkpoint; connections of earlier epochs are void from now on."""
        with self._lock:
            step, size = self._keeper.load(message.step)
            self._tracker = self._new_tracker()
            # All steps from here on are new to it, whatever it had applied before.
            self._epoch, self._applied = message.facts["epoch"], step
        link.tell(Op.LOADED, step, {"bytes": size})

    def _new_tracker(self) -> ShardTracker | None:
        tracking = self._spec.tracking
        if tracking is None:
            return None
        return ShardTracker(
            tracking.tracker,
            self._shard.weights,
            self._spec.tables,
            tracking.fraction,
            tracking.looks_at_one_in,
            self._spec.seed,
        )
