"""Phases of a run, and the cause that the seconds of each are charged to.

`step.py` has the transitions: what follows when a phase ends, or when a failure interrupts it.
"""

from typing import Final

from cprsim.machine import codes

#: Training, until a save is due or another action is next.
TRAINING: Final = 0
#: A blocking save.
BLOCKING_SAVE: Final = 1
#: The snapshot that a background save takes while training waits.
SNAPSHOT: Final = 2
#: The verification before a save, or before the end.
VERIFYING: Final = 3
#: Detecting a failure.
DETECTING: Final = 4
#: Waiting for replacement machines.
ARRIVING: Final = 5
#: Other nodes take over from the lost ones.
TAKING_OVER: Final = 6
#: Restarting all processes in a recovery.
RESTARTING: Final = 7
#: Loading lost state.
LOADING: Final = 8
#: Waiting at the end of the job for a background save.
AWAITING: Final = 9
#: Moving nodes whose failure is announced to spare machines.
DRAINING: Final = 10
#: Waiting for the nodes of an allocation.
GETTING_NODES: Final = 11
#: Starting processes on these nodes.
STARTING: Final = 12
#: Loading the last save of the previous allocation.
LOADING_ANEW: Final = 13
#: Shutting down at the end of an allocation.
GIVING_BACK: Final = 14
#: Shutting down at the end of the job.
ENDING: Final = 15
#: The next action has to be decided. This phase and all later ones take no time.
TURN: Final = 16
#: An interrupted save or verification resumes, if it still counts.
HELD: Final = 17
#: The run is over.
OVER: Final = 18

#: The cause that each phase with a duration is charged to, by number of the phase.
CAUSE_OF: Final = (
    codes.TRAIN,  # TRAINING
    codes.SAVE,  # BLOCKING_SAVE
    codes.STALL,  # SNAPSHOT
    codes.VERIFY,  # VERIFYING
    codes.DETECT,  # DETECTING
    codes.RESCHEDULE,  # ARRIVING
    codes.RESCHEDULE,  # TAKING_OVER
    codes.START,  # RESTARTING
    codes.LOAD,  # LOADING
    codes.SAVE,  # AWAITING
    codes.RESCHEDULE,  # DRAINING
    codes.RESCHEDULE,  # GETTING_NODES
    codes.START,  # STARTING
    codes.LOAD,  # LOADING_ANEW
    codes.SHUTDOWN,  # GIVING_BACK
    codes.SHUTDOWN,  # ENDING
)
