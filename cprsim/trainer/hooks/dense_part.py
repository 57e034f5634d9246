"""The dense part of a trainer: all that an adapter's `dense()` gives, as one state."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.nn import Module
from torch.optim import Optimizer

from cprsim.errors import UsageError
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.layout import Live
from cprsim.trainer.hooks.nested import packed, unpacked
from cprsim.trainer.hooks.ranks import Ranks
from cprsim.trainer.hooks.sharded import filled, is_sharded


class DensePart:
    """The dense part that an adapter leads to."""

    def __init__(self, adapter: ShardAdapter[Any]) -> None:
        self._adapter = adapter

    def states(self) -> dict[str, Mapping[str, Any]]:
        """Return the state of each thing in it, by name."""
        return {name: each.state_dict() for name, each in self._adapter.dense().items()}

    def take(self, state: Mapping[str, Any]) -> None:
        """Load the state of each; raises `UsageError` if a checkpoint has other names."""
        live = self._adapter.dense()
        if live.keys() != state.keys():
            raise UsageError(
                f"dense(): gives {sorted(live)}, but the checkpoint has {sorted(state)}; give the "
                "same, or another folder"
            )
        for name, each in live.items():
            stored = state[name]
            now: Any = each if isinstance(each, Optimizer) else None
            # The state of others is read only if needed: it may be costly, or draw random numbers.
            if isinstance(each, Module) or (now is None and is_sharded(stored)):
                now = each.state_dict()
            each.load_state_dict(filled(stored, now, f"dense().{name}"))

    def copy(self, ranks: Ranks, lost: bool) -> int:
        """Take the dense part from a process that has it, if it is lost here; return its bytes.

        Each process keeps the tensors that it holds a part of.
        """
        mine = (
            {} if lost else {n: each for n, each in self.states().items() if not is_sharded(each)}
        )
        content = ranks.copied(None if lost else packed(mine))
        if not lost or content is None:
            return 0
        live = self._adapter.dense()
        for name, state in unpacked(content).items():
            live[name].load_state_dict(state)
        return sum(each.nbytes for each in content)

    def foreign_state(self, live: Live) -> set[tuple[str, int]]:
        """Find optimizers here that keep state of rows which the adapter doesn't give.

        `live`: the tensors of the rows. Returns the name of each, and a table.
        """
        tables = {_memory(tensors[0]): part.table for part, tensors in live.items()}
        given = {_memory(each) for tensors in live.values() for each in tensors}
        return {
            (name, tables[_memory(parameter)])
            for name, each in self._adapter.dense().items()
            if isinstance(each, Optimizer)
            for parameter, state in each.state.items()
            if _memory(parameter) in tables
            and any(
                isinstance(value, Tensor)
                and value.shape[:1] == parameter.shape[:1]
                and _memory(value) not in given
                for value in state.values()
            )
        }


def _memory(tensor: Tensor) -> int | None:
    """Return the address of a tensor's elements, which views share; None if it is in parts."""
    return None if is_sharded(tensor) else tensor.untyped_storage().data_ptr()
