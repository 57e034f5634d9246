"""What the engine reads and writes: plans and runs as rows of numbers.

Codes stand for words, -1 for none. A row of one table names those of another by their places.
"""

from typing import Any, Final, NamedTuple, cast

import numpy as np

from cprsim.job.platform import (
    SERVER_IN,
    SERVER_OUT,
    STORE_READ,
    STORE_WRITE,
    TRAINER_IN,
    TRAINER_OUT,
)

LINKS: Final = (SERVER_OUT, SERVER_IN, TRAINER_OUT, TRAINER_IN, STORE_WRITE, STORE_READ)


def code(value: int) -> int:
    """A number of NumPy's: for each one of Python's a function would be compiled anew."""
    return cast(int, np.int64(value))


def codes(count: int) -> list[int]:
    """So many of them, from 0 on."""
    return list(map(code, range(count)))


#: The most tiers that a plan saves to.
TIERS: Final = 8
NONE: Final = code(-1)
ZERO: Final = code(0)
NO, YES = cast(bool, np.bool_(False)), cast(bool, np.bool_(True))
#: Causes of foreground seconds, places in `RUN.spent`.
TRAIN, SAVE, LOAD, RESCHEDULE, DETECT, STALL, VERIFY, START, SHUTDOWN = codes(9)
CAUSES: Final = 9
#: What a flow is of: the foreground, a save, the time to a planned stop, to a notice, or until
#: servers are withdrawn, the wait for machines, or for those to come back, the filling of shards.
FOREGROUND, SAVING, STOPPING, NOTICING, NEARING, REPLACING, RETURNING, FILLING = codes(8)
#: Which save comes next: by schedules, by `contract`'s words for more.
SCHEDULED, CHAINS, GROWING, LEARNED, ROTATIONS, DIFFERENCES = codes(6)
#: Where failures come from.
RENEWAL, ABSOLUTE, LIVES, SHARED = codes(4)
#: What ends a run: its end; more numbers have to be drawn of something, or more room is needed;
#: or `cprsim.sim` has to say why it is given up.
DONE, MORE_GAPS, MORE_VICTIMS, MORE_SEVERITIES, MORE_LIVES, MORE_BURSTS = codes(6)
MORE_DELAYS, MORE_VOIDS, MORE_LOADS, MORE_OUTAGES, MORE_SILENT, MORE_ROOM, GIVEN_UP = codes(13)[6:]
MORE_STARTS, MORE_NOTICES, MORE_ALARMS = codes(35)[32:]


def _row(**columns: str) -> np.dtype[Any]:
    """A row with these columns, by type: `"f8"`, or `"6f8"` for as many."""
    assert not set(columns) & set(dir(np.record))  # uncompiled, those are something else
    return np.dtype(list(columns.items()), align=True)


