"""Rules of the job that every interpreter follows, each written once.

A name begins with the number of its rule in docs/semantics.md. All take plain numbers, so that
they can be compiled; depths are those of `DEPTH`. Lower rooms, too, count how many periods fit into
a time, so that rule is `cprsim.basics.periods.whole_periods`.
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
NONE, LOST, ALL = 0, 1, 2
DEPTH: dict[Rollback, int] = {"none": NONE, "lost": LOST, "all": ALL}
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


def r3_due_s(due_s: float, progress_s: float, period_s: float) -> float:
    """Return when the next save is due: after a rollback at most one period of training ahead."""
    return progress_s + period_s if due_s - progress_s > period_s else due_s


def r4_nearly_done_s(useful_time_s: float) -> float:
    """Return the progress from which only rounding is left to train, and no save is due."""
    return useful_time_s * (1 - ROUNDING)


def r4_is_over(final_save: bool, saved: float, total: float) -> bool:
    """Return whether a job with all its progress is over; `saved`: progress of its checkpoint."""
    return not final_save or saved >= total


def r5_nearest(tier: int, stored: bool) -> int:
    """Return the nearest tier that a save to `tier` serves, together with those in between.

    A save that is `stored` before training resumes serves all nearer tiers.
    """
    return 0 if stored else tier


def r5_own_saves(due: float, further: float) -> float:
    """Return the saves due to a tier that no blocking save to a `further` tier serves."""
    return max(due - further, 0.0)


def r9_is_void(depth: int, lost_servers: int, trained_on: bool) -> bool:
    """Return whether a failure makes a save worthless that is not stored yet.

    A rollback of the whole job does (8). So do lost shards if training went on during the save
    (`trained_on`), which then lacks them. Otherwise a lost shard equals its last checkpoint, and
    the rest of the save continues.
    """
    return depth == ALL or (depth == LOST and lost_servers > 0 and trained_on)


def r11_can_fail(while_waiting: bool, depth: int, holds_nodes: bool) -> bool:
    """Return whether nodes that are up can fail while the job waits for others."""
    return while_waiting and (depth < ALL or holds_nodes)


def r12_goes_as_deep(depth: int, deepest: int) -> bool:
    """Return whether an answer replaces the `deepest` one before it in the same recovery."""
    return depth >= deepest


def r13_trains_on(keep_training: bool, depth: int) -> bool:
    """Return whether the other nodes train on while the lost nodes are replaced."""
    return keep_training and depth < ALL


def r23_lost(samples: _Number, last: _Number) -> _Number:
    """Return the numerator of CPR's (E4): samples of a failed server since its last checkpoint."""
    return samples - last


def r23_all(total: float, servers: int) -> float:
    """Return the denominator of CPR's (E4): all samples of all servers."""
    return total * servers


def r24_learning_lost(share: float) -> float:
    """Return the learning that a shard lacks after losing `share` of all the updates it gets.

    To first order that share. Accuracy grows as the logarithm of the samples that a row has seen.
    """
    return -math.log1p(-min(share, 1.0 - LEAST_KEPT))


def r25_round(portions: float, portion: float) -> tuple[bool, float]:
    """Return whether a save completes a round of portions, and the portions that the next has.

    `portions`: saved since the last round. A save of everything is a round by itself. The excess
    over a round counts for the next, or rounds would be longer than the interval.
    """
    if portion == 1.0:
        return True, 0.0
    portions += portion
    return (True, max(portions - 1.0, 0.0)) if portions >= _WHOLE else (False, portions)


def r25_unsaved_s(unsaved_s: Sequence[float], saves: float) -> float:
    """Return the updates of a shard that saves have left out, in useful seconds.

    The shard was whole `saves` saves ago. `unsaved_s`: the updates after 1, 2, ... saves; the last
    holds for all later ones. A part of a save counts as that part.
    """
    done = int(saves)
    if done >= len(unsaved_s):
        return unsaved_s[len(unsaved_s) - 1]  # compiled, a place is never counted from the end
    before = unsaved_s[done - 1] if done else 0.0
    return before + (saves - done) * (unsaved_s[done] - before)


def r26_reads(reads: float, made_anew: bool, of_checkpoint: float) -> float:
    """Return the bytes that a load reads, as a share of those of whole shards.

    `reads`: shards read for each lost one. `of_checkpoint`: bytes of the loaded checkpoint, as a
    share of a whole one; shards `made_anew` from copies or parities load none.
    """
    return reads if made_anew else reads * of_checkpoint


