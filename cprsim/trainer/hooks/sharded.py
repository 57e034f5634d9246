"""Tensors of which each process holds a part (DTensor, ShardedTensor): stored by parts, and filled.

A checkpoint has the parts of one process, each with its place in the whole. So any number of
processes can be filled from the parts of all, and what no part covers is known.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim import Optimizer

from cprsim.errors import UsageError

#: Tensors that are held in parts, and the modules that define them.
_SHARDED = (
    ("torch.distributed.tensor", "DTensor"),
    ("torch.distributed._shard.sharded_tensor", "ShardedTensor"),  # TorchRec's
)


class Chunk(NamedTuple):
    """A part of a tensor, and the index in the whole of its first element."""

    offset: tuple[int, ...]
    content: Tensor


class StoredTensor(NamedTuple):
    """The stored parts of one tensor; `shape` is that of the whole."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    chunks: list[Chunk]


def is_sharded(state: Any) -> bool:
    """Return whether a state has a tensor that is held in parts, or stored so, at any depth."""
    if isinstance(state, StoredTensor):
        return True
    if isinstance(state, Mapping):
        return any(map(is_sharded, state.values()))
    if isinstance(state, list | tuple):
        return any(map(is_sharded, state))
    # A module that was never imported has made no tensors.
    known = [
        getattr(sys.modules[module], name) for module, name in _SHARDED if module in sys.modules
    ]
    return isinstance(state, tuple(known))


def local_chunks(tensor: Tensor) -> list[Chunk]:
    """The parts of a tensor that this process holds, without a copy; of a plain one, all of it."""
    if not is_sharded(tensor):
        found = [Chunk((0,) * tensor.dim(), tensor)]
    elif hasattr(tensor, "local_shards"):
        shards = tensor.local_shards()
        found = [Chunk(tuple(each.metadata.shard_offsets), each.tensor) for each in shards]
    else:
        # DTensor's own list for torch.distributed.checkpoint: one part of this process.
        parts: Any = tensor
        local = parts.to_local()
        found = [Chunk(tuple(each.offsets), local) for each in parts.__create_chunk_list__()]
    return [each._replace(content=each.content.detach()) for each in found if each.content.numel()]


def filled(stored: Any, live: Any, where: str) -> Any:
    """Fill live tensors that are held in parts from their stored parts.

    `stored`: a state as it was stored. `live`: the state that it replaces: a `state_dict()`, or an
    optimizer. `where`: the name of the state, for messages.

    Returns
    -------
    The stored state, with the live tensors in place of `StoredTensor`.

    Raises
    ------
    UsageError
        Where the live state has no such tensor, one of another shape, or elements that no stored
        part covers.
    """
    if isinstance(live, Optimizer):
        live = _with_state(live, stored)
    if isinstance(stored, Tensor) and is_sharded(live):
        stored = StoredTensor(stored.dtype, tuple(stored.shape), local_chunks(stored))
    if isinstance(stored, StoredTensor):
        _fill(stored, live, where)
        return live
    if isinstance(stored, Mapping):
        at = live if isinstance(live, Mapping) else {}
        found = {key: filled(each, at.get(key), f"{where}.{key}") for key, each in stored.items()}
        return Counter(found) if isinstance(stored, Counter) else found
    if isinstance(stored, list | tuple):
        listed = live if isinstance(live, list | tuple) and len(live) == len(stored) else ()
        given = listed or [None] * len(stored)
        numbered = enumerate(zip(stored, given, strict=True))
        return type(stored)(filled(each, its, f"{where}.{n}") for n, (each, its) in numbered)
    return stored


def merged(states: Sequence[Any]) -> Any:
    """The first of several states that were stored alike, with the parts of all of them."""
    first, *_ = states
    if isinstance(first, StoredTensor):
        alike = [each for each in states if isinstance(each, StoredTensor)]
        return first._replace(chunks=[chunk for each in alike for chunk in each.chunks])
    if isinstance(first, Mapping):
        mappings = [each for each in states if isinstance(each, Mapping)]
        found = {key: merged([each[key] for each in mappings if key in each]) for key in first}
        return Counter(found) if isinstance(first, Counter) else found
    if isinstance(first, list | tuple):
        listed = [each for each in states if isinstance(each, list | tuple)]
        listed = [each for each in listed if len(each) == len(first)]
        return type(first)(merged(each) for each in zip(*listed, strict=True))
    return first


def _with_state(optimizer: Optimizer, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an optimizer, with room for stored parts that its first step would make.

    `torch.distributed.checkpoint.state_dict` makes that room by a step, which changes training.
    """
    live = optimizer.state_dict()
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    state = dict(live["state"])
    for number, of in stored.get("state", {}).items():
        # TorchRec's optimizers have names for numbers, and their state from the beginning.
        if not isinstance(number, int) or number >= len(parameters):
            continue
        like = parameters[number]
        if is_sharded([like, of]):
            made = {name: _room_for(each, like) for name, each in of.items()}
            kept = {name: each for name, each in made.items() if each is not None}
            state[number] = kept | state.get(number, {})
    return live | {"state": state}


def _room_for(stored: Any, like: Tensor) -> Tensor | None:
    """A tensor for stored state of a parameter: held in parts where it has the shape of that."""
    if not isinstance(stored, Tensor | StoredTensor):
        return None
    if tuple(stored.shape) == tuple(like.shape):
        return torch.zeros_like(like, dtype=stored.dtype)
    whole = isinstance(stored, StoredTensor)
    return torch.zeros(stored.shape, dtype=stored.dtype) if whole else None


def _fill(stored: StoredTensor, live: Any, where: str) -> None:
    if not isinstance(live, Tensor) or tuple(live.shape) != stored.shape:
        has = f"shape {tuple(live.shape)}" if isinstance(live, Tensor) else "no tensor"
        raise UsageError(
            f"{where}: {has} here, shape {stored.shape} in the checkpoint; give the same model, "
            "and in dense() its optimizer itself, or make the optimizer's state before restore()"
        )
    for offset, part in local_chunks(live):
        covered = torch.zeros(part.shape, dtype=torch.bool)
        for other, content in stored.chunks:
            here, there = _overlap(offset, part.shape, other, content.shape)
            part[here] = content[there].to(part.device, part.dtype)
            covered[here] = True
        if not covered.all():
            raise UsageError(
                f"{where}: {int((~covered).sum()):,} of its {part.numel():,} elements in this "
                "process are in none of the checkpoints that were read; give a new folder and the "
                "folders of all processes that the job had as `earlier`"
            )


def _overlap(
    first: Sequence[int], size: Sequence[int], other: Sequence[int], of: Sequence[int]
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return the overlap of two boxes, as an index into each; empty where they share nothing."""
    here, there = [], []
    for one, length, two, width in zip(first, size, other, of, strict=True):
        start, end = max(one, two), min(one + length, two + width)
        end = max(start, end)
        here.append(slice(start - one, end - one))
        there.append(slice(start - two, end - two))
    return tuple(here), tuple(there)
