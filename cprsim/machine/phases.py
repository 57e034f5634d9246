"""The phases of a run: what each is, and what its time is charged to.

What happens where one has ended, or where a failure has struck before that, stands in `step.py`.
"""

from typing import Final

from cprsim.machine.codes import (
    DETECT,
    LOAD,
    RESCHEDULE,
    SAVE,
    SHUTDOWN,
    STALL,
    START,
    TRAIN,
    VERIFY,
)

#: Training, until a save is due or something else is next.
TRAINING: Final = 0
#: A blocking save.
BLOCKING_SAVE: Final = 1
#: The snapshot of a save that goes on in the background.
SNAPSHOT: Final = 2
#: The verification before a save, or before the end.
VERIFYING: Final = 3
#: Noticing a failure.
DETECTING: Final = 4
#: Waiting for machines in place of those that are lost.
ARRIVING: Final = 5
#: Until others serve for the lost nodes.
TAKING_OVER: Final = 6
#: Starting all processes again in a recovery.
RESTARTING: Final = 7
#: Loading what was lost.
LOADING: Final = 8
#: Waiting at the end for a save in the background.
AWAITING: Final = 9
#: Moving nodes that are to fail to spares.
DRAINING: Final = 10
#: Moving the rows of servers that are withdrawn to the others.
MOVING_ROWS: Final = 11
#: Until the others serve for those.
LEAVING: Final = 12
#: Waiting for an allocation of nodes.
GETTING_NODES: Final = 13
#: Starting on them.
STARTING: Final = 14
#: Loading there what the last allocation has saved.
LOADING_ANEW: Final = 15
#: Ending an allocation.
GIVING_BACK: Final = 16
#: Ending the job.
ENDING: Final = 17
#: What is next has to be decided; takes no time, as all phases from here on.
TURN: Final = 18
#: What a failure had cut into goes on, if it still counts.
HELD: Final = 19
#: All is over.
OVER: Final = 20

#: What the time of each is charged to.
CAUSE_OF: Final = (
    *(TRAIN, SAVE, STALL, VERIFY, DETECT, RESCHEDULE, RESCHEDULE, START, LOAD, SAVE, RESCHEDULE),
    *(LOAD, RESCHEDULE, RESCHEDULE, START, LOAD, SHUTDOWN, SHUTDOWN),
)
