"""What happens to a process and to its disk."""

import errno
import os
import signal
import sys


def no_room(*_):
    """In the place of a call that writes: the disk is full."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def killed_at(touches, folder=""):
    """Die as files of a folder are touched for the last of so many times from now on; None: never.

    Touches are Python's audit events of opening, renaming and removing a file.
    """
    left = [touches]

    def hook(event, args):
        if event in {"open", "os.rename", "os.remove"} and str(args[0]).startswith(str(folder)):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    if touches is not None:
        sys.addaudithook(hook)
