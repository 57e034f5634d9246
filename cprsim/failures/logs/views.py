"""Ways to look at a failure log: each makes durations of it, to which a law can be fitted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import LogError, UsageError
from cprsim.failures.logs.coincidence import failures_of_job, sizes
from cprsim.failures.logs.intervals import Intervals
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_time import NodeTime, node_time
from cprsim.failures.logs.outages import ends_before, merged
from cprsim.survival.sample import Floats, Sample

#: What becomes of the durations of 0 s between failures at the same instant.
Ties = Literal["drop", "keep"]

#: Why durations are left out.
ZERO = "durations of 0 s"
FEWEST_PER_JOB = 20  # failures in the log; the gap that the end cuts off is one of as many
_POOLED = 100_000  # gaps of all partitions together, about
_MOST_PARTITIONS = 200
_SEED = 0


@dataclass(frozen=True, eq=False)
class View:
    """Durations that a log shows.

    Parameters
    ----------
    sample
        The durations, with their right-censoring.
    ties
        How many were 0 s long, dropped or kept.
    sequences
        The same in the order in which they came, seconds, an array for each job; none where their
        order means nothing.
    per
        What a law of these durations is of: the failures of a job, or the life of a node.
    nodes
        How many nodes the job runs on; None for nodes' lives, and where the log doesn't tell.
    left_out
        Why others were left out, and how many for each reason.
    node_time
        Up time of nodes per failure, for nodes' lives.
    """

    sample: Sample
    ties: int
    sequences: tuple[Floats, ...]
    per: Literal["job", "node"]
    nodes: int | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    node_time: NodeTime | None = None


def gaps(log: FailureLog, ties: Ties = "drop") -> View:
    """Times between one failure of the system, of any node, and the next.

    The time from the start of the observation to the first failure is no gap, nor is that from
    the last failure to its end.

    Raises
    ------
    LogError
        If no two failures lie apart.
    """
    between, count = _positive(np.diff(log.times_s), ties)
    left_out = _dropped(count, ties)
    return View(Sample.complete(between), count, (between,), "job", log.population, left_out)


def job_gaps(log: FailureLog, nodes: int, ties: Ties = "drop") -> View:
    """Times between failures of a job on `nodes` random nodes of the system.

    The system is dealt out at random to as many such jobs as it holds, again and again. The deals
    together give smooth estimates, but all are of the same failures: `sample` therefore has as
    many gaps as *one* deal has on average, and no more than the system has, evenly spread over
    those of all deals (the mean of each run of order statistics, so the overall mean stays), and
    errors and verdicts count no failure twice. Simultaneous failures of one job are one failure.

    Raises
    ------
    UsageError
        If the system doesn't have so many nodes.
    LogError
        If a job sees too few failures: gaps cut off at the end of the log would be missed.
    """
    system = nodes_of(log)
    if not 1 <= nodes <= system:
        raise UsageError(f"nodes is {nodes}; the system has {system}, so take 1 to {system}")
    jobs = system // nodes
    at_once = sizes(log)
    per_job = failures_of_job(at_once, nodes, system)
    if per_job < FEWEST_PER_JOB:
        raise LogError(
            f"a job on {nodes} of {system} nodes fails {per_job:.1f} times in this log, too few "
            f"for its gaps ({FEWEST_PER_JOB} are needed); take more nodes, or the view uptime"
        )
    deals = min(max(_POOLED // max(len(log) * nodes * jobs // system, 1), 1), _MOST_PARTITIONS)
    sequences, zeros = list[Floats](), 0
    for job_of in deal(log, nodes, deals):
        for job in range(jobs):
            between, count = _positive(np.diff(log.times_s[job_of == job]), ties)
            sequences.append(between)
            zeros += count
    pooled = np.sort(np.concatenate(sequences))
    # One deal's gaps, but no more than there are between the failures of the system: where nodes of
    # several jobs fail together, the gaps of these jobs are the same.
    honest = max(min(round(len(pooled) / deals), at_once.total() - 1), 1)
    typical = _runs(pooled, honest)
    count = round(zeros / deals)
    left_out = _dropped(count, ties)
    return View(Sample.complete(typical), count, tuple(sequences), "job", nodes, left_out)


def _runs(ordered: Floats, count: int) -> Floats:
    """Means of `count` equal runs of ordered values; one at an edge counts for both, in part."""
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    edges = np.interp(np.linspace(0, len(ordered), count + 1), np.arange(len(sums)), sums)
    return np.asarray(np.diff(edges) * (count / len(ordered)))


def deal(log: FailureLog, nodes: int, deals: int) -> Iterator[NDArray[np.int64]]:
    """Which job each failure hits, the system dealt out at random to jobs of `nodes` nodes.

    Yields an array of shape (n,) for each of `deals` deals. Jobs are numbered from 0; nodes that
    are left over after the last whole job belong to job -1.
    """
    system, rng = nodes_of(log), np.random.default_rng(_SEED)
    _, failing = np.unique(log.machines, return_inverse=True)
    numbers = failing if log.population is None else log.machines
    for _ in range(deals):
        job = rng.permutation(system)[numbers] // nodes
        yield np.where(job < system // nodes, job, -1)


def nodes_of(log: FailureLog) -> int:
    """Nodes of the system; those that failed at least once where the log doesn't tell."""
    return len(np.unique(log.machines)) if log.population is None else log.population


