"""The files that a command has read, which it must not replace."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_read: set[str] | None = None
_listening = False


@contextmanager
def recorded() -> Iterator[None]:
    """Record the files that this process opens for reading, whatever code opens them."""
    global _listening  # noqa: PLW0603  (Python keeps an audit hook for the life of the process)
    if not _listening:
        sys.addaudithook(_hear)
        _listening = True
    with _recording(set()):
        yield


@contextmanager
def unrecorded() -> Iterator[None]:
    """Open files without counting them as read, to find out whether cprsim wrote them."""
    with _recording(None):
        yield


@contextmanager
def _recording(read: set[str] | None) -> Iterator[None]:
    global _read  # noqa: PLW0603
    before, _read = _read, read
    try:
        yield
    finally:
        _read = before


def note(path: str | bytes | os.PathLike[Any]) -> None:
    """Count a file as read that is yet to be opened, or that a library in C opens."""
    if _read is not None:
        with suppress(OSError, ValueError):  # no working directory, no path
            _read.add(str(Path(os.fsdecode(path)).absolute()))


def read_files() -> set[tuple[int, int]]:
    """Return device and inode of each file that was read, and of the code that was imported.

    Links, hard links and other spellings of a path lead to the same numbers.
    """
    # A module comes from its .pyc, so its source is not opened.
    code = (getattr(each, "__file__", None) for each in list(sys.modules.values()))
    found = set()
    for path in {*(_read or ()), *filter(None, code)}:
        with suppress(OSError):
            status = Path(path).stat()
            found.add((status.st_dev, status.st_ino))
    return found


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _read is None or event != "open":
        return
    path, mode, flags = arguments
    reads = flags & os.O_ACCMODE != os.O_WRONLY if mode is None else set(mode) & {"r", "+"}
    if reads and isinstance(path, str | bytes | os.PathLike):
        note(path)
