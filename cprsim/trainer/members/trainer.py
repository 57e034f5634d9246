"""A trainer: one process that trains batch by batch."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from cprsim.trainer.data.contract import Batch, Data
from cprsim.trainer.members.checkpoint_writer import CheckpointWriter, Store
from cprsim.trainer.members.connections import Connections, ServersLostError
from cprsim.trainer.members.dlrm import Dlrm
from cprsim.trainer.members.member_loop import run_member
from cprsim.trainer.members.parameters import Parameters
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.remote import RemoteRows
from cprsim.trainer.members.store import CheckpointStore
from cprsim.trainer.members.uses import Uses
from cprsim.trainer.members.waiting import Around, Steps, Wait, received
from cprsim.trainer.members.wire import Message, Op


@dataclass(frozen=True)
class TrainerSpec:
    """What a trainer is told when it starts; it is the same each time it is started.

    `deadline_s`: for each answer of a server. `folder`: of the dense part's checkpoints. `copies`:
    of the dense part, on servers; at most one for each shard.
    """

    data: Data
    placement: Placement
    dim: int
    hidden: int
    seed: int
    learning_rate: float
    deadline_s: float
    folder: Path
    copies: int = 0

    def model(self) -> Dlrm:
        """The dense part at the start of the job."""
        return Dlrm(
            self.data.dense,
            len(self.data.tables),
            self.dim,
            self.hidden,
            self.seed,
            self.learning_rate,
        )

    def store(self) -> Store:
        """Where checkpoints of the dense part are."""
        return CheckpointStore(self.folder)


def run_trainer(spec: TrainerSpec, control: socket.socket) -> None:
    """Be a trainer: obey the controller."""
    run_member(lambda loop: Trainer(spec, loop).obey(), control)


class MadeBatch(NamedTuple):
    """A batch, and the rows that it uses."""

    batch: Batch
    uses: Uses


class Trainer:
    """The state of a trainer: the dense part, and its connections to the servers."""

    def __init__(self, spec: TrainerSpec, around: Around) -> None:
        self._spec, self._around = spec, around
        self._model = spec.model()
        self._connections = Connections(around, spec.deadline_s)
        self._rows = RemoteRows(spec.placement, spec.dim, self._connections)
        self._done = 0  # steps whose updates the dense part has
        self._checkpoints: CheckpointWriter[Parameters] = CheckpointWriter(
            lambda: spec.model().parameters, spec.store(), around
        )
        self._model.parameters = self._checkpoints.parameters

    def obey(self) -> Steps[None]:
        """Do what the controller asks for; say so if servers don't answer."""
        control = self._around.control
        control.put(Op.READY)
        while True:
            message = yield from received(control)
            if message.op == Op.HALT:
                continue  # it had ended TRAIN before
            try:
                yield from _HANDLERS[message.op](self, message)
            except ServersLostError as lost:
                silent = yield from self._connections.settle(lost.servers)
                control.tell(Op.LOST, 0, {"lost": sorted(silent)})

    def _connect(self, message: Message) -> Steps[None]:
        facts = message.facts
        yield from self._connections.connect(facts["routes"], facts["epoch"])
        if facts["again"]:
            yield from self._take_copy()
            yield from self._keep()
            yield from self._rows.push_again()
        else:
            self._rows.forget()
        self._around.control.put(Op.CONNECT, self._done)

    def _train(self, message: Message) -> Steps[None]:
        """Train up to a step or until told to halt.

        All updates are in the rows afterwards.
        """
        control = self._around.control
        made: MadeBatch | None = None
        for step in range(message.facts["first"], message.step):
            yield Wait(lambda: True)  # what has come is seen, also where no server is waited for
            if control.inbox:  # nothing but HALT is said to one who trains
                break
            batch = made or self._make(step)
            self._rows.ask(step, batch.uses)
            made = self._prefetch(step + 1, message.step)
            yield from self._step(step, batch)
            control.put(Op.STEPPED, step + 1)
        # A save may follow, and members that catch up: both rely on all updates being in the rows
        # by then.
        yield from self._connections.sync()
        control.put(Op.TRAINED, message.step)

    def _prefetch(self, step: int, end: int) -> MadeBatch | None:
        """The next step's batch and the ids of its rows, while servers update and look up rows."""
        return self._make(step) if step < end else None

    def _make(self, step: int) -> MadeBatch:
        batch = self._spec.data.batch(step)
        return MadeBatch(batch, self._rows.uses(batch.sparse))

    def _step(self, step: int, made: MadeBatch) -> Steps[None]:
        """Do a step whose rows were asked for."""
        dense, sparse, labels = made.batch
        looked = yield from self._rows.fetch(made.uses)
        gradient = self._model.step(
            torch.from_numpy(dense),
            looked.of_samples(sparse.shape[1]),
            torch.from_numpy(labels),
        )
        self._done = step + 1
        self._rows.collect(step, looked, gradient)
        yield from self._keep()
        yield from self._rows.push()

    @property
    def _keepers(self) -> list[int]:
        """Shards whose servers keep copies of the dense part."""
        return self._connections.shards[: self._spec.copies]

    def _keep(self) -> Steps[None]:
        """Have servers keep the dense part, and what is pushed next.

        All is on its way before any update is: so a step that is in some rows can be pushed to all.
        """
        gradients = self._rows.gradients
        if self._keepers and gradients is not None:
            kept = *self._model.parameters.arrays(), gradients
            for shard in self._keepers:
                self._connections.send(shard, Op.KEEP, self._done, *kept)
            yield from self._connections.sent()

    def _take_copy(self) -> Steps[None]:
        """Take the newest dense part that a server has kept, if it is newer, and what was pushed.

        So the step that a trainer died in is done as a whole, once that is pushed again.
        """
        for shard in self._keepers:
            self._connections.send(shard, Op.KEPT, 0)
        found = yield from self._connections.answers(self._keepers)
        for kept in found.values():
            if kept.parts and kept.step > self._done:
                *arrays, gradients = (np.frombuffer(part, np.float32) for part in kept.parts)
                self._model.parameters.restore(tuple(arrays))
                self._done = kept.step
                step = kept.step - 1
                self._rows.take_over(step, self._spec.data.batch(step).sparse, gradients)

    def _predict(self, message: Message) -> Steps[None]:
        """Predict the batches from one step to another: probabilities, and the labels."""
        predicted, labels = [], []
        for step in range(message.facts["first"], message.step):
            batch = self._spec.data.batch(step)
            looked = yield from self._rows.lookup(step, batch.sparse)
            rows = looked.of_samples(batch.sparse.shape[1])
            predicted.append(self._model.predict(torch.from_numpy(batch.dense), rows).numpy())
            labels.append(batch.labels)
        self._around.control.put(
            Op.PREDICTED, message.step, np.concatenate(predicted), np.concatenate(labels)
        )

    def _save(self, message: Message) -> Steps[None]:
        self._checkpoints.save(message, self._checkpoints.parameters.arrays())
        yield from ()

    def _load(self, message: Message) -> Steps[None]:
        self._rows.forget()
        found = yield from self._checkpoints.load(message.step)
        self._done = found.step
        facts = {"bytes": found.size, "epoch": message.facts["epoch"]}
        self._around.control.tell(Op.LOADED, found.step, facts)

    def _digest(self, message: Message) -> Steps[None]:
        facts = {"sha256": self._model.parameters.digest()}
        self._around.control.tell(Op.DIGEST, message.step, facts)
        yield from ()


_HANDLERS: Mapping[Op, Callable[[Trainer, Message], Steps[None]]] = {
    Op.CONNECT: Trainer._connect,
    Op.TRAIN: Trainer._train,
    Op.PREDICT: Trainer._predict,
    Op.SAVE: Trainer._save,
    Op.LOAD: Trainer._load,
    Op.DIGEST: Trainer._digest,
}
