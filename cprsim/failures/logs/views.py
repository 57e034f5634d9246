"""Ways to look at a failure log: each makes durations of it, to which a law can be fitted."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.errors import LogError, UsageError
from cprsim.failures.logs.attendance import Attendance
from cprsim.failures.logs.coincidence import sizes
from cprsim.failures.logs.intervals import Intervals
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import never_seen
from cprsim.failures.logs.outages import ends_before, merged
from cprsim.survival.fitted_laws import log_interval
from cprsim.survival.frailty import Histories
from cprsim.survival.sample import Floats, Sample

#: What becomes of the durations of 0 s between failures at the same instant.
Ties = Literal["drop", "keep"]

#: Why durations are left out.
ZERO = "durations of 0 s"
FEWEST_PER_JOB = 20  # failures in the log; the gap that the end cuts off is one of as many
_POOLED = 100_000  # gaps of all partitions together, about
_MOST_PARTITIONS = 200
_SEED = 0
#: Failures of a node from which on few nodes never fail.
_OFTEN = 3.0


class NodeTime(NamedTuple):
    """Up time of nodes per failure, seconds, counted in two ways that err on opposite sides.

    `after_first_s`: from each node's first repair on, which leaves out nodes that never failed.
    `of_all_s`: of all `nodes` from the start of the log, which counts those that came later as if
    they had been there. Where the log lacks their number, `is_counted` is False, and
    `unseen` of them are estimated to have never failed, from those that failed once and twice
    (A. Chao, Scand. J. Statist. 11, 1984). `low_s`, `high_s`: the ends of both 95 % intervals
    together, those of ratio estimators (W. G. Cochran, Sampling Techniques, 1977, section 6.3) over
    lives and over nodes; of lives alone where there is but one node. `high_s` is infinite where
    nodes aren't counted and failed less than three times each: any number may have been missed.
    """

    after_first_s: float
    of_all_s: float
    nodes: int
    unseen: int
    is_counted: bool
    low_s: float
    high_s: float

    def document(self) -> dict[str, Any]:
        """Return one JSON object; `high_s` is None where it is infinite."""
        return self._asdict() | {"high_s": self.high_s if math.isfinite(self.high_s) else None}


@dataclass(frozen=True, eq=False)
class View:
    """Durations that a log shows."""

    #: The durations, with their right-censoring.
    sample: Sample
    #: How many were 0 s long, dropped or kept.
    ties: int
    #: The same in the order in which they came, seconds, an array for each job; none where their
    #: order means nothing.
    sequences: tuple[Floats, ...]
    #: What a law of these durations is of: the failures of a job, or the life of a node.
    per: Literal["job", "node"]
    #: How many nodes the job runs on; None for nodes' lives, and where it isn't known.
    nodes: int | None = None
    #: Why others were left out, and how many for each reason.
    left_out: Mapping[str, int] = field(default_factory=dict)
    #: Up time of nodes per failure, for nodes' lives.
    node_time: NodeTime | None = None


def gaps(log: FailureLog, ties: Ties = "drop") -> View:
    """Times between one failure of the system, of any node, and the next.

    The time from the start of the observation to the first failure is no gap, nor is that from
    the last failure to its end. Raises `LogError` if no two failures lie apart.
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
        If the system doesn't have so many nodes at once.
    LogError
        If a job sees too few failures: gaps cut off at the end of the log would be missed.
    """
    attendance, at_once = Attendance(log), sizes(log)
    system = attendance.most
    if not 1 <= nodes <= system:
        raise UsageError(f"nodes is {nodes}; the system has {system}, so take 1 to {system}")
    jobs, per_job = system // nodes, attendance.failures_of(nodes)
    if per_job < FEWEST_PER_JOB:
        raise LogError(
            f"a job on {nodes} of {system} nodes fails {per_job:.1f} times in this log, too few "
            f"for its gaps ({FEWEST_PER_JOB} are needed); take more nodes, or the view uptime"
        )
    deals = min(max(_POOLED // max(len(log) * nodes * jobs // system, 1), 1), _MOST_PARTITIONS)
    clocks_s = [attendance.clock_s(nodes * (job + 1))[0] for job in range(jobs)]
    sequences, zeros = list[Floats](), 0
    for job_of in deal(attendance, nodes, deals):
        for job, times_s in enumerate(clocks_s):
            between, count = _positive(np.diff(times_s[job_of == job]), ties)
            sequences.append(between)
            zeros += count
    pooled = np.sort(np.concatenate(sequences))
    # One deal's gaps, but no more than there are between the failures of the system: where nodes of
    # several jobs fail together, the gaps of these jobs are the same.
    honest = max(min(round(len(pooled) / deals), at_once.total() - 1), 1)
    count = round(zeros / deals)
    sample = Sample.complete(_runs(pooled, honest))
    return View(sample, count, tuple(sequences), "job", nodes, _dropped(count, ties))


def _runs(ordered: Floats, count: int) -> Floats:
    """Means of `count` equal runs of ordered values; one at an edge counts for both, in part."""
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    edges = np.interp(np.linspace(0, len(ordered), count + 1), np.arange(len(sums)), sums)
    return np.asarray(np.diff(edges) * (count / len(ordered)))


def deal(attendance: Attendance, nodes: int, deals: int) -> Iterator[NDArray[np.int64]]:
    """Yield the job that each failure hits; jobs of `nodes` nodes are dealt out at random.

    An array of shape (n,) for each of `deals` deals. Jobs are numbered from 0, as many as
    those there make at each instant; nodes that are left over belong to job -1.
    """
    rng, whole = np.random.default_rng(_SEED), attendance.whole_jobs(nodes)
    for _ in range(deals):
        order = np.argsort(rng.permutation(attendance.there.shape[1]))
        job = attendance.places(order) // nodes  # of a node that is not there, -1
        yield np.where(job < whole, job, -1)


def uptimes(log: FailureLog, own: NDArray[np.bool_] | None = None) -> View:
    """Times from a repair of a node to its next failure, right-censored at the end of the watch.

    Outages of a node that overlap or touch are one. Where the log has no repairs at all, a node is
    taken to be up again at once. What came before a node's first failure is left out, since nobody
    saw when the node came up; so are nodes that never failed.

    `own`: whether each failure ends a life by itself, shape (n,); an uptime that another ends
    counts as cut short there. All do if not given.
    """
    own = np.ones(len(log), np.bool_) if own is None else own
    repaired_s = log.times_s if log.repaired_s is None else log.repaired_s
    lives = _lives(log, repaired_s, own)
    lived = lives.lasted_s > 0
    if not lived.any():
        raise LogError(
            "the log shows no uptime: no node fails again, or is watched, after a repair"
        )
    sample = Sample(lives.lasted_s[lived].to_numpy(), lives.observed[lived].to_numpy())
    order, _, before_s = ends_before(log.machines, log.times_s, repaired_s)
    ties = int(np.count_nonzero(log.times_s[order] == before_s))
    left_out = _dropped(ties, "drop")
    unknown = int((lives.lasted_s.isna() & lives.again).sum())
    if unknown:
        left_out["uptimes after a failure without a repair time"] = unknown
    held = _node_time(log, own, sample) if sample.failures else None
    return View(sample, ties, (), "node", None, left_out, held)


def _lives(log: FailureLog, repaired_s: Floats, own: NDArray[np.bool_]) -> pd.DataFrame:
    """Return the lives after outages, by node, then time; parameters as of `uptimes`.

    `row`, `node`: the failure that began the outage before each, and its machine. `lasted_s`: nan
    where that outage has no known end. `again`, `observed`: whether a failure follows, and ends it.
    """
    rows, up_s = merged(log.machines, log.times_s, repaired_s)
    node, then = log.machines[rows], np.roll(rows, -1)
    again = np.diff(node, append=-1) == 0
    lasted_s = np.where(again, log.times_s[then], log.left(node)) - up_s
    found = {"row": rows, "node": node, "lasted_s": lasted_s, "again": again}
    return pd.DataFrame(found | {"observed": again & own[then]})


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


def histories(log: FailureLog, own: NDArray[np.bool_], nodes: int) -> Histories:
    """Up times of all nodes, those that never failed among them, which come last.

    Outages of a node that touch or overlap are one. One with no known end takes no time; none
    lasts longer than the watch of its node. `own`: as of `uptimes`. `nodes`: their
    number, those that never failed included.
    """
    repaired_s = log.times_s if log.repaired_s is None else log.repaired_s
    ends_s = np.minimum(repaired_s, log.left(log.machines))
    stops_s = np.where(np.isnan(repaired_s), log.times_s, ends_s)
    lives = _lives(log, stops_s, own)
    first = lives.row[~lives.node.duplicated()].to_numpy()
    failing = log.machines[first]
    never = np.setdiff1d(np.arange(nodes), failing)[: nodes - len(failing)]
    numbers, some = np.append(failing, never), slice(len(failing))
    first_s, failed = log.left(numbers) - log.came(numbers), np.zeros(nodes, np.bool_)
    first_s[some] = np.maximum(log.times_s[first] - log.came(failing), 0.0)
    failed[some] = own[first]
    lived = lives[lives.lasted_s > 0]
    node = np.searchsorted(failing, lived.node)
    lasted_s, observed = lived.lasted_s.to_numpy(), lived.observed.to_numpy()
    return Histories(first_s, failed, lasted_s, observed, node)


def _node_time(log: FailureLog, own: NDArray[np.bool_], lives: Sample) -> NodeTime:
    """That of a log; `own`: failures that end a life by themselves, shape (n,)."""
    failing = len(np.unique(log.machines))
    each = histories(log, own, max(log.population or 0, failing))
    up_s, failures = each.watched_s, each.ended
    unseen = never_seen(failures) if log.population is None else 0
    up_s = np.append(up_s, np.full(unseen, log.until_s - log.start_s))
    failures = np.append(failures, np.zeros(unseen, np.int64))
    ends = [_interval(lives.durations_s, lives.observed)]
    if len(up_s) > 1:
        ends.append(_interval(up_s, failures))
    if log.population is None and failures.sum() < _OFTEN * len(up_s):
        ends.append((math.inf, math.inf))
    lows, highs = zip(*ends, strict=True)
    of_all_s = float(up_s.sum() / failures.sum())
    return NodeTime(
        lives.mtbf_s, of_all_s, len(up_s), unseen, log.population is not None, min(lows), max(highs)
    )


def _interval(times_s: Floats, failures: NDArray[np.generic]) -> tuple[float, float]:
    """95 % interval of the sum of times over that of failures, from its error on a log scale.

    Of a single pair there is no telling.
    """
    if len(times_s) == 1:
        return 0.0, math.inf
    ratio = times_s.sum() / failures.sum()
    apart = times_s - ratio * failures
    se = math.sqrt(len(apart)) * float(apart.std(ddof=1)) / float(failures.sum())
    return log_interval(float(ratio), se)
