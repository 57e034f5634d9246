"""The parameters of one member of the cluster, and their checkpoints."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cprsim.trainer.members.member_loop import errors_reported
from cprsim.trainer.members.parameters import Arrays, Parameters
from cprsim.trainer.members.store import CheckpointStore
from cprsim.trainer.members.wire import Link, Message, Op

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
    """

    def __init__(self, new: Callable[[], _Kind], store: CheckpointStore) -> None:
        self.parameters = new()
        self.store = store
        self._new = new
        # One thread: checkpoints are written in the order in which they were taken.
        self._writer = ThreadPoolExecutor(1, "writer")
        self._writing: set[Future[None]] = set()
        if store.empty:
            store.write(0, self.parameters.arrays())

    def save(
        self,
        link: Link,
        asked: Message,
        arrays: Arrays,
        ids: NDArray[np.int64] | None = None,
        **facts: Any,
    ) -> None:
        """Tell TAKEN at once; write the copies in a thread, then tell SAVED."""
        # The copies are the caller's own: from here on training may change the rows. What is stored
        # is only known when SAVED comes; until then the save isn't usable.
        link.send(Op.TAKEN, asked.step)
        self._writing = {each for each in self._writing if not each.done()}
        self._writing.add(self._writer.submit(self._write, link, asked, arrays, ids, facts))

    def _write(
        self,
        link: Link,
        asked: Message,
        arrays: Arrays,
        ids: NDArray[np.int64] | None,
        facts: dict[str, Any],
    ) -> None:
        started_s = time.perf_counter()
        with errors_reported(link):
            size = self.store.write(asked.facts["at"], arrays, ids, asked.facts["returns_to"])
            facts |= {
                "bytes": size,
                "whole": ids is None,
                "write_s": time.perf_counter() - started_s,
            }
            rows = np.empty(0, np.int64) if ids is None else ids
            link.tell(Op.SAVED, asked.step, facts, rows)

    def load(self, at_most: int) -> tuple[int, int]:
        """Return to the last sound checkpoint up to a step; gives its step, and the bytes read."""
        wait(self._writing)  # what is void is found and dropped
        found = self.store.restore(at_most)
        if found is None:
            # Nothing sound is left: the initial state is worked out anew, the same as at the start,
            # and is the checkpoint of step 0 again.
            arrays = self._new().arrays()
            self.store.write(0, arrays)
            self.parameters.restore(arrays)
            return 0, 0
        self.parameters.restore(found.arrays)
        return found.step, found.size