def r29_hopeless_s(useful_time_s: float) -> float:
    """Return the wall clock after which a job may be given up, s."""
    return _HOPELESS * useful_time_s


def r29_gets_nowhere(now_s: float, useful_time_s: float, events: int) -> bool:
    """Return whether a job is given up that has failed and saved so often by now."""
    return now_s > _HOPELESS * useful_time_s and events >= _OFTEN


def r29_far_from_its_end(progress_s: float, useful_time_s: float, failures: int) -> bool:
    """Return whether a job is given up that has failed so often, with so little progress."""
    return failures >= _TOO_OFTEN and progress_s * _TOO_MANY < useful_time_s * failures


def r31_tries_again(after_void: str | None, blocking: bool, leaves: bool) -> bool:
    """Return whether a failed save is tried again at once.

    The policy says so (`after_void`); without that, blocking saves are. A save that `leaves` rows
    to other saves always is.
    """
    return leaves or (blocking if after_void is None else after_void == "retry")


#: Marks of a checkpoint, as bits: it has a silent fault; its content was verified; it is torn.
CORRUPT, VERIFIED, TORN = 1, 2, 4


def r34_verifies(begun: int, every: int, at_end: bool) -> bool:
    """Return whether training is verified before a save; `begun`: saves since the last time."""
    return at_end or begun + 1 >= every


def r34_marks(corrupt: bool, verified: bool) -> int:
    """Return the marks of a checkpoint that is taken now."""
    return CORRUPT * corrupt + VERIFIED * verified


def r35_marks(marks: int, torn: bool, alone: bool, before: int, live: bool) -> int:
    """Return the marks of a stored checkpoint; if not `alone` (whole), it needs the one before."""
    if live:
        marks &= ~VERIFIED
    return marks | TORN if torn or (not alone and before & TORN != 0) else marks


def r35_is_read(depth: int, has_healthy: bool, lost_servers: int) -> bool:
    """Return whether any node reads the checkpoint that an answer returns to."""
    return depth != NONE and (lost_servers > 0 or (depth == ALL and not has_healthy))


def r35_returned(marks: int, mirrored: bool, corrupt: bool) -> int:
    """Return the marks of the state that the job has returned to.

    A mirror has a silent fault if the training that it copies is `corrupt`.
    """
    return CORRUPT * corrupt if mirrored else marks & (CORRUPT | VERIFIED)


def r35_serves(marks: int, verified: bool) -> bool:
    """Return whether a job can return to a checkpoint, or to one that must be `verified`."""
    return marks & TORN == 0 and (not verified or marks & VERIFIED != 0)


def r35_is_tried(marks: int, verified: bool) -> bool:
    """Return whether a useless checkpoint is loaded before that is found out."""
    return marks & TORN != 0 and (not verified or marks & VERIFIED != 0)


def r36_start_s(schedule_s: float, cold_s: float, warm_s: float, first: bool, warm: bool) -> float:
    """Return the duration of a start, s; the first in an allocation waits for scheduling, too."""
    start_s = warm_s if warm else cold_s
    return schedule_s + start_s if first else start_s


def r36_starts_again(answer_does: bool, severity: int) -> bool:
    """Return whether all processes restart: if the answer says so, or if all were killed."""
    return answer_does or severity == CLUSTER


def r36_keeps_cache(on_node: bool, severity: int) -> bool:
    """Return whether the compile cache outlives a failure; `severity`: place in `SEVERITIES`."""
    return not on_node or severity == 0


def r37_stop_s(nodes_s: float, allocation_s: float, stop_s: float) -> float:
    """Return when training stops, s, so that the stop ends with the allocation of the nodes."""
    return nodes_s + allocation_s - stop_s


def r38_is_announced(drawn: float, recall: float) -> bool:
    """Return whether a failure is announced; `drawn`: its random number, 0 to 1."""
    return drawn < recall


def r38_in_time(now_s: float, takes_s: float, deadline_s: float) -> bool:
    """Return whether an answer that takes so long is done by the deadline of a notice."""
    return now_s + takes_s <= deadline_s


def r38_can_drain(nodes: int, ready: int, severity: int) -> bool:
    """Return whether nodes that are to fail can move to the machines that are ready.

    A failure of the cluster (`severity`: by place in `SEVERITIES`) takes these machines as well.
    """
    return nodes <= ready and severity != CLUSTER


def r42_regroups(depth: int, trains_on: bool) -> bool:
    """Return whether processes that are up form their group again with the replacements."""
    return depth != ALL and not trains_on
