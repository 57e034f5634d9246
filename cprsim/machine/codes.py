"""Numbers that stand for words in rows and lists; -1 for none."""

from typing import Final

#: Nobody, nothing.
NONE: Final = -1
#: The most tiers that a plan saves to.
TIERS: Final = 8

# --- Causes of foreground seconds, in the order in which a run adds them up ---
TRAIN, SAVE, LOAD, RESCHEDULE, DETECT, STALL, VERIFY, START, SHUTDOWN = range(9)
CAUSES: Final = 9

# --- Kinds of flows ---
#: What is under way in the foreground, where something beside it may slow it.
FOREGROUND: Final = 0
#: A save in the background.
SAVING: Final = 1
#: The time until an allocation ends, a notice comes, or servers are withdrawn.
STOPPING, NOTICING, NEARING = range(2, 5)
#: The wait for machines in place of lost ones, or for servers that were withdrawn.
REPLACING, RETURNING = range(5, 7)
#: Filling lost shards while the others train.
FILLING: Final = 7

#: Which save comes next: by schedules, or by a sequence of `cprsim.contract`.
SCHEDULED, CHAINS, GROWING, LEARNED, ROTATIONS, DIFFERENCES = range(6)
#: Where failures come from: gaps of the job, instants, lives of nodes, these and what takes several
#: nodes at once, a timeline of another kind.
RENEWAL, ABSOLUTE, LIVES, SHARED, OTHER = range(5)

# --- Why a run is given up ---
#: Failures come too often, or saves too rarely for them; saves come too often, or nothing else.
TOO_MANY, TOO_RARELY_SAVED, TOO_OFTEN_SAVED, ONLY_SAVES = range(4)
#: Saves and loads, verifications or drains are in vain; nodes are held too shortly.
IN_VAIN, CORRUPT, DRAINED_IN_VAIN, HELD_SHORTLY = range(4, 8)
#: Training is asked for that is done; there is no such tier, or no such load.
NOT_AHEAD, NO_TIER, NO_LOAD = range(8, 11)

# --- What ends a run before its end ---
DONE: Final = 0
#: More numbers have to be drawn.
MORE_GAPS, MORE_VICTIMS, MORE_SEVERITIES, MORE_LIVES, MORE_BURSTS, MORE_DELAYS = range(1, 7)
MORE_VOIDS, MORE_LOADS, MORE_OUTAGES, MORE_SILENT = range(7, 11)
MORE_STARTS, MORE_NOTICES, MORE_ALARMS = range(11, 14)
#: More room is needed, or it gets nowhere.
MORE_ROOM, GIVEN_UP = range(14, 16)
