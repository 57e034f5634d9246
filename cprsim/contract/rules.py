"""Rules of the job that every interpreter keeps, each once.

A name begins with the number of its rule in docs/semantics.md. All are of plain numbers, so that
they can be compiled; depths are those of `DEPTH`. How many periods fit into a time,
which lower rooms count as well, is `cprsim.closed_form.intervals.whole_periods`.
"""

from collections.abc import Sequence
from typing import TypeVar

from cprsim.closed_form import intervals
from cprsim.failures.hit import SEVERITIES
from cprsim.job.costs import Rollback

_Number = TypeVar("_Number", int, float)  # steps, or useful seconds
#: Shares of a time below which lies only the rounding of what was added up to it.
ROUNDING = intervals.ROUNDING
#: How far an answer sets the job back: not at all, the lost shards alone, or all of it.
NONE, LOST, ALL = 0, 1, 2
DEPTH: dict[Rollback, int] = {"none": NONE, "lost": LOST, "all": ALL}
#: A severity, by its place in `SEVERITIES`: all processes are gone.
CLUSTER = SEVERITIES.index("cluster")
#: Portions add up to a full save but for rounding.
_WHOLE = 1 - 1e-9
#: A job that has taken this many times its useful time, and failed and saved so often in it, will
#: not end in any time worth waiting for.
_HOPELESS = 100.0
_OFTEN = 1000
#: Nor will one that has failed so often, and at this pace would ten million times before its end:
#: ten times as often as any job may, since failures may become rarer.
_TOO_OFTEN = 10_000
_TOO_MANY = 10_000_000


def r3_due_s(due_s: float, progress_s: float, period_s: float) -> float:
    """Where progress went back, the next save is at most one period of training away from there."""
    return progress_s + period_s if due_s - progress_s > period_s else due_s


def r4_nearly_done_s(useful_time_s: float) -> float:
    """Progress from which on only rounding is left to do: no save falls due there any more."""
    return useful_time_s * (1 - ROUNDING)


def r4_is_over(final_save: bool, saved: float, total: float) -> bool:
    """Whether a job that has made all its progress is over; `saved`: that of its checkpoint."""
    return not final_save or saved >= total


def r5_nearest(tier: int, stored: bool) -> int:
    """The nearest tier that a save to `tier` serves, and so do those between the two.

    All nearer ones where it is `stored` before training goes on.
    """
    return 0 if stored else tier


def r5_own_saves(due: float, further: float) -> float:
    """Of the saves that are due to a tier those that no blocking one to a `further` tier serves."""
    return max(due - further, 0.0)


def r9_is_void(depth: int, lost_servers: int, trained_on: bool) -> bool:
    """Whether a failure makes a save worthless that is not stored yet.

    A rollback of the whole job does (8). So do lost shards where training went on beside the save
    (`trained_on`): theirs is missing in it. Otherwise a lost shard is what its last checkpoint is,
    and the rest of the save goes on.
    """
    return depth == ALL or (depth == LOST and lost_servers > 0 and trained_on)


def r11_can_fail(while_waiting: bool, depth: int, holds_nodes: bool) -> bool:
    """Whether the nodes that are up can fail while others are waited for: the job holds them."""
    return while_waiting and (depth < ALL or holds_nodes)


def r12_goes_as_deep(depth: int, deepest: int) -> bool:
    """Of failures in one recovery, whether this answer is what has to be loaded from now on."""
    return depth >= deepest


def r13_trains_on(keep_training: bool, depth: int) -> bool:
    """Whether the rest trains on while the lost nodes are replaced."""
    return keep_training and depth < ALL


def r23_lost(samples: _Number, last: _Number) -> _Number:
    """(E4) of CPR, its numerator: samples of a failed server since its last checkpoint."""
    return samples - last


def r23_all(total: float, servers: int) -> float:
    """(E4) of CPR, its denominator: all samples of all servers."""
    return total * servers


def r25_round(portions: float, portion: float) -> tuple[bool, float]:
    """Whether a save completes a round of portions, and the portions that count for the next.

    `portions`: saved since the last round. A save of everything is a round by itself. What is
    beyond a round counts for the next, or rounds would be longer than the interval.
    """
    if portion == 1.0:
        return True, 0.0
    portions += portion
    return (True, max(portions - 1.0, 0.0)) if portions >= _WHOLE else (False, portions)


def r25_unsaved_s(unsaved_s: Sequence[float], saves: float) -> float:
    """What saves leave of a shard that was whole `saves` saves ago, useful seconds of updates.

    `unsaved_s`: after 1, 2, ... of them; the last holds on. A part of a save counts as that part.
    """
    done = int(saves)
    if done >= len(unsaved_s):
        return unsaved_s[len(unsaved_s) - 1]  # compiled, a place is never counted from the end
    before = unsaved_s[done - 1] if done else 0.0
    return before + (saves - done) * (unsaved_s[done] - before)


