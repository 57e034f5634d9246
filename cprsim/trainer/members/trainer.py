"""A trainer: one process that trains batch by batch."""

import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from cprsim.trainer.data.contract import Batch, Data
from cprsim.trainer.members.around import Around, run_member
from cprsim.trainer.members.checkpoint_writer import CheckpointWriter
from cprsim.trainer.members.connections import Connections, ServersLostError
from cprsim.trainer.members.dlrm import Dlrm
from cprsim.trainer.members.parameters import Parameters
from cprsim.trainer.members.placement import Placement, Uses
from cprsim.trainer.members.remote import RemoteRows
from cprsim.trainer.members.store import CheckpointStore
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

    def store(self) -> CheckpointStore:
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

    async def obey(self) -> None:
        """Do what the controller asks for; say so if servers don't answer."""
        control = self._around.control
        control.put(Op.READY)
        while True:
            message = await self._around.received(control)
            if message.op == Op.HALT:
                continue  # it had ended TRAIN before
            try:
                await _HANDLERS[message.op](self, message)
            except ServersLostError as lost:
                silent = await self._connections.settle(lost.servers)
                control.put(Op.LOST, lost=sorted(silent))

    async def _connect(self, message: Message) -> None:
        facts = message.facts
        await self._connections.connect(facts["routes"], facts["epoch"])
        if facts["again"]:
            await self._take_copy()
            await self._keep()
            await self._rows.push_again()
        else:
            self._rows.forget()
        self._around.control.put(Op.CONNECT, self._done)

    async def _train(self, message: Message) -> None:
        """Train up to a step or until told to halt.

        All updates are in the rows afterwards.
        """
        control = self._around.control
        made: MadeBatch | None = None
        for step in range(message.facts["first"], message.step):
            await self._around.look()  # also where no server is waited for
            if control.inbox:  # nothing but HALT is said to one who trains
                break
            batch = made or self._make(step)
            self._rows.ask(step, batch.uses)
            made = self._prefetch(step + 1, message.step)
            await self._step(step, batch)
            control.put(Op.STEPPED, step + 1)
        # A save may follow, and members that catch up: both rely on all updates being in the rows
        # by then.
        await self._connections.sync()
        control.put(Op.TRAINED, message.step)

    def _prefetch(self, step: int, end: int) -> MadeBatch | None:
        """The next step's batch and the ids of its rows, while servers update and look up rows."""
        return self._make(step) if step < end else None

    def _make(self, step: int) -> MadeBatch:
        batch = self._spec.data.batch(step)
        return MadeBatch(batch, self._rows.uses(batch.sparse))

    async def _step(self, step: int, made: MadeBatch) -> None:
        """Do a step whose rows were asked for."""
        dense, sparse, labels = made.batch
        looked = await self._rows.fetch(made.uses)
        gradient = self._model.step(
            torch.from_numpy(dense),
            looked.of_samples(sparse.shape[1]),
            torch.from_numpy(labels),
        )
        self._done = step + 1
        self._rows.collect(step, looked, gradient)
        await self._keep()
        await self._rows.push()

    @property
    def _keepers(self) -> list[int]:
        """Shards whose servers keep copies of the dense part."""
        return self._connections.shards[: self._spec.copies]

    async def _keep(self) -> None:
        """Have servers keep the dense part, and what is pushed next.

        All is on its way before any update is: so a step that is in some rows can be pushed to all.
        """
        gradients = self._rows.gradients
        if self._keepers and gradients is not None:
            kept = *self._model.parameters.arrays(), gradients
            for shard in self._keepers:
                self._connections.send(shard, Op.KEEP, self._done, *kept)
            await self._connections.sent()

    async def _take_copy(self) -> None:
        """Take the newest dense part that a server has kept, if it is newer, and what was pushed.

        So the step that a trainer died in is done as a whole, once that is pushed again.
        """
        for shard in self._keepers:
            self._connections.send(shard, Op.KEPT, 0)
        found = await self._connections.answers(self._keepers)
        for kept in found.values():
            if kept.arrays and kept.step > self._done:
                *arrays, gradients = kept.arrays
                self._model.parameters.restore(tuple(arrays))
                self._done = kept.step
                step = kept.step - 1
                self._rows.take_over(step, self._spec.data.batch(step).sparse, gradients)

    async def _predict(self, message: Message) -> None:
        """Predict the batches from one step to another: probabilities, and the labels."""
        predicted, labels = [], []
        for step in range(message.facts["first"], message.step):
            batch = self._spec.data.batch(step)
            looked = await self._rows.lookup(step, batch.sparse)
            rows = looked.of_samples(batch.sparse.shape[1])
            predicted.append(self._model.predict(torch.from_numpy(batch.dense), rows).numpy())
            labels.append(batch.labels)
        self._around.control.put(
            Op.PREDICTED, message.step, np.concatenate(predicted), np.concatenate(labels)
        )

    async def _save(self, message: Message) -> None:
        self._checkpoints.save(message, self._checkpoints.parameters.arrays())

    async def _load(self, message: Message) -> None:
        self._rows.forget()
        found = await self._checkpoints.load(message.step)
        self._done = found.step
        epoch = message.facts["epoch"]
        self._around.control.put(Op.LOADED, found.step, bytes=found.size, epoch=epoch)


_HANDLERS: Mapping[Op, Callable[[Trainer, Message], Awaitable[None]]] = {
    Op.CONNECT: Trainer._connect,
    Op.TRAIN: Trainer._train,
    Op.PREDICT: Trainer._predict,
    Op.SAVE: Trainer._save,
    Op.LOAD: Trainer._load,
}