def _columns(kind: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


#: As `cprsim.job.transfer.Transfer`; `limit`: its rate with the links to itself.
TRANSFER: Final = _row(volume="f8", cap="f8", limit="f8", share="f8", linked="?", uses="6f8")
#: `contract.Save`. `stored`, `sent`: what it writes to the store and to peers, full checkpoints;
#: `besides`: volume that a run adds to its share of that of the transfer.
SAVE_ROW: Final = _row(
    **_columns("i8", "tier transfer unsaved unsaved_count"),
    **_columns("?", "blocking tries_again can_be_void alone"),
    **_columns("f8", "portion reads stored sent snapshot_s besides"),
)
#: `contract.Schedule`, and its chain. `beside`: whether its saves and training never meet.
#: `keeps_older`, `live`: of its tier.
SCHEDULE_ROW: Final = _row(
    **_columns("f8", "period_s first_period_s"),
    **_columns("i8", "most save chain links"),
    **_columns("?", "beside keeps_older live"),
)
#: `contract.Recover`. `source`, `healthy`: numbers of schedules. `nothing`, `load`: transfers where
#: no server, and where one, is down; `each`: what of the store's link every other one takes.
ANSWER_ROW: Final = _row(
    **_columns("i8", "depth source healthy training nothing load fills"),
    **_columns("?", "keep mirrored has_healthy made_anew can_fail regrows starts_again"),
    **_columns("f8", "reads takeover_s pause_s each"),
)
#: `contract.Case`: bits of severities; `sets` of `width` servers, `count` for each server.
CASE_ROW: Final = _row(
    **_columns("i8", "answer severities sets count width"),
    **_columns("f8", "least_servers most_servers least_trainers most_trainers"),
)
PLAN_ROW: Final = _row(
    **_columns("i8", "servers nodes leaves spares schedules last_save most_last"),
    **_columns("i8", "first_schedule first_case cases tight"),
    **_columns("i8", "training sequence rotations rotations_at rotation_servers"),
    **_columns(
        "i8", "older at points variant updates left source verify_every returns last_return"
    ),
    **_columns("?", "final_save during_recovery while_waiting holds_nodes"),
    **_columns("?", "unslowed uneven uneven_left last_mirrored has_outages in_turn beside"),
    **_columns("?", "marked verifies checksum"),
    **_columns("f8", "useful_s nearly_done_s detect_s per_shard delay_s step_s behind"),
    **_columns("f8", "save_fails load_fails more_s max_overhead limit_s interval_s whole rows"),
    **_columns("f8", "prior_mtbf_s prior_weight prior_save_s verify_s torn"),
    **_columns("f8", "partial_mtbfs spared_s allocation_s stop_s"),
    **_columns("f8", "lead_s recall emergency_s drain_s reschedule_s"),
    **_columns("i8", "partial_answer full_answer hands_over emergency windows windows_at"),
    **_columns("?", "starts cache_on_node allocated notices drains"),
    start_costs="4f8",
    capacity="6f8",
)
#: What one run draws: places in the arrays of draws, and how many there are.
DRAWS_ROW: Final = _row(
    **_columns("i8", "gaps gap_count delays delay_count victims victim_count kinds"),
    **_columns(
        "i8",
        "victim_trainers per_servers per_trainers severities severity_count bursts burst_count",
    ),
    **_columns("i8", "burst_nodes burst_width voids void_count loads load_count"),
    **_columns("i8", "outages outage_count hits lives life_count life_stride"),
    **_columns("i8", "torn silent silent_count starts start_count"),
    **_columns("i8", "notices notice_count alarms alarm_count"),
    circle_s="f8",
)
#: The state of one run, as `cprsim.sim` has it.
RUN_ROW: Final = _row(
    **_columns("f8", "now next_s progress_s slowdown_s lost_s pls updates_lost stored sent"),
    **_columns("f8", "returned_s returned_slowdown_s returned_updates_lost"),
    **_columns("f8", "train_s train_to_s next_end_s"),
    **_columns("f8", "since_s since_progress_s turned_s rotation_lost_s answered_down"),
    **_columns("f8", "timed_saves saving_s verified_s redone_s"),
    **_columns("i8", "status failures saves absorbed passed idle_saves in_vain"),
    **_columns("i8", "flows comings struck bursts void load"),
    **_columns("i8", "source rotation answered epoch back_since foreground training chosen"),
    **_columns("i8", "begun faults torn_loads starts ends"),
    **_columns("?", "cut news knows_degraded running corrupt torn"),
    **_columns("?", "warm stops"),
    **_columns(
        "f8", "paused_s allocation_began_s until_s told_s notice_s stored_s deadline_s drain_by_s"
    ),
    **_columns("i8", "alarms drained_nodes window"),
    leaving="?",
    full_at="6f8",
)
#: What a run keeps of each schedule and its tier; and, beside training, of its save under way.
TIER_ROW: Final = _row(
    **_columns("f8", "due_s period_s last_s last_slowdown_s last_updates_lost last_reads"),
    **_columns("f8", "whole_s start_s portions"),
    **_columns("i8", "pending taken_link stored_link unsaved unsaved_count tier_since last_marks"),
    **_columns("f8", "lands_s begins_s writes taken_s taken_slowdown_s taken_updates_lost"),
    **_columns("f8", "taken_reads"),
    **_columns("i8", "under_way order taken_marks kept_first kept_count"),
)
#: What a tier held before its last.
KEPT_ROW: Final = _row(
    **_columns("f8", "last_s last_slowdown_s last_updates_lost last_reads whole_s portions"),
    **_columns("i8", "last_marks unsaved unsaved_count"),
)
#: A checkpoint in a chain of differences: of the one that is stored, under way, or asked for.
LINK_ROW: Final = _row(
    **_columns("f8", "base_s taken_s total last reads writes"), diffs="i8", has_link="?"
)
#: A flow; of a save what it holds, of lost nodes the answer, and who they are.
FLOW_ROW: Final = _row(
    **_columns("i8", "kind save answer down place taken_marks"),
    **_columns("f8", "volume done done_then since_s rate limit share ends_at taken_rate"),
    **_columns("f8", "writes taken_s taken_slowdown_s taken_updates_lost taken_reads began_s"),
    **_columns("?", "linked rises"),
    uses="6f8",
)
COMING_ROW: Final = _row(hit="i8", lost="i8", left_s="f8")
#: A node; of a server when its shard was last set back.
NODE_ROW: Final = _row(
    **_columns("i8", "generation back_epoch"),
    **_columns("f8", "placed_s set_back_s"),
)
#: Since when a tier holds all of a shard.
SHARD_ROW: Final = _row(start_s="f8", epoch="i8")


class Running(NamedTuple):
    """One run under way: its plan, its draws, its state, and room to work in."""

    plan: Any
    schedules: Any
    saves: Any
    transfers: Any
    answers: Any
    cases: Any
    whole: Any  # int64: sets of servers, orders of saves
    real: Any  # float64: what saves leave, sizes of differences
    draws: Any
    numbers: Any  # float64, drawn
    choices: Any  # int32, drawn
    run: Any
    tiers: Any
    kept: Any
    links: Any
    spent: Any
    flows: Any
    ended: Any
    comings: Any
    lists: Any  # int32: of nodes (`node_lists.py`)
    nodes: Any
    shards: Any
    tree: Any
    ready_s: Any
    rated: Any  # transfers that are made up
