"""The process that all members are forked from."""

import multiprocessing
import sys
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext

from cprsim.runs.workers import interrupts_for_this_process_alone

_OURS = (
    "cprsim.trainer.members.server",
    "cprsim.trainer.members.trainer",
    "cprsim.trainer.data.planted",
)


def context() -> ForkServerContext:
    """Start that process, if it isn't there; it imports torch in the background, and only once.

    Members import the main script of this process again, so what that has imported of cprsim is
    imported there as well. There is one such process for each that calls; it ends with it.
    """
    found = multiprocessing.get_context("forkserver")
    imported = [name for name in sys.modules if name.startswith("cprsim.")]
    found.set_forkserver_preload(["torch", *_OURS, *imported])
    with interrupts_for_this_process_alone():
        forkserver.ensure_running()
    return found
