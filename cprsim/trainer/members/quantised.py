"""Rows stored in fewer bits: uniform and asymmetric, each row over its own range.

Check-N-Run (NSDI 2022) quantises so at 8 bits; at 4 and fewer it narrows each row's range where
that lessens the row's error, which isn't done here.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.trainer.members.manifests import SpoiltError

#: The array that others of a file follow as `QuantisedRows`: of what width, in how many bits.
_FORM = np.dtype([("bits", "u1"), ("width", "<u4")])
#: Most bits of an element that is stored as a code.
_MOST_BITS = 31
#: Rows that are worked on at a time, so that memory for it stays small.
_ROWS = 1 << 16


class QuantisedRows(NamedTuple):
    """Rows as they are stored.

    `form`: bits of an element and elements of a row, shape (1,). `ranges`: of each row its least
    value and its step, float32, shape (rows, 2). `codes`: of each row the bits of its elements one
    after the other, most significant first, uint8, shape (rows, bytes).
    """

    form: NDArray[Any]
    ranges: NDArray[np.float32]
    codes: NDArray[np.uint8]


def quantised(rows: NDArray[np.float32], bits: int) -> QuantisedRows:
    """Rows, shape (rows, width), in so many bits an element; at most half a step is lost of each.

    A step is the row's range over `2^bits - 1`. Of a row with values that are no numbers, some are
    none afterwards either.
    """
    blocks = [_coded(rows[each], bits) for each in _blocks(len(rows))]
    ranges, codes = (np.concatenate(each) for each in zip(*blocks, strict=True))
    return QuantisedRows(np.array([(bits, rows.shape[1])], _FORM), ranges, codes)


def restored(stored: QuantisedRows) -> NDArray[np.float32]:
    """The rows, shape (rows, width)."""
    bits, width = (int(each) for each in stored.form[0])
    blocks = _blocks(len(stored.codes))
    return np.concatenate(
        [_decoded(stored.ranges[each], stored.codes[each], bits, width) for each in blocks]
    )


def _blocks(rows: int) -> list[slice]:
    """What is worked on at a time: there is a byte for each bit meanwhile. One at least."""
    return [slice(first, first + _ROWS) for first in range(0, max(rows, 1), _ROWS)]


def _coded(rows: NDArray[np.float32], bits: int) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    levels = (1 << bits) - 1
    low = rows.min(axis=1, initial=np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        exact = (rows.max(axis=1, initial=-np.inf).astype(float) - low) / levels
        # Rounded up, so that the largest value is no farther than the highest level.
        step = exact.astype(np.float32)
        step = np.where(step < exact, np.nextafter(step, np.float32(np.inf)), step)
        parts = (rows.astype(float) - low[:, None]) / np.where(step > 0, step, 1)[:, None]
        codes = np.clip(np.rint(parts), 0, levels).astype(np.uint32)
    count, width = rows.shape
    told = np.empty((count, width, bits), np.uint8)
    for bit in range(bits):
        told[:, :, bit] = codes >> (bits - 1 - bit) & 1
    packed = np.packbits(told.reshape(count, width * bits), axis=1)
    return np.stack([low, step], axis=1), packed


def _decoded(
    ranges: NDArray[np.float32], packed: NDArray[np.uint8], bits: int, width: int
) -> NDArray[np.float32]:
    told = np.unpackbits(packed, axis=1, count=bits * width).reshape(len(packed), width, bits)
    codes = np.zeros((len(packed), width), np.uint32)
    for bit in range(bits):
        codes <<= 1
        codes |= told[:, :, bit]
    low, step = (each[:, None].astype(float) for each in ranges.T)
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float32] = (low + step * codes).astype(np.float32)
    return found


def plain(arrays: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The arrays of a file, with those in the place of quantised ones that these stand for.

    Raises `SpoiltError` where what should be quantised rows is none.
    """
    found, left = [], iter(arrays)
    for each in left:
        if each.dtype != _FORM:
            found.append(each)
            continue
        ranges, codes = next(left, None), next(left, None)
        if ranges is None or codes is None or not _fit(each, ranges, codes):
            raise SpoiltError("a file has no quantised rows where it should")
        found.append(restored(QuantisedRows(each, ranges, codes)))
    return found


def _fit(form: NDArray[Any], ranges: NDArray[Any], codes: NDArray[Any]) -> bool:
    if form.shape != (1,) or ranges.dtype != np.float32 or codes.dtype != np.uint8:
        return False
    bits, width = (int(each) for each in form[0])
    room = -(-bits * width // 8)
    return (
        0 < bits <= _MOST_BITS
        and ranges.ndim == codes.ndim == 2
        and ranges.shape == (len(ranges), 2)
        and codes.shape == (len(ranges), room)
    )
