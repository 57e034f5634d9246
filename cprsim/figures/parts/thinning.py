"""Fewer points of a curve, fewer blocks of a bar, where more can't be seen."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]


class BarBlock(NamedTuple):
    """A stretch of a bar, and how much of it each kind of what is in it takes."""

    start: float
    end: float
    amounts: dict[str, float]


def evenly(count: int, most: int) -> Indices:
    """Up to `most` of the places 0 to `count` - 1, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))


def by_log_odds(left: NDArray[np.float64], most: int) -> Indices:
    """Up to `most` places among falling chances `left`, evenly in log odds: many at both ends."""
    odds = np.log((1 - left) / left)
    wanted = np.linspace(odds[0], odds[-1], most)
    return np.unique(np.minimum(np.searchsorted(odds, wanted), len(left) - 1))


def merged(blocks: Iterable[BarBlock], least: float) -> list[BarBlock]:
    """Blocks in order, those of them made one that are shorter than `least` and follow each other.

    What is merged is no longer than `least` together, but for its last block; nothing that is as
    long by itself is, and no gap as long is bridged. So amounts stay where they are, to `least`.
    """
    found: list[BarBlock] = []
    growing = False  # whether the last block found may take in more
    for start, end, amounts in blocks:
        last = found[-1] if found else None
        short = end - start < least
        if last is not None and growing and short and start - last.end < least:
            last = BarBlock(last.start, end, _sum(last.amounts, amounts))
            found[-1] = last
            growing = last.end - last.start < least
        else:
            found.append(BarBlock(start, end, dict(amounts)))
            growing = short
    return found


def _sum(amounts: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    return {kind: amounts.get(kind, 0.0) + more.get(kind, 0.0) for kind in {**amounts, **more}}
