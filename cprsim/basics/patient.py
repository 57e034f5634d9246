"""Open what a user names as a file, whatever it is: nothing that would be read for ever."""

import errno
import os
import select
import stat
from typing import BinaryIO

#: For a pipe to have something to be read: whoever unpacks something first takes a while.
_PATIENCE_S = 10.0


def open_patiently(path: str | os.PathLike[str]) -> BinaryIO:
    """The bytes of a file, or of a pipe that somebody writes to.

    Raises
    ------
    OSError
        Also for a device, a path that is none, and a pipe of which nothing comes for so long.
    """
    try:
        return open(path, "rb", opener=_open)
    except ValueError:  # an empty byte in it
        raise OSError(errno.EINVAL, "no path has such a letter", path) from None


def _open(path: str, flags: int) -> int:
    # Else it would be waited for somebody to write to a pipe, for ever.
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    try:
        kind = os.fstat(handle).st_mode
        if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
            raise OSError(errno.EINVAL, "it is a device, not a file", path)
        if stat.S_ISFIFO(kind):
            _await(handle, path)
            os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _await(pipe: int, path: str) -> None:
    # On Linux a pipe that nobody has ever written to has no end yet, and so nothing to tell.
    waited = select.poll()
    waited.register(pipe, select.POLLIN)
    if not waited.poll(1000 * _PATIENCE_S):
        text = f"it is a pipe, and nothing has come of it for {_PATIENCE_S:g} s"
        raise OSError(errno.ETIMEDOUT, text, path)
