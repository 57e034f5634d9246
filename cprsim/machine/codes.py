"""Numbers that encode words in rows and lists; -1 encodes none."""

from typing import Final

#: No node, tier, save, answer or place.
NONE: Final = -1
#: The repair of a failure whose cause says none, s: `costs.reschedule`.
AS_ALL_S: Final = -1.0

#: Causes of foreground seconds by number, in the order in which a run adds them up.
CAUSE_NAMES: Final = (
    *("train", "save", "load", "reschedule", "detect", "stall", "verify", "start", "shutdown"),
)
TRAIN, SAVE, LOAD, RESCHEDULE, DETECT, STALL, VERIFY, START, SHUTDOWN = range(len(CAUSE_NAMES))

# --- Kinds of flows ---
#: Foreground work that flows in the background may slow down.
FOREGROUND: Final = 0
#: A save in the background.
SAVING: Final = 1
#: Timers: until an allocation ends, or a notice comes.
STOPPING, NOTICING = range(2, 4)
#: The wait for replacement machines.
REPLACING: Final = 4
#: Loading lost shards while the other nodes train.
FILLING: Final = 5

#: How the next save is chosen: by schedules, or by a sequence of `cprsim.contract`.
SCHEDULED, CHAINS, GROWING, LEARNED, ROTATIONS, DIFFERENCES = range(6)
#: Variants of differences, in the order of `cprsim.contract.plan.VARIANTS`.
INTERMITTENT, ONE_SHOT, CONSECUTIVE = range(3)
#: Source of failures: gaps between failures of the job, absolute instants, lives of nodes (with
#: bursts and failures of the cluster, if any), a timeline of another kind.
RENEWAL, ABSOLUTE, LIVES, OTHER = range(4)

# --- Reasons to give a run up ---
#: Too many failures; saves too rare for them; saves too frequent; saves without any training.
TOO_MANY, TOO_RARELY_SAVED, TOO_OFTEN_SAVED, ONLY_SAVES = range(4)
#: Failed saves and loads; corrupt state found too often; wasted drains; allocations too short.
WASTED, CORRUPT, DRAINED_FOR_NOTHING, HELD_SHORTLY = range(4, 8)
#: Training requested up to a progress already reached; an unknown tier; a load without a cost.
NOT_AHEAD, NO_TIER, NO_LOAD = range(8, 11)

# --- Status of a run: any other than `DONE` stops it ---
DONE: Final = 0
#: The run has used all numbers drawn of a kind: it starts over with more.
MORE_GAPS, MORE_VICTIMS, MORE_SEVERITIES, MORE_LIVES, MORE_BURSTS, MORE_DELAYS = range(1, 7)
MORE_VOIDS, MORE_LOADS, MORE_OUTAGES, MORE_SILENT = range(7, 11)
MORE_STARTS, MORE_NOTICES, MORE_ALARMS, MORE_RESTARTS = range(11, 15)
#: A table is full, and the run starts over with a longer one; the run is given up.
MORE_ROOM, GIVEN_UP = range(15, 17)
