"""What `state_dict` gives, dictionaries of tensors and numbers, made into arrays and back."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.errors import UsageError
from cprsim.trainer.members.parameters import Arrays


def as_bytes(tensor: Tensor) -> NDArray[np.uint8]:
    """The bytes of a tensor of any type, on any device, one after the other; a copy."""
    plain = tensor.detach().to("cpu", copy=True).contiguous().reshape(-1)
    return plain.view(torch.uint8).numpy()


def rows_as_bytes(tensor: Tensor) -> NDArray[np.uint8]:
    """The same, shape (rows, bytes of a row)."""
    width = tensor.element_size() * math.prod(tensor.shape[1:])
    return as_bytes(tensor).reshape(len(tensor), width)


def from_bytes(content: NDArray[np.uint8], kind: torch.dtype, shape: Sequence[int]) -> Tensor:
    """The tensor of that type and shape which these are the bytes of."""
    if not content.size:
        return torch.empty(tuple(shape), dtype=kind)
    return torch.from_numpy(content).reshape(-1).view(kind).reshape(tuple(shape))


def packed(state: Mapping[str, Any]) -> Arrays:
    """The state as arrays: a text that says what is where, then every tensor of it.

    Raises `UsageError` for what is neither a tensor nor a number, a string, None, or a list, tuple
    or dictionary of these.
    """
    tensors: list[Tensor] = []
    text = json.dumps(_said(state, "dense()", tensors)).encode()
    return (np.frombuffer(text, np.uint8), *(as_bytes(each) for each in tensors))


def unpacked(arrays: Arrays) -> Any:
    """The state that `packed` made these arrays of; tensors in CPU memory."""
    text, *contents = arrays
    return _meant(json.loads(text.tobytes()), contents)


def _said(value: Any, where: str, tensors: list[Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors.append(value)
        kind = str(value.dtype).removeprefix("torch.")
        return {"tensor": len(tensors) - 1, "dtype": kind, "shape": list(value.shape)}
    if isinstance(value, Mapping):
        pairs = [
            [_said(key, where, tensors), _said(each, f"{where}.{key}", tensors)]
            for key, each in value.items()
        ]
        return {"mapping": pairs}
    if isinstance(value, list | tuple):
        parts = [_said(each, f"{where}.{at}", tensors) for at, each in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": parts}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UsageError(
        f"{where} is a {type(value).__name__}, which is not stored; give tensors, "
        "numbers, strings, or lists, tuples and dictionaries of these"
    )


def _meant(said: Any, contents: Sequence[NDArray[np.uint8]]) -> Any:
    if not isinstance(said, dict):
        return said
    if "tensor" in said:
        return from_bytes(contents[said["tensor"]], getattr(torch, said["dtype"]), said["shape"])
    if "mapping" in said:
        return {_meant(key, contents): _meant(each, contents) for key, each in said["mapping"]}
    kind = tuple if "tuple" in said else list
    return kind(_meant(each, contents) for each in next(iter(said.values())))
