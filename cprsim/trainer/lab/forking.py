"""The process that all members are forked from."""

import multiprocessing
import os
import sys
import tempfile
from contextlib import ExitStack
from multiprocessing import forkserver, util
from multiprocessing.context import ForkServerContext

from cprsim.basics.files import locked_tempdir
from cprsim.errors import UsageError
from cprsim.runs.workers import interrupts_for_this_process_alone

#: Each member would import it for itself else, NumPy's part when it first calls `unique`.
_NEEDED = (
    "torch",
    "numpy.ma",
    "cprsim.trainer.lab.members",
    "cprsim.trainer.data.planted",
    *(f"cprsim.policies.{name}" for name in ("asynchronous", "cpr", "full", "partial", "priority")),
)
#: Longest path of a Unix socket, B: macOS has room for 104 with the 0 at the end, Linux for 108.
_LONGEST_PATH = 103
#: What comes behind the folder of temporary files: `/.cprsim_12345678/listener-12345678`, and more.
_BEHIND = 40


def check_sockets() -> None:
    """Raise `UsageError` where temporary files lie too deep for the paths of sockets."""
    folder = tempfile.gettempdir()
    if len(os.fsencode(folder)) + _BEHIND > _LONGEST_PATH:
        raise UsageError(
            f"TMPDIR = {folder}: too long for the paths of Unix sockets in it; set it to one of at "
            f"most {_LONGEST_PATH - _BEHIND} bytes"
        )


def context() -> ForkServerContext:
    """Start that process, if it isn't there; it imports torch in the background, and only once.

    Members import the main script of this process again, so what that has imported of cprsim is
    imported there as well. There is one such process for each that calls; it ends with it, once it
    has imported all that.
    """
    check_sockets()
    _own_tempdir()
    found = multiprocessing.get_context("forkserver")
    imported = [name for name in sys.modules if name.startswith("cprsim.")]
    found.set_forkserver_preload([*_NEEDED, *imported])
    with interrupts_for_this_process_alone():
        forkserver.ensure_running()
    return found


def _own_tempdir() -> None:
    """Give Python a folder for its socket that the next start removes after a kill.

    Python's own, `pymp-*`, stays for ever then. There is no public way to name another.
    """
    settings = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    if settings.get("tempdir") is None:
        held = ExitStack()
        settings["tempdir"] = str(held.enter_context(locked_tempdir()))
        util.Finalize(None, held.close, exitpriority=-100)  # as Python removes its own
