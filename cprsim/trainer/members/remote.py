"""The rows of all servers, as a trainer sees them."""

from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.trainer.members.connections import Connections
from cprsim.trainer.members.placement import Placement, Uses
from cprsim.trainer.members.wire import Op


class LookedUpRows(NamedTuple):
    """The rows that a batch uses, shape (rows, dim), and where it uses them."""

    rows: Tensor
    uses: Uses

    def of_samples(self, tables: int) -> Tensor:
        """Rows by sample and table, shape (B, tables, dim)."""
        return self.uses.spread(self.rows).view(-1, tables, self.rows.shape[1])


#: What was pushed: the step, the rows that it uses, and their gradients.
_Push: TypeAlias = tuple[int, Uses, NDArray[np.float32]]


class RemoteRows:
    """Looks up and updates rows wherever they are.

    Rows of a shard that there is no connection for are zeros, and their updates are dropped.
    """

    def __init__(self, placement: Placement, dim: int, connections: Connections) -> None:
        self._placement, self._dim, self._connections = placement, dim, connections
        self._pushed: _Push | None = None

    def forget(self) -> None:
        """What was pushed last is not to be pushed again."""
        self._pushed = None

    async def push_again(self) -> None:
        """Push once more what was pushed last; who has it already passes over it.

        All that hold these rows have it afterwards, as after every step up to which was trained:
        saves and servers that catch up rely on it. Raises `ServersLostError`.
        """
        if self._pushed is not None:
            await self.push()
            await self._connections.sync()

    async def lookup(self, step: int, sparse: NDArray[np.int64]) -> LookedUpRows:
        """The rows of a batch; `sparse` has shape (B, tables). Raises `ServersLostError`."""
        uses = self.uses(sparse)
        self.ask(step, uses)
        return await self.fetch(uses)

    def uses(self, sparse: NDArray[np.int64]) -> Uses:
        """Which rows a batch uses, and where they are."""
        return Uses(self._placement, sparse)

    def ask(self, step: int, uses: Uses) -> None:
        """Ask for the rows that a batch uses: those that all updates sent before are in."""
        for shard in self._connections.shards:
            self._connections.send(shard, Op.LOOKUP, step, uses.ids[uses.parts[shard]])

    async def fetch(self, uses: Uses) -> LookedUpRows:
        """Wait for the rows that were asked for; raises `ServersLostError`."""
        rows = torch.zeros((len(uses.ids), self._dim))
        found = await self._connections.answers(self._connections.shards)
        for shard, message in found.items():
            rows[uses.parts[shard]] = torch.from_numpy(message.arrays[0])
        return LookedUpRows(rows, uses)

    @property
    def gradients(self) -> NDArray[np.float32] | None:
        """Of what was pushed last, or is to be next, shape (rows, dim)."""
        return None if self._pushed is None else self._pushed[2]

    def collect(self, step: int, looked: LookedUpRows, of_samples: Tensor) -> None:
        """Collect what is to be pushed from gradients of samples, shape (B, tables, dim)."""
        gradients = looked.uses.collect(of_samples.reshape(-1, self._dim)).numpy()
        # Kept before it is sent: a server may die with half of it, and then it is pushed to all
        # once more.
        self._pushed = step, looked.uses, gradients

    async def push(self) -> None:
        """Push what was collected.

        Who doesn't take it is found out when it is asked next: the step is done all the same.
        """
        if self._pushed is not None:
            await self._push(self._pushed)

    def take_over(
        self, step: int, sparse: NDArray[np.int64], gradients: NDArray[np.float32]
    ) -> None:
        """A trainer that is no more has pushed these, to some servers perhaps."""
        self._pushed = step, self.uses(sparse), gradients

    async def _push(self, pushed: _Push) -> None:
        step, uses, gradients = pushed
        for shard in self._connections.shards:
            part = uses.parts[shard]
            pushes = uses.ids[part], uses.times[part], gradients[part]
            self._connections.send(shard, Op.UPDATE, step, *pushes)
        await self._connections.sent()
