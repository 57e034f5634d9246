"""Temporary folders, removed at exit, or by the next owner's start after a kill."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing shows who is alive, and what is left stays
    fcntl = None  # type: ignore[assignment]

#: Start of the names of such folders; hidden, and short, for paths of sockets are. `tempfile` adds
#: eight letters.
_PREFIX, _NAMES = ".cprsim-", ".cprsim-????????"


@contextmanager
def owned_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder in `parent`, by default that of temporary files, removed at the end.

    Folders of owners who were killed go first, where the file system has locks.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    remove_orphans(place)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        with locked(folder):
            if not folder.exists():  # another start removed it before it was locked
                continue
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return


@contextmanager
def locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a folder alone, where its file system has locks.

    Raises
    ------
    OSError
        Without `wait`, where another process holds it, or there are no locks.
    """
    handle = None
    try:
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        if fcntl is None:
            raise OSError("no locks")
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if not wait:
            if handle is not None:
                os.close(handle)
            raise
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def remove_orphans(place: Path) -> None:
    """Remove the folders in a place whose owners were killed."""
    for folder in place.glob(_NAMES):
        with suppress(OSError), locked(folder, wait=False):  # alive, of another user, or gone
            shutil.rmtree(folder, ignore_errors=True)
