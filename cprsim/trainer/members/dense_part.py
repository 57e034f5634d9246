"""The dense part of a trainer: its own, or one that it shares with others.

Where there are several trainers the dense part is on a server, and they train it as they train
rows: for each batch a trainer fetches the weights, and sends the gradients, which the server adds
by Adagrad as they come. That is Downpour SGD with fetches and pushes at every step (Dean et al.,
"Large Scale Distributed Deep Networks", NIPS 2012, section 4.1). So a trainer that dies takes
nothing with it. Nothing bounds how many steps of others are done while a gradient is worked out,
but for the warm start: as Dean et al. advise for Adagrad, the first steps are done one by one.
"""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from cprsim.trainer.members.connections import Connections
from cprsim.trainer.members.dlrm import Dlrm
from cprsim.trainer.members.waiting import Steps
from cprsim.trainer.members.wire import Op


class DensePart(Protocol):
    """What a trainer trains its dense part by."""

    def ask(self, step: int) -> None:
        """Ask for the weights, if they are elsewhere."""

    def fetch(self) -> Steps[None]:
        """Wait for the weights that were asked for; raises `ServersLostError`."""

    def step(self, step: int, dense: Tensor, rows: Tensor, labels: Tensor) -> Tensor:
        """Train on a batch; returns the gradient by `rows`. See `Dlrm.step`."""


class OwnDense:
    """The dense part of the only trainer."""

    def __init__(self, model: Dlrm) -> None:
        self._model = model

    def ask(self, step: int) -> None:
        """Nothing: they are here."""

    def fetch(self) -> Steps[None]:
        """Nothing: they are here."""
        yield from ()

    def step(self, step: int, dense: Tensor, rows: Tensor, labels: Tensor) -> Tensor:  # noqa: ARG002
        """Train on a batch."""
        return self._model.step(dense, rows, labels)


class SharedDense:
    """The dense part on a server of its own, the `server`th that there is a connection to."""

    def __init__(self, model: Dlrm, connections: Connections, server: int) -> None:
        self._model, self._connections, self._server = model, connections, server

    def ask(self, step: int) -> None:
        """Ask the server for the weights."""
        self._connections.send(self._server, Op.LOOKUP, step)

    def fetch(self) -> Steps[None]:
        """Wait for its answer."""
        found = yield from self._connections.answers([self._server])
        weights = np.frombuffer(found[self._server].parts[0], np.float32)
        self._model.parameters.weights = torch.from_numpy(weights)

    def step(self, step: int, dense: Tensor, rows: Tensor, labels: Tensor) -> Tensor:
        """Work out gradients, and send those of the dense part to the server."""
        of_weights, of_rows = self._model.gradients(dense, rows, labels)
        self._connections.send(self._server, Op.UPDATE, step, of_weights.numpy())
        return of_rows
