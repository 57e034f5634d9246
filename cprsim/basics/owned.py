"""Folders that go with their owner: at its end, or if it was killed, at the next one's start."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no process knows which owner is alive, and folders stay
    fcntl = None  # type: ignore[assignment]

#: The beginning of the names of such folders; hidden, and short, for paths of sockets are.
_PREFIX = ".cprsim_"


@contextmanager
def owned_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder in `parent`, by default that of temporary files; it goes when this ends.

    Its owner holds a lock on it. Folders of owners that were killed go first. Where the file system
    has no locks, no process knows which owner is alive, and they stay.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    remove_orphans(place)
    with ExitStack() as held:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        held.enter_context(locked(folder))
        while not folder.exists():  # removed by another owner before it was locked
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
            held.enter_context(locked(folder))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else is in here with the same folder, where its file system has locks."""
    with ExitStack() as held:
        with suppress(OSError):
            held.callback(os.close, _lock(folder.resolve(), wait=True))
        yield


def remove_orphans(place: Path) -> None:
    """Remove the folders in a place whose owners were killed."""
    for folder in place.glob(f"{_PREFIX}????????"):  # as many letters as `mkdtemp` adds
        # Suppressed are those alive, of another user, or gone meanwhile.
        with suppress(OSError), ExitStack() as held:
            held.callback(os.close, _lock(folder, wait=False))
            shutil.rmtree(folder, ignore_errors=True)


def _lock(folder: Path, wait: bool) -> int:
    """Open a folder and lock it; `OSError` where that can't be had."""
    if fcntl is None:
        raise OSError("no locks")
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(handle)
        raise
    return handle
