"""What one member of the cluster has learned, and its checkpoints."""

from collections.abc import Callable
from typing import Generic, TypeVar

from cprsim.trainer.learned import Learned
from cprsim.trainer.store import Store

_Kind = TypeVar("_Kind", bound=Learned)


class Keeper(Generic[_Kind]):
    """Returns what was learned to its checkpoints.

    Parameters
    ----------
    new
        Makes the state at the start of the job, the same each time. It counts as a checkpoint of
        step 0.
    store
        Where the checkpoints are.
    """

    def __init__(self, new: Callable[[], _Kind], store: Store) -> None:
        self.learned = new()
        self.store = store
        self._new = new
        if store.empty:
            store.write(0, self.learned.arrays())

    def load(self, at_most: int) -> tuple[int, int]:
        """Return to the last sound checkpoint up to a step; gives its step, and the bytes read."""
        found = self.store.restore(at_most)
        if found is None:
            arrays = self._new().arrays()
            self.store.write(0, arrays)
            self.learned.restore(arrays)
            return 0, 0
        self.learned.restore(found.arrays)
        return found.step, found.size
