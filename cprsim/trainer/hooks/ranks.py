"""The processes of a job, and what they have to agree on."""

import gc
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
import torch
import torch.distributed as dist

from cprsim.errors import RunError, UsageError
from cprsim.trainer.hooks.nested import packed, unpacked
from cprsim.trainer.store.files import Arrays

#: No rank has such a number.
_NONE = 2**31
#: Functions of these modules have the group of the instant at which they are imported as a default,
#: and so hold on to it, and to its links, for ever. torch imports them late (DDP the first one).
_HOLDING = (
    "torch.distributed.nn.functional",
    "torch.distributed.optim.zero_redundancy_optimizer",
    "torch.distributed.fsdp.sharded_grad_scaler",
)


class Ranks(Protocol):
    """The processes of a job, as hooks use them. All call the same in the same order."""

    def least(self, number: int, /) -> int:
        """The least of the numbers that all give."""

    def total(self, number: float, /) -> float:
        """The sum of the numbers that all give."""

    def copied(self, content: Arrays | None, /) -> Arrays | None:
        """Return the content of the first that has it, bytes; None if none has."""


def everyone(ranks: Ranks, mine: Mapping[str, Any]) -> list[Any]:
    """Return a document of each process, in an order that all share. All call it."""
    token, heard, found = uuid4().hex, False, []
    for _ in range(round(ranks.total(1))):
        said = ranks.copied(None if heard else packed({**mine, "token": token}))
        assert said is not None
        found.append(unpacked(said))
        heard = heard or found[-1]["token"] == token
    return found


@contextmanager
def agreed(ranks: Ranks, fault: str, way_out: str) -> Iterator[None]:
    """Raise `RunError` in all processes if files can't be used in this block of one of them."""
    error: OSError | None = None
    try:
        yield
    except OSError as failed:
        error = failed
    if not ranks.least(int(error is None)):
        raise RunError(f"{fault} ({error or 'in another process'}); {way_out}")


@contextmanager
def all_can(ranks: Ranks) -> Iterator[None]:
    """Raise in all processes if one fails in this block: its own error, or that another failed."""
    failed: Exception | None = None
    try:
        yield
    except Exception as error:  # of a user's load_state_dict, too
        failed = error
    if not ranks.least(int(failed is None)):
        raise failed or RunError(
            "another process can't load its part of a checkpoint; see its error"
        )


class OneProcess:
    """A job that is one process."""

    def least(self, number: int) -> int:
        """The number."""
        return number

    def total(self, number: float) -> float:
        """The number."""
        return number

    def copied(self, content: Arrays | None) -> Arrays | None:
        """The content."""
        return content


class ProcessGroup:
    """The ranks of torch.distributed's process group, by its collectives.

    Parameters
    ----------
    device
        Where tensors have to be that its backend sends: `"cpu"` for gloo.

    Raises
    ------
    UsageError
        Where no process group is initialised.
    """

    def __init__(self, device: str = "cpu") -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise UsageError(
                "ProcessGroup(): torch.distributed has no process group; call "
                "init_process_group() before, or give no `ranks` to a job of one process"
            )
        self._device = device

    def least(self, number: int) -> int:
        """By an all-reduce."""
        found = torch.tensor(number, dtype=torch.int64, device=self._device)
        dist.all_reduce(found, op=dist.ReduceOp.MIN)
        return int(found)

    def total(self, number: float) -> float:
        """By an all-reduce, in float64."""
        found = torch.tensor(number, dtype=torch.float64, device=self._device)
        dist.all_reduce(found, op=dist.ReduceOp.SUM)
        return float(found)

    def copied(self, content: Arrays | None) -> Arrays | None:
        """By broadcasts from the lowest rank that has it."""
        source = self.least(_NONE if content is None else dist.get_rank())
        if source == _NONE:
            return None
        mine = content if source == dist.get_rank() else None
        sizes = [None if mine is None else [each.size for each in mine]]
        dist.broadcast_object_list(sizes, source, device=torch.device(self._device))
        found = []
        for number, size in enumerate(sizes[0] or ()):
            bytes_of = torch.zeros(size, dtype=torch.uint8, device=self._device)
            if mine is not None:
                bytes_of.copy_(torch.from_numpy(mine[number].copy()))
            if size:
                dist.broadcast(bytes_of, source)
            found.append(np.asarray(bytes_of.cpu().numpy()))
        return tuple(found)


class RebuiltGroup(ProcessGroup):
    """A process group that is made again whenever a rank is lost, with another in its place.

    Attributes
    ----------
    new
        Ranks that have joined with the current generation, and hold nothing of the job yet.

    Parameters
    ----------
    folder
        Of a file system that all ranks see; they find each other there.
    rank, size
        Which of how many this is.
    generation
        How often a group was made before: 0 at the start of a job; a replacement of a lost
        rank gets it from its launcher. A job that is started again as a whole takes a new folder.
    backend, device
        As in `torch.distributed.init_process_group`; where tensors have to be that it sends.
    timeout_s
        How long ranks wait for each other.
    """

    def __init__(
        self,
        folder: str | Path,
        rank: int,
        size: int,
        generation: int = 0,
        backend: str = "gloo",
        device: str = "cpu",
        timeout_s: float = 300.0,
    ) -> None:
        for module in _HOLDING:  # before there is a group
            import_module(module)
        self._folder = Path(folder).resolve()
        self._rank, self._size, self._generation = rank, size, generation
        self._backend, self._timeout_s = backend, timeout_s
        self.new: frozenset[int] = frozenset()
        self._join()
        super().__init__(device)
        self._meet(new=True)

    def rebuild(self) -> frozenset[int]:
        """Leave the group of which a rank is lost, and join the next; gives the ranks that are new.

        To be called by every survivor, when a collective fails.
        """
        error = sys.exception()
        if error is not None:
            # Its frames hold on to the group, whose links have to close: ranks that wait for others
            # than the lost one learn of it by that alone.
            traceback.clear_frames(error.__traceback__)
        gc.collect()  # so do models that were let go of, and lie in cycles (DDP)
        dist.destroy_process_group()
        self._generation += 1
        self._join()
        return self._meet(new=False)

    def _join(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        dist.init_process_group(
            self._backend,
            init_method=f"file://{self._folder / f'group-{self._generation}'}",
            rank=self._rank,
            world_size=self._size,
            timeout=timedelta(seconds=self._timeout_s),
        )

    def _meet(self, new: bool) -> frozenset[int]:
        told = torch.zeros(self._size, dtype=torch.int64, device=self._device)
        told[self._rank] = int(new)
        dist.all_reduce(told)
        self.new = frozenset(told.nonzero().flatten().tolist())
        return self.new
