"""A `state_dict`, dictionaries of tensors and numbers, made into arrays and back."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.errors import UsageError
from cprsim.trainer.hooks.sharded import Chunk, StoredTensor, is_sharded, local_chunks
from cprsim.trainer.store.files import Arrays


def as_bytes(tensor: Tensor) -> NDArray[np.uint8]:
    """The bytes of a tensor of any type, on any device, one after the other; a copy."""
    plain = tensor.detach().to("cpu", copy=True).contiguous().reshape(-1)
    return plain.view(torch.uint8).numpy()


def joined(parts: Sequence[tuple[Tensor, ...]]) -> Arrays:
    """Each kind of tensor, rows of all parts one after the other, as bytes."""
    return tuple(_joined(kind) for kind in zip(*parts, strict=True))


def _joined(tensors: Sequence[Tensor]) -> NDArray[np.uint8]:
    """Rows of several tensors, shape (rows, bytes of a row)."""
    joined = torch.cat([each.detach().cpu() for each in tensors])  # which copies, but for none
    content = joined.contiguous().reshape(-1).view(torch.uint8).numpy()
    return content.reshape(len(joined), joined.element_size() * math.prod(joined.shape[1:]))


def from_bytes(content: NDArray[np.uint8], kind: torch.dtype, shape: Sequence[int]) -> Tensor:
    """The tensor of that type and shape which these are the bytes of."""
    if not content.size:
        return torch.empty(tuple(shape), dtype=kind)
    return torch.from_numpy(content).reshape(-1).view(kind).reshape(tuple(shape))


def packed(state: Any) -> Arrays:
    """The state as arrays: a text that says what is where, then the bytes of every tensor of it.

    Raises `UsageError` for what is neither a tensor nor a number, a string, None, bytes, an array
    or scalar of NumPy, or a list, tuple, dictionary or `Counter` of these. Dictionaries of other
    kinds come back as plain ones.
    """
    contents: list[NDArray[np.uint8]] = []
    text = json.dumps(_said(state, "dense()", contents)).encode()
    return (np.frombuffer(text, np.uint8), *contents)


def unpacked(arrays: Arrays) -> Any:
    """The state that `packed` made these arrays of; tensors in CPU memory.

    Of a tensor that processes hold in parts it is a `StoredTensor`, with the parts of one process.
    """
    text, *contents = arrays
    return _meant(json.loads(text.tobytes()), contents)


def _said(value: Any, where: str, contents: list[NDArray[np.uint8]]) -> Any:
    if isinstance(value, Mapping):
        pairs = [
            [_said(key, where, contents), _said(each, f"{where}.{key}", contents)]
            for key, each in value.items()
        ]
        # `MultiStepLR` counts its milestones in one, and continues with what it gets back.
        return {"counter" if isinstance(value, Counter) else "mapping": pairs}
    if isinstance(value, list | tuple):
        parts = [_said(each, f"{where}.{at}", contents) for at, each in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": parts}
    if is_sharded(value):
        return _said_of_parts(value, contents)
    # NumPy's float64 is a float as well, and would come back as one.
    if isinstance(value, Tensor | bytes | np.generic | np.ndarray):
        return _said_of_bytes(value, where, contents)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise _refused(f"a {type(value).__name__}", where)


def _said_of_parts(value: Tensor, contents: list[NDArray[np.uint8]]) -> dict[str, Any]:
    """The same of the parts of a tensor that this process holds."""
    parts = []
    for offset, content in local_chunks(value):
        parts.append([list(offset), list(content.shape), len(contents)])
        contents.append(as_bytes(content))
    kind = str(value.dtype).removeprefix("torch.")
    return {"parts": parts, "dtype": kind, "shape": list(value.shape)}


def _said_of_bytes(value: Any, where: str, contents: list[NDArray[np.uint8]]) -> dict[str, Any]:
    """Put the bytes of a tensor, of bytes, or of an array behind those there; say what they are."""
    at = len(contents)
    if isinstance(value, Tensor):
        contents.append(as_bytes(value))
        kind = str(value.dtype).removeprefix("torch.")
        return {"tensor": at, "dtype": kind, "shape": list(value.shape)}
    if isinstance(value, bytes):
        contents.append(np.frombuffer(value, np.uint8))
        return {"bytes": at}
    if value.dtype.hasobject or value.dtype.names:
        raise _refused(f"an array of {value.dtype}", where)
    contents.append(np.frombuffer(value.tobytes(), np.uint8))
    name = "array" if isinstance(value, np.ndarray) else "scalar"
    return {name: at, "dtype": value.dtype.str, "shape": list(value.shape)}


def _refused(what: str, where: str) -> UsageError:
    return UsageError(
        f"{where} is {what}, which is not stored; give tensors, arrays, numbers, strings, bytes, "
        "or lists, tuples and dictionaries of these"
    )


def _meant(said: Any, contents: Sequence[NDArray[np.uint8]]) -> Any:
    if not isinstance(said, dict):
        return said
    if "bytes" in said:
        return contents[said["bytes"]].tobytes()
    if "shape" in said:
        return _meant_of_shape(said, contents)
    for name, mapping in (("mapping", dict), ("counter", Counter)):
        if name in said:
            return mapping({_meant(k, contents): _meant(each, contents) for k, each in said[name]})
    kind = tuple if "tuple" in said else list
    return kind(_meant(each, contents) for each in next(iter(said.values())))


def _meant_of_shape(said: Mapping[str, Any], contents: Sequence[NDArray[np.uint8]]) -> Any:
    """A tensor, the stored parts of one, an array, or a scalar of NumPy."""
    shape = said["shape"]
    if "tensor" in said:
        return from_bytes(contents[said["tensor"]], getattr(torch, said["dtype"]), shape)
    if "parts" in said:
        kind = getattr(torch, said["dtype"])
        chunks = [
            Chunk(tuple(offset), from_bytes(contents[at], kind, size))
            for offset, size, at in said["parts"]
        ]
        return StoredTensor(kind, tuple(shape), chunks)
    of_bytes = contents[said["array" if "array" in said else "scalar"]].tobytes()
    array = np.frombuffer(of_bytes, said["dtype"]).reshape(shape).copy()
    return array if "array" in said else array[()]
