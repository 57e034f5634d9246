"""Saves so frequent that what counts is how long each stops the training."""

import math

from cprsim.closed_form.checks import check_duration, check_positive

#: Of a number of steps: 80 times 0.5 s are 40 s, however they are computed.
_ROUNDING = 1e-9


def wasted_share(interval_s: float, stall_s: float, mtbf_s: float) -> float:
    """Share of training time that stalls and unsaved work take, as Meta tunes its interval by it.

    Parameters
    ----------
    interval_s : float
        Training between two saves, s, > 0.
    stall_s : float
        Time that a save holds training up, s, >= 0.
    mtbf_s : float
        Mean time between failures of the job, s, > 0.

    Returns
    -------
    float
        `stall / interval + interval / (2 MTBF)`, first order; least at Young's interval.

    Notes
    -----
    "Optimizing effective training time", PyTorch blog (2026): unsaved work is failures x interval
    / 2, blocking is training time / interval x stall. Its figure 7: 15 s and 3 failures a day.
    """
    check_positive(interval_s=interval_s, mtbf_s=mtbf_s)
    check_duration(stall_s=stall_s)
    return stall_s / interval_s + interval_s / (2 * mtbf_s)


def relative_throughput(step_s: float, block_s: float) -> float:
    """Throughput of a job that saves at every step, over that of one that never does.

    Parameters
    ----------
    step_s : float
        One training step, or the work between two saves, s, > 0.
    block_s : float
        Time that the save stops the training, s, >= 0.

    Returns
    -------
    float
        `t / (t + block)`, 0 to 1. Exact.
    """
    check_positive(step_s=step_s)
    check_duration(step_s=step_s, block_s=block_s)
    return step_s / (step_s + block_s)


def step_from_throughput_s(block_s: float, throughput: float) -> float:
    """The step that makes saves of `block_s` leave so much throughput.

    Parameters
    ----------
    block_s : float
        As in `relative_throughput`, s, > 0.
    throughput : float
        Relative throughput, > 0 and < 1.

    Returns
    -------
    float
        Step, s: `block x / (1 - x)`, the inverse of `relative_throughput`.
    """
    check_positive(block_s=block_s)
    check_duration(block_s=block_s)
    if not 0 < throughput < 1:
        raise ValueError(f"throughput must be > 0 and < 1, got {throughput}")
    return block_s * throughput / (1 - throughput)


def wasted_per_failure_s(save_s: float, interval_s: float, load_s: float) -> float:
    """Mean time that one failure wastes where saves go on in the background.

    Parameters
    ----------
    save_s : float
        Time from the start of a save until it can be loaded, s, >= 0.
    interval_s : float
        Time between the starts of two saves, s, >= `save_s`, as only one is under way.
    load_s : float
        Time to load a checkpoint, s, >= 0.

    Returns
    -------
    float
        Wasted time, s.

    Notes
    -----
    `t_ckpt + 1/(2 f) + t_rtvl` with `1/f` the interval: Gemini (SOSP'23). Exact on average for a
    failure at a uniform instant between two saves, without the time to detect and replace.
    Gemini's own interval is at least a training step besides.
    """
    check_duration(save_s=save_s, interval_s=interval_s, load_s=load_s)
    if interval_s < save_s:
        raise ValueError(f"interval_s must be >= save_s={save_s}, got {interval_s}")
    return save_s + interval_s / 2 + load_s


def checkfreq_steps(
    save_s: float, step_s: float, cpu_snapshot_s: float, gpu_snapshot_s: float = math.inf
) -> int:
    """CheckFreq's first choice of the steps between two saves, from a profile.

    Parameters
    ----------
    save_s : float
        A whole save, snapshot and persist, s, >= 0.
    step_s : float
        One training step, s, > 0.
    cpu_snapshot_s : float
        Snapshot into host memory, s, >= 0.
    gpu_snapshot_s : float
        Snapshot into GPU memory, s, >= 0; infinite where it doesn't fit.

    Returns
    -------
    int
        Steps, k, >= 1.

    Notes
    -----
    `k = max(ceil((t_full - overhead) / t_iter), 1)`, `overhead` the shorter snapshot: what
    CheckFreq (FAST'21) does in its published code, the interval in which one save just gets
    done. While the job runs it adds 2 steps as long as it measures more than 5 % of overhead:
    `checkfreq_settled`.
    """
    check_duration(save_s=save_s, step_s=step_s, cpu_snapshot_s=cpu_snapshot_s)
    check_positive(step_s=step_s)
    if not gpu_snapshot_s >= 0:
        raise ValueError(f"gpu_snapshot_s must be >= 0, got {gpu_snapshot_s}")
    overhead_s = min(cpu_snapshot_s, gpu_snapshot_s)
    return max(math.ceil((save_s - overhead_s) / step_s), 1)


def checkfreq_settled(
    first: int, step_s: float, stall_s: float, max_overhead: float = 0.05, more: int = 2
) -> int:
    """Steps between two saves that CheckFreq's adaptation ends at.

    Parameters
    ----------
    first : int
        Steps to start from, >= 1; as `checkfreq_steps` finds them.
    step_s : float
        One training step, s, > 0.
    stall_s : float
        What one save adds to the time of the training since the one before, s, >= 0.
    max_overhead : float
        Share of time that saving may add, > 0.
    more : int
        Steps that are added at a time, >= 1.

    Returns
    -------
    int
        The least `first + j more` with `stall / (k step) <= max_overhead`, j >= 0. Exact where
        each save adds the same.
    """
    check_positive(first=first, step_s=step_s, max_overhead=max_overhead, more=more)
    check_duration(step_s=step_s, stall_s=stall_s)
    needed = stall_s / (max_overhead * step_s) * (1 - _ROUNDING)
    return first + more * max(math.ceil((needed - first) / more), 0)
