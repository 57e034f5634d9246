"""Incremental checkpoints: a baseline, and then the rows modified since.

Eisenman et al., "Check-N-Run" (NSDI'22, arXiv 2010.08679). One-shot: each save takes what was
modified since the baseline. Consecutive: since the save before. Intermittent: one-shot, with a
new baseline whenever that is predicted to pay.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cprsim.closed_form.checks import check_duration, check_positive


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of a baseline and the saves after it.

    Attributes
    ----------
    written_bytes : float
        All that was written, the baseline at the start included.
    kept_bytes : float
        What must be kept to load the last save, and is then on the store.
    read_bytes : float
        What loading it reads: as much, since nothing more is kept.
    baselines : int
        Whole checkpoints among what was written, >= 1.
    """

    written_bytes: float
    kept_bytes: float
    read_bytes: float
    baselines: int


def rebaseline_due(diffs: Sequence[float]) -> bool:
    """Whether Check-N-Run's predictor takes a new baseline in place of the next difference.

    Parameters
    ----------
    diffs : sequence of float
        Sizes S_1 to S_i of the differences saved since the baseline, over the baseline's, >= 0.

    Returns
    -------
    bool
        Never before the first difference.

    Notes
    -----
    `1 + sum_{j<=i} S_j <= (i + 1) S_i`: what the baseline and its differences wrote, against as
    many saves of the size that they have grown to. In this form, the last difference included on
    the left, it was read in a re-implementation by IncrCP's authors (PVLDB 18(4), 2025), with the
    baseline as the first entry of its history. Differences that don't grow never make it due,
    unless they are as large as a baseline.
    """
    for diff in diffs:
        check_duration(diffs=diff)
    return bool(diffs) and rebaseline_pays(len(diffs), sum(diffs), diffs[-1])


def rebaseline_pays(count: int, total: float, last: float) -> bool:
    """`rebaseline_due` by what it depends on alone, for runs of many differences.

    Parameters
    ----------
    count : int
        Differences saved since the baseline, >= 1.
    total, last : float
        Sizes of all of them and of the last, over the baseline's, >= 0.

    Returns
    -------
    bool
        `1 + total <= (count + 1) last`.
    """
    return 1 + total <= (count + 1) * last


def one_shot(
    modified: Sequence[float], intervals: int, state_bytes: float, quantised: float = 1.0
) -> Traffic:
    """Bytes of saves that take what was modified since the first baseline.

    Parameters
    ----------
    modified : sequence of float
        Share of the rows that 1, 2, ... intervals modify, 0 to 1 each and never falling; at least
        `intervals` of them.
    intervals : int
        Intervals since the baseline, each ended by a save, n, >= 0.
    state_bytes : float
        Embedding rows with their optimiser state, >= 0. The dense part, which every save takes
        whole, isn't counted.
    quantised : float
        Bytes written per byte of state, baseline included, > 0 and <= 1.

    Returns
    -------
    Traffic
        Written `q S (1 + sum_{i<=n} f(i))`, kept and read `q S (1 + f(n))`. Exact.
    """
    scale = _scale(modified, intervals, intervals, state_bytes, quantised)
    diffs = modified[:intervals]
    read = scale * (1 + (diffs[-1] if diffs else 0.0))
    return Traffic(scale * (1 + sum(diffs)), read, read, baselines=1)


def consecutive(
    modified: Sequence[float], intervals: int, state_bytes: float, quantised: float = 1.0
) -> Traffic:
    """Bytes of saves that take what was modified since the save before.

    Parameters
    ----------
    modified, intervals, state_bytes, quantised
        As in `one_shot`; of `modified` only the first is used.

    Returns
    -------
    Traffic
        Written, kept and read `q S (1 + n f(1))`: loading needs the whole chain. Exact.
    """
    scale = _scale(modified, intervals, min(intervals, 1), state_bytes, quantised)
    chain = scale * (1 + (intervals * modified[0] if intervals else 0.0))
    return Traffic(chain, chain, chain, baselines=1)


def intermittent(
    modified: Sequence[float], intervals: int, state_bytes: float, quantised: float = 1.0
) -> Traffic:
    """Bytes of one-shot saves with a new baseline whenever `rebaseline_due` says so.

    Parameters
    ----------
    modified, intervals, state_bytes, quantised
        As in `one_shot`; of `modified` there must be as many as the longest run of differences.

    Returns
    -------
    Traffic
        Kept and read are the last baseline and the difference after it, if any. Exact, if the
        rows modified since a baseline don't depend on when it was taken.
    """
    scale = _scale(modified, intervals, min(intervals, 1), state_bytes, quantised)
    written, baselines, diffs = 1.0, 1, list[float]()
    for _ in range(intervals):
        if rebaseline_due(diffs):
            written, baselines, diffs = written + 1, baselines + 1, []
            continue
        if len(diffs) == len(modified):
            raise ValueError(_too_few(modified, len(diffs) + 1))
        diffs.append(modified[len(diffs)])
        written += diffs[-1]
    read = scale * (1 + (diffs[-1] if diffs else 0.0))
    return Traffic(scale * written, read, read, baselines)


def _scale(
    modified: Sequence[float], intervals: int, needed: int, state_bytes: float, quantised: float
) -> float:
    """Bytes of a baseline, every argument checked."""
    if not intervals >= 0:
        raise ValueError(f"intervals must be >= 0, got {intervals}")
    check_duration(state_bytes=state_bytes)
    check_positive(quantised=quantised)
    if quantised > 1:
        raise ValueError(f"quantised must be <= 1, got {quantised}")
    if len(modified) < needed:
        raise ValueError(_too_few(modified, needed))
    before = 0.0
    for share in modified:
        if not before <= share <= 1:
            raise ValueError(f"modified must rise from 0 to 1, got {share} after {before}")
        before = share
    return state_bytes * quantised


def _too_few(modified: Sequence[float], needed: int) -> str:
    return f"modified must tell of {needed} intervals, got {len(modified)}"
