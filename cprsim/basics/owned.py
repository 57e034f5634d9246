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

#: What the names of such folders begin with; hidden, and short, for paths of sockets are.
_PREFIX = ".cprsim-"
#: The file in each that its owner holds a lock on for as long as it lives.
_LOCK = ".owner"


@contextmanager
def owned_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder in `parent`, by default that of temporary files; it goes when this ends.

    Folders of owners that were killed go first. Where the file system has no locks, no process
    knows which owner is alive, and they stay.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    remove_orphans(place)
    folder, lock = _made(place)
    try:
        yield folder
    finally:
        try:
            _remove(folder)
        finally:
            os.close(lock)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else is in here with the same folder, where its file system has locks."""
    with ExitStack() as held:
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            held.callback(os.close, handle)
            _lock(handle, wait=True)
        yield


def _made(place: Path) -> tuple[Path, int]:
    """A folder, and the file in it that is locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:  # swept up by another before it was locked
            continue
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        with suppress(OSError):  # a file system without locks
            _lock(lock, wait=True)
        if (folder / _LOCK).exists():
            return folder, lock
        os.close(lock)


def remove_orphans(place: Path) -> None:
    """Remove the folders in a place whose owners were killed."""
    for folder in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # alive, of another user, or gone meanwhile
            if folder.is_symlink():
                continue
            try:
                lock = os.open(folder / _LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            except FileNotFoundError:
                folder.rmdir()  # its owner died before it locked anything
                continue
            try:
                _lock(lock, wait=False)
                _remove(folder)
            finally:
                os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last: after a kill meanwhile the next owner removes the rest.

    So it does if a process that has yet to end writes into the folder meanwhile.
    """
    lock = folder / _LOCK
    with suppress(OSError):
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry != lock:
                entry.unlink()
    with suppress(OSError):
        lock.unlink(missing_ok=True)
        try:
            folder.rmdir()
        except OSError:
            lock.touch()


def _lock(file: int, wait: bool) -> None:
    """Lock an open file; `OSError` where that can't be had."""
    if fcntl is None:
        raise OSError("no locks")
    fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