def uptimes(log: FailureLog, own: NDArray[np.bool_] | None = None) -> View:
    """Times from a repair of a node to its next failure, right-censored at the end of the watch.

    Outages of a node that overlap or touch are one. Where the log has no repairs at all, a node is
    taken to be up again at once. What came before a node's first failure is left out, since nobody
    saw when the node came up; so are nodes that never failed.

    Parameters
    ----------
    own
        Whether each failure ends a life by itself, shape (n,); an uptime that another ends counts
        as cut short there. All do if not given.
    """
    repaired_s = log.times_s if log.repaired_s is None else log.repaired_s
    of_each = log.machines, log.times_s, repaired_s
    rows, up_s = merged(*of_each)
    machine, then = log.machines[rows], np.roll(rows, -1)
    fails_again = np.diff(machine, append=-1) == 0
    until_s = np.where(fails_again, log.times_s[then], log.left(machine))
    own = np.ones(len(log), np.bool_) if own is None else own
    lived = until_s > up_s
    if not lived.any():
        raise LogError(
            "the log shows no uptime: no node fails again, or is watched, after a repair"
        )
    sample = Sample((until_s - up_s)[lived], (fails_again & own[then])[lived])
    order, _, before_s = ends_before(*of_each)
    ties = int(np.count_nonzero(log.times_s[order] == before_s))
    left_out = _dropped(ties, "drop")
    unknown = int(np.count_nonzero(np.isnan(up_s) & fails_again))
    if unknown:
        left_out["uptimes after a failure without a repair time"] = unknown
    held = node_time(log, own, sample) if sample.failures else None
    return View(sample, ties, (), "node", None, left_out, held)


def durations(intervals: Intervals, ties: Ties = "drop") -> View:
    """Durations that somebody else has measured."""
    zero = intervals.durations_s == 0
    lasted, count = _positive(intervals.durations_s, ties)
    kept = slice(None) if ties == "keep" else ~zero
    entered_s = np.broadcast_to(intervals.entered_s, zero.shape)[kept]
    per: Literal["job", "node"] = "node" if intervals.of_nodes else "job"
    sample = Sample(lasted, intervals.observed[kept], entered_s)
    return View(sample, count, (), per, None, _dropped(count, ties))


def _dropped(count: int, ties: Ties) -> dict[str, int]:
    return {ZERO: count} if count and ties == "drop" else {}


def _positive(lasted_s: Floats, ties: Ties) -> tuple[Floats, int]:
    """Durations without those of 0 s, or with half the shortest one for each, and their number."""
    zero = lasted_s == 0
    if zero.all():
        raise LogError("no two failures lie apart in time: there is no gap to fit a law to")
    kept = (
        np.where(zero, lasted_s[~zero].min() / 2, lasted_s) if ties == "keep" else lasted_s[~zero]
    )
    return kept, int(zero.sum())
