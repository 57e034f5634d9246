"""The adapter to a training loop of yours: the one thing that you write."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

_Batch_contra = TypeVar("_Batch_contra", contravariant=True)


class TablePart(NamedTuple):
    """Consecutive rows of an embedding table, and what the optimiser keeps of each of them.

    `table`: its number among the model's tables, from 0. `weights`: the rows in use, shape (rows,
    dim). `state`: tensors whose first dimension is the rows too, such as Adagrad's sums. `first`:
    the number in the table of the first of these rows.

    Tensors are those in use, of any type, on any device: they are read when something is saved, and
    written when it is loaded.
    """

    table: int
    weights: Tensor
    state: tuple[Tensor, ...] = ()
    first: int = 0


class Stateful(Protocol):
    """A module, an optimiser, a schedule of learning rates: what has a state to save and load.

    The state is tensors, numbers and strings, in dictionaries, lists and tuples.
    """

    def state_dict(self) -> Mapping[str, Any]:
        """Its state now."""

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Take a state over."""


class ShardAdapter(Protocol[_Batch_contra]):
    """Leads `TrainerHooks` to what a training loop holds; it can be a class of a few lines.

    A shard is lost as a whole, a parameter server of the scenario, and is named by its
    number there. A process gives those that it holds: all of them where there is one process.
    """

    def shards(self) -> Mapping[int, Sequence[TablePart]]:
        """The parts of tables that each shard of this process has.

        It is called at the start, and whenever something is saved or loaded; each time the shapes
        are the same. Optimiser state that is first made by the first step has to be made before.
        """

    def dense(self) -> Mapping[str, Stateful]:
        """All else that a checkpoint needs: MLPs, their optimiser, by names of your choice."""

    def lookups(self, batch: _Batch_contra) -> Mapping[int, Tensor]:
        """The rows that a batch has looked up, by table: row numbers in it, each as often as used.

        Any shape, any integer type, an empty list too; rows of this process alone. Called under
        cpr-mfu, cpr-ssu and cpr-scar for their trackers, and under delta and check-n-run, whose
        saves miss each row that changes and is not named here.
        """


class TwinAdapter(ShardAdapter[_Batch_contra], Protocol):
    """Adapter of a loop whose processes form groups with all tables each (2D sparse parallelism).

    Shards with the same rows are twins; their numbers go on group by group.
    """

    def average(self) -> None:
        """Make the rows of all groups, and their optimiser's state, the average of them.

        Called in all processes after the same step: TorchRec's `DMPCollection.sync`.
        """


class MovementAdapter(ShardAdapter[_Batch_contra], Protocol):
    """Adapter of a loop whose optimizer keeps how far each row has moved, such as Adagrad's sums.

    `cpr-scar` then takes the rows with the largest growth since their last save, and needs neither
    a copy of the rows nor rows in CPU memory.
    """

    def movement(self) -> Mapping[int, Sequence[Tensor]]:
        """Return, for each part of `shards()`, a number of each row that grows as the row moves."""


def split_rows(part: TablePart, shards: int) -> list[TablePart]:
    """A table in so many parts, whose sizes differ by one row at most; they share its memory."""
    weights = torch.tensor_split(part.weights.detach(), shards)
    states = [torch.tensor_split(each, shards) for each in part.state]
    first, parts = part.first, []
    for number, rows in enumerate(weights):
        state = tuple(each[number] for each in states)
        parts.append(TablePart(part.table, rows, state, first))
        first += len(rows)
    return parts