def r26_reads(reads: float, made_anew: bool, of_checkpoint: float) -> float:
    """Bytes that a load reads, as a share of those of whole shards.

    `reads`: shards that are read for a lost one. `of_checkpoint`: what the checkpoint takes that is
    loaded; what is `made_anew` out of copies or parities loads none.
    """
    return reads if made_anew else reads * of_checkpoint


def r29_hopeless_s(useful_time_s: float) -> float:
    """The wall clock after which a job may be given up, s."""
    return _HOPELESS * useful_time_s


def r29_gets_nowhere(now_s: float, useful_time_s: float, events: int) -> bool:
    """Whether a job is given up that has failed and saved so often by now."""
    return now_s > _HOPELESS * useful_time_s and events >= _OFTEN


def r29_far_from_its_end(progress_s: float, useful_time_s: float, failures: int) -> bool:
    """Whether a job is given up that has failed so often, and has come so little of its way."""
    return failures >= _TOO_OFTEN and progress_s * _TOO_MANY < useful_time_s * failures


def r31_tries_again(after_void: str | None, blocking: bool, leaves: bool) -> bool:
    """Whether a save that turned out void is tried again at once.

    As the policy has it, or else where it is blocking. One that leaves rows to others always is.
    """
    return leaves or (blocking if after_void is None else after_void == "retry")


#: Marks of a checkpoint, as bits: a silent fault is in it; what it holds was verified; it is torn.
CORRUPT, VERIFIED, TORN = 1, 2, 4


def r34_verifies(begun: int, every: int, at_end: bool) -> bool:
    """Whether what is trained is verified before a save, `begun` having begun since it last was."""
    return at_end or begun + 1 >= every


def r34_marks(corrupt: bool, verified: bool) -> int:
    """Those of a checkpoint that is taken now."""
    return CORRUPT * corrupt + VERIFIED * verified


def r35_marks(marks: int, torn: bool, alone: bool, before: int, live: bool) -> int:
    """Those of a checkpoint in its place; one that isn't whole (`alone`) needs the one before."""
    if live:
        marks &= ~VERIFIED
    return marks | TORN if torn or (not alone and before & TORN != 0) else marks


def r35_is_read(depth: int, has_healthy: bool, lost_servers: int) -> bool:
    """Whether anybody reads the checkpoint that an answer returns to."""
    return depth != NONE and (lost_servers > 0 or (depth == ALL and not has_healthy))


def r35_returned(marks: int, mirrored: bool, corrupt: bool) -> int:
    """Those of what the job has returned to; a mirror is as `corrupt` as what it mirrors."""
    return CORRUPT * corrupt if mirrored else marks & (CORRUPT | VERIFIED)


def r35_serves(marks: int, verified: bool) -> bool:
    """Whether a job can return to a checkpoint, or to one that was `verified`."""
    return marks & TORN == 0 and (not verified or marks & VERIFIED != 0)


def r35_is_tried(marks: int, verified: bool) -> bool:
    """Whether a checkpoint that serves nobody is loaded before it is found so."""
    return marks & TORN != 0 and (not verified or marks & VERIFIED != 0)


def r36_start_s(schedule_s: float, cold_s: float, warm_s: float, first: bool, warm: bool) -> float:
    """What a start takes, s: the first in an allocation waits for it; others find a warm cache."""
    start_s = warm_s if warm else cold_s
    return schedule_s + start_s if first else start_s


def r36_starts_again(answer_does: bool, severity: int) -> bool:
    """Whether processes are started again: where the answer has it, or where all were killed."""
    return answer_does or severity == CLUSTER


def r36_keeps_cache(on_node: bool, severity: int) -> bool:
    """Whether the compile cache outlives a failure of that severity (by place in `SEVERITIES`)."""
    return not on_node or severity == 0


def r37_stop_s(nodes_s: float, allocation_s: float, stop_s: float) -> float:
    """When training stops, s: in time for a stop that takes so long, in nodes held since then."""
    return nodes_s + allocation_s - stop_s


def r38_is_announced(drawn: float, recall: float) -> bool:
    """Whether a notice comes before the failure that has drawn this number, 0 to 1."""
    return drawn < recall


def r38_in_time(now_s: float, takes_s: float, deadline_s: float) -> bool:
    """Whether what takes so long gets done by the deadline of a notice."""
    return now_s + takes_s <= deadline_s


def r38_can_drain(nodes: int, ready: int, severity: int) -> bool:
    """Whether so many nodes that are to fail can move to machines that stand ready.

    A failure of the cluster (by place in `SEVERITIES`) takes these as well.
    """
    return nodes <= ready and severity != CLUSTER


def r39_goes_on(regrows: bool, up: int, withdrawn: int) -> bool:
    """Whether the rest goes on where so many of those that are up are withdrawn."""
    return regrows and up > withdrawn


def r39_left_s(until_s: float, now_s: float) -> float:
    """What is left of a time for which servers are withdrawn, s."""
    return max(until_s - now_s, 0.0)
