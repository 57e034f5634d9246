"""Rules of the job that every interpreter follows, each written once.

Numbers are those of docs/semantics.md. All functions take plain numbers, so that they can be
compiled; depths are those of `DEPTH`. How many periods fit into a time is counted by
`cprsim.basics.periods.whole_periods`, which packages below `machine` need too.
"""

import math
from collections.abc import Sequence
from typing import TypeVar

from cprsim.basics import periods
from cprsim.job.costs import Rollback
from cprsim.job.severity import SEVERITIES

_Number = TypeVar("_Number", int, float)  # steps, or useful seconds
#: Share of a time below which any difference is the rounding of a sum.
ROUNDING = periods.ROUNDING
#: How far an answer sets the job back: not at all, only the lost shards, or all of it.
NO_ROLLBACK, LOST, ALL = 0, 1, 2
DEPTH: dict[Rollback, int] = {"none": NO_ROLLBACK, "lost": LOST, "all": ALL}
#: The severity, by its place in `SEVERITIES`, that kills all processes.
CLUSTER = SEVERITIES.index("cluster")
#: Sum of portions from which a round is complete; the rest is rounding.
_WHOLE = 1 - 1e-9
#: Least share of its samples that a shard keeps, since it has seen finitely many. With it, a shard
#: that loses all at the last instant of a job costs as much AUC as measured (.158 per PLS).
LEAST_KEPT = 1e-4
#: A job is given up after this many times its useful time, with this many failures and saves.
_HOPELESS = 100.0
_OFTEN = 1000
#: A job is given up, too, that has failed so often and at this pace would fail ten million times
#: before its end: ten times as often as any job may, since failures may become rarer.
_TOO_OFTEN = 10_000
_TOO_MANY = 10_000_000


def nearly_done_s(useful_time_s: float) -> float:
    """Return the progress from which only rounding is left, and no save is due (rule 4)."""
    return useful_time_s * (1 - ROUNDING)


def is_over(final_save: bool, saved: float, total: float) -> bool:
    """Return whether a fully trained job is over; `saved`: progress of its checkpoint (rule 4)."""
    return not final_save or saved >= total


def own_saves(due: float, further: float) -> float:
    """Return the saves due to a tier that no blocking save to a `further` tier serves (rule 5)."""
    return max(due - further, 0.0)


def held_save_is_lost(depth: int) -> bool:
    """Return whether a failure makes a save worthless that training waits for (rule 9).

    A rollback of the whole job does (8). A lost shard that is loaded equals its last checkpoint:
    the rest of the save continues.
    """
    return depth == ALL


def background_save_is_lost(depth: int, lost_servers: int) -> bool:
    """Return whether a failure makes a save worthless that training does not wait for (rule 9).

    It lacks the parts of lost servers, as training has gone on since it began.
    """
    return depth == ALL or (depth == LOST and lost_servers > 0)


def trains_on(keep_training: bool, depth: int) -> bool:
    """Return whether the other nodes train on while the lost nodes are replaced (rule 13)."""
    return keep_training and depth < ALL


def lost_samples(samples: _Number, last: _Number) -> _Number:
    """Return the samples of a failed server since its last checkpoint: (E4), above (rule 23)."""
    return samples - last


def all_samples(total: float, servers: int) -> float:
    """Return all samples of all servers: the denominator of CPR's (E4) (rule 23)."""
    return total * servers


def learning_lost(share: float) -> float:
    """Return the learning that a shard lacks that lost `share` of its updates (rule 24).

    To first order that share. Accuracy grows as the logarithm of the samples that a row has seen.
    """
    return -math.log1p(-min(share, 1.0 - LEAST_KEPT))


def next_round(portions: float, portion: float) -> tuple[bool, float]:
    """Return whether a save completes a round, and the portions of the next one (rule 25).

    `portions`: saved since the last round. A save of everything is a round by itself. The excess
    over a round counts for the next, or rounds would be longer than the interval.
    """
    if portion == 1.0:
        return True, 0.0
    portions += portion
    return (True, max(portions - 1.0, 0.0)) if portions >= _WHOLE else (False, portions)


def updates_unsaved_s(unsaved_s: Sequence[float], saves: float) -> float:
    """Return the updates of a shard that saves have left out, in useful seconds (rule 25).

    The shard was whole `saves` saves ago. `unsaved_s`: the updates after 1, 2, ... saves; the last
    holds for all later ones. A part of a save counts as that part.
    """
    done = int(saves)
    if done >= len(unsaved_s):
        return unsaved_s[len(unsaved_s) - 1]  # compiled, a place is never counted from the end
    before = unsaved_s[done - 1] if done else 0.0
    return before + (saves - done) * (unsaved_s[done] - before)


def bytes_read(reads: float, made_anew: bool, of_checkpoint: float) -> float:
    """Return the bytes that a load reads, as a share of those of whole shards (rule 26).

    `reads`: shards read for each lost one. `of_checkpoint`: bytes of the loaded checkpoint, as a
    share of a whole one; shards `made_anew` from copies or parities load none.
    """
    return reads if made_anew else reads * of_checkpoint


def hopeless_s(useful_time_s: float) -> float:
    """Return the wall clock after which a job may be given up, s (rule 29)."""
    return _HOPELESS * useful_time_s


def makes_no_progress(now_s: float, useful_time_s: float, events: int) -> bool:
    """Return whether a job is given up that has failed and saved so often by now (rule 29)."""
    return now_s > _HOPELESS * useful_time_s and events >= _OFTEN


def fails_too_often(progress_s: float, useful_time_s: float, failures: int) -> bool:
    """Return whether a job is given up that failed so often at that progress (rule 29)."""
    return failures >= _TOO_OFTEN and progress_s * _TOO_MANY < useful_time_s * failures


def retries_save(after_void: str | None, blocking: bool, leaves: bool) -> bool:
    """Return whether a failed save is tried again at once (rule 31).

    The policy says so (`after_void`); without that, blocking saves are. A save that `leaves` rows
    to other saves always is.
    """
    return leaves or (blocking if after_void is None else after_void == "retry")


#: Marks of a checkpoint, as bits: it has a silent fault; its content was verified; it is torn; it
#: needs the one before it, which is torn.
CORRUPT, VERIFIED, TORN, AFTER_TORN = 1, 2, 4, 8


def launch_s(schedule_s: float, cold_s: float, warm_s: float, first: bool, warm: bool) -> float:
    """Return the duration of a start, s; an allocation's first waits for nodes, too (rule 36)."""
    start_s = warm_s if warm else cold_s
    return schedule_s + start_s if first else start_s


def restarts_all(answer_does: bool, severity: int) -> bool:
    """Return whether all processes restart: the answer says so, or all were killed (rule 36)."""
    return answer_does or severity == CLUSTER


def keeps_cache(on_node: bool, severity: int) -> bool:
    """Return whether the compile cache outlives a failure of that severity (rule 36)."""
    return not on_node or severity == 0


def ends_in_time(now_s: float, takes_s: float, deadline_s: float) -> bool:
    """Return whether an answer that takes so long is done by the deadline of a notice (rule 38)."""
    return now_s + takes_s <= deadline_s


def can_drain(nodes: int, ready: int, severity: int) -> bool:
    """Return whether nodes that are to fail can move to the machines that are ready (rule 38).

    A failure of the cluster (`severity`: by place in `SEVERITIES`) takes these machines as well.
    """
    return nodes <= ready and severity != CLUSTER


def regroups(depth: int, trains_on: bool) -> bool:
    """Return whether processes that are up form their group again (rule 42)."""
    return depth != ALL and not trains_on
