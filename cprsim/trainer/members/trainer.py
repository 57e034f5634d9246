"""A trainer: one process that trains batch by batch."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from cprsim.trainer.data.contract import Data
from cprsim.trainer.members.checkpoint_writer import CheckpointWriter
from cprsim.trainer.members.connections import Connections, ServerLostError
from cprsim.trainer.members.dense_part import DensePart, OwnDense, SharedDense
from cprsim.trainer.members.dlrm import Dlrm
from cprsim.trainer.members.member_loop import run_member
from cprsim.trainer.members.parameters import Parameters
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.remote import RemoteRows
from cprsim.trainer.members.store import CheckpointStore
from cprsim.trainer.members.wire import Link, Message, Op


@dataclass(frozen=True)
class TrainerSpec:
    """What a trainer is told when it starts; it is the same each time it is started.

    `deadline_s`: for each answer of a server. `folder`: of the dense part's checkpoints.
    `trainers`: how many there are; several share their dense part on a server.
    """

    data: Data
    placement: Placement
    dim: int
    hidden: int
    seed: int
    learning_rate: float
    deadline_s: float
    folder: Path
    trainers: int = 1

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


def run_trainer(spec: TrainerSpec, control: socket.socket) -> None:
    """Be a trainer: obey the controller."""
    run_member(lambda: Trainer(spec).handle, control)


class Trainer:
    """The state of a trainer: the dense part, and its connections to the servers."""

    def __init__(self, spec: TrainerSpec) -> None:
        self._spec = spec
        self._model = spec.model()
        self._connections = Connections(spec.deadline_s)
        self._rows = RemoteRows(spec.placement, spec.dim, self._connections)
        self._checkpoints: CheckpointWriter[Parameters] | None = (
            None  # None: the dense part's server has it
        )
        self._dense: DensePart
        if spec.trainers == 1:
            self._checkpoints = CheckpointWriter(
                lambda: spec.model().parameters, CheckpointStore(spec.folder)
            )
            self._model.parameters = self._checkpoints.parameters
            self._dense = OwnDense(self._model)
        else:
            self._dense = SharedDense(self._model, self._connections, spec.placement.servers)

    def handle(self, link: Link, message: Message) -> None:
        """Do what the controller asks for; say so if a server doesn't answer."""
        try:
            _HANDLERS[message.op](self, link, message)
        except ServerLostError as lost:
            self._connections.settle(lost.server)
            link.send(Op.LOST, lost.server)

    def _connect(self, link: Link, message: Message) -> None:
        facts = message.facts
        self._connections.connect(facts["routes"], facts["epoch"])
        if facts["again"]:
            self._rows.push_again()
        else:
            self._rows.forget()
        link.send(Op.CONNECT, message.step)

    def _leave(self, link: Link, message: Message) -> None:
        self._connections.close()
        link.send(Op.LEAVE, message.step)

    def _train(self, link: Link, message: Message) -> None:
        """Train every so many-th step up to one or until told to halt.

        All updates are in the rows afterwards.
        """
        for step in range(message.facts["first"], message.step, message.facts["every"]):
            if link.waiting:  # nothing but HALT is said to one who trains
                break
            self._step(step)
            link.send(Op.STEPPED, step + 1)
        # A save may follow, and members that catch up: both rely on all updates being in the rows
        # by then.
        self._connections.sync()
        link.send(Op.TRAINED, message.step)

    def _step(self, step: int) -> None:
        dense, sparse, labels = self._spec.data.batch(step)
        self._dense.ask(step)
        looked = self._rows.lookup(step, sparse)
        self._dense.fetch()
        gradient = self._dense.step(
            step,
            torch.from_numpy(dense),
            looked.of_samples(sparse.shape[1]),
            torch.from_numpy(labels),
        )
        self._rows.update(step, looked, gradient)

    def _predict(self, link: Link, message: Message) -> None:
        """Predict the batches from one step to another: probabilities, and the labels."""
        predicted, labels = [], []
        for step in range(message.facts["first"], message.step):
            batch = self._spec.data.batch(step)
            self._dense.ask(step)
            rows = self._rows.lookup(step, batch.sparse).of_samples(batch.sparse.shape[1])
            self._dense.fetch()
            predicted.append(self._model.predict(torch.from_numpy(batch.dense), rows).numpy())
            labels.append(batch.labels)
        link.send(Op.PREDICTED, message.step, np.concatenate(predicted), np.concatenate(labels))

    def _save(self, link: Link, message: Message) -> None:
        if self._checkpoints is not None:
            self._checkpoints.save(link, message, self._checkpoints.parameters.arrays())
            return
        link.send(Op.TAKEN, message.step)
        link.tell(Op.SAVED, message.step, {"bytes": 0, "whole": True})

    def _load(self, link: Link, message: Message) -> None:
        self._rows.forget()
        step, size = message.step, 0
        if self._checkpoints is not None:
            step, size = self._checkpoints.load(message.step)
        link.tell(Op.LOADED, step, {"bytes": size, "epoch": message.facts["epoch"]})

    def _digest(self, link: Link, message: Message) -> None:
        link.tell(Op.DIGEST, message.step, {"sha256": self._model.parameters.digest()})


_HANDLERS: Mapping[Op, Callable[[Trainer, Link, Message], None]] = {
    Op.CONNECT: Trainer._connect,
    Op.LEAVE: Trainer._leave,
    Op.TRAIN: Trainer._train,
    Op.PREDICT: Trainer._predict,
    Op.SAVE: Trainer._save,
    Op.LOAD: Trainer._load,
    Op.DIGEST: Trainer._digest,
    Op.HALT: lambda *_: None,  # it had ended TRAIN before
}
