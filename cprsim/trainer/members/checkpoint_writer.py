"""The parameters of one member of the cluster, and their checkpoints."""

import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cprsim.contract.actions import ALL_BITS
from cprsim.trainer.members.around import Around, Beside
from cprsim.trainer.members.parameters import Arrays, Parameters
from cprsim.trainer.members.quantised import quantised
from cprsim.trainer.members.store import CheckpointStore, ReadCheckpoint
from cprsim.trainer.members.wire import Message, Op

_Kind = TypeVar("_Kind", bound=Parameters)


class CheckpointWriter(Generic[_Kind]):
    """Writes checkpoints of a member's parameters beside training, and loads them.

    Parameters
    ----------
    new
        Makes the state at the start of the job, the same each time. It counts as a checkpoint of
        step 0.
    store
        Where the checkpoints are.
    around
        The member's.
    """

    def __init__(self, new: Callable[[], _Kind], store: CheckpointStore, around: Around) -> None:
        self.parameters = new()
        self.store = store
        self._new, self._around = new, around
        self._writing: list[Beside[None]] = []
        if store.empty:
            store.write(0, self.parameters.arrays())

    def save(
        self,
        asked: Message,
        arrays: Arrays,
        ids: NDArray[np.int64] | None = None,
        **facts: Any,
    ) -> None:
        """Tell TAKEN at once; write the copies beside all else, then tell SAVED."""
        # The copies are the caller's own: from here on training may change the rows. What is stored
        # is only known when SAVED comes; until then the save isn't usable.
        self._around.control.put(Op.TAKEN, asked.step)

        def write() -> None:
            started_s, said = time.perf_counter(), asked.facts
            stored = _in_bits(arrays, said["bits"])
            size = self.store.write(said["at"], stored, ids, said["returns_to"], said["since"])
            spent_s = time.perf_counter() - started_s
            facts.update(bytes=size, whole=ids is None, write_s=spent_s)
            facts.update(of_bytes=self.parameters.size)

        self._writing = [each for each in self._writing if not each.done()]
        self._writing.append(self._around.beside(write))
        self._around.begin(self._told(self._writing[-1], asked.step, ids, facts))

    async def _told(
        self,
        writing: Beside[None],
        number: int,
        ids: NDArray[np.int64] | None,
        facts: dict[str, Any],
    ) -> None:
        await self._around.until(writing.done)
        writing.result()  # an error of the disk is the member's own
        rows = np.empty(0, np.int64) if ids is None else ids
        self._around.control.put(Op.SAVED, number, rows, **facts)

    async def load(self, at_most: int) -> ReadCheckpoint:
        """Return to the last sound checkpoint up to a step; gives what was read."""
        # What is void is found and dropped.
        await self._around.until(lambda: all(each.done() for each in self._writing))
        found = self.store.restore(at_most)
        if found is None:
            # Nothing sound is left: the initial state is worked out anew, the same as at the start,
            # and is the checkpoint of step 0 again.
            arrays = self._new().arrays()
            self.store.write(0, arrays)
            found = ReadCheckpoint(0, arrays, 0)
        self.parameters.restore(found.arrays)
        return found


def _in_bits(arrays: Arrays, bits: int) -> Arrays:
    """Rows in so many bits an element; what else there is of each, as it is."""
    if bits == ALL_BITS:
        return arrays
    rows, *others = arrays
    return (*quantised(rows, bits), *others)
