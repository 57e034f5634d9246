"""The k largest of many scores, however many of them are equal."""

import numpy as np
from numpy.typing import NDArray

from cprsim.rows.trackers.contract import RowIds

#: Scores looked at together, so that temporaries are small compared with the table.
CHUNK = 1 << 18
_HALF = 1 << 16


def largest(scores: NDArray[np.int32], k: int, start: int) -> RowIds:
    """Positions of up to `k` of the largest scores above 0.

    Parameters
    ----------
    scores
        Not negative. A score of 0 is never chosen.
    k
        How many; all that are above 0 come where they are fewer.
    start
        Of the scores that equal the smallest one chosen, those from this position on are chosen
        first, and then those from position 0 on.

    Notes
    -----
    Two histograms, of the upper and of the lower 16 bits, find the smallest score chosen: O(N) for
    any scores, where `np.argpartition` takes 25 times as long if most are equal (NumPy 2.4).
    """
    if k == 0:
        return np.empty(0, dtype=np.int64)
    if np.count_nonzero(scores) <= k:
        return np.flatnonzero(scores)
    least = _kth_largest(scores, k)
    above = np.flatnonzero(scores > least)
    wanted = k - above.size
    behind = np.flatnonzero(scores[start:] == least)[:wanted] + start
    before = np.flatnonzero(scores[:start] == least)[: wanted - behind.size]
    return np.concatenate((above, behind, before))


def rotating_start(turn: int, count: int) -> int:
    """Where to start in `count` positions at a turn, so that none is favoured in the long run.

    Multiples of the golden ratio, modulo 1, times `count`: they fill the range evenly for whatever
    number of turns (Weyl), and `count` needs no factor in common with it.
    """
    golden = 0x9E3779B97F4A7C15  # 2^64 / the golden ratio
    return ((turn * golden) % (1 << 64) * count) >> 64


def _kth_largest(scores: NDArray[np.int32], k: int) -> int:
    upper = np.zeros(_HALF // 2, dtype=np.int64)
    for chunk in _chunks(scores):
        upper += np.bincount(chunk[chunk >= _HALF] >> 16, minlength=upper.size)
    upper[0] = scores.size - upper.sum()
    high, larger = _bin_of(upper, k)
    lower = np.zeros(_HALF, dtype=np.int64)
    for chunk in _chunks(scores):
        lower += np.bincount(chunk[chunk >> 16 == high] & (_HALF - 1), minlength=lower.size)
    low, _ = _bin_of(lower, k - larger)
    return high * _HALF + low


def _chunks(scores: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    return [scores[at : at + CHUNK] for at in range(0, scores.size, CHUNK)]


def _bin_of(histogram: NDArray[np.int64], k: int) -> tuple[int, int]:
    """The bin of the k-th largest, and how many are in higher bins."""
    from_above = np.cumsum(histogram[::-1])
    place = int(np.searchsorted(from_above, k))
    chosen = histogram.size - 1 - place
    return chosen, int(from_above[place] - histogram[chosen])
