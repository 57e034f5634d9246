"""Errors of SQLite, told as what to do about them."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cprsim.errors import RunError, UsageError
from cprsim.sweeps.file_systems import locks_in

# What says something about the system, and nothing about what the file holds.
_OF_THE_SYSTEM = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_ABORT,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_AUTH,
}
_OF_LOCKS = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_IOERR_LOCK,
    sqlite3.SQLITE_IOERR_RDLOCK,
    sqlite3.SQLITE_IOERR_UNLOCK,
    sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
}


class DamageError(Exception):
    """Why the content of a file is not what was written; `explained` adds which file it is."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Errors of SQLite, and damage, become ones that say what to do."""
    try:
        yield
    except DamageError as error:
        raise _damaged(path, str(error)) from None
    except UnicodeDecodeError:  # an error of SQLite, with a piece of the file in its words
        raise _damaged(path, "its tables are described in no known letters") from None
    except sqlite3.ProgrammingError:  # ours
        raise
    except sqlite3.DatabaseError as error:
        raise _told(path, error) from None


def code(error: sqlite3.Error) -> int:
    """SQLite's code of an error, without what extends it."""
    return _extended(error) & 0xFF


def _extended(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR))


def _told(path: Path, error: sqlite3.DatabaseError) -> RunError | UsageError:
    if _extended(error) in _OF_LOCKS and not locks_in(path.parent):
        return UsageError(
            f"{path}: its file system does not lock files; choose a folder on another, a local one"
        )
    kind = code(error)
    if kind == sqlite3.SQLITE_FULL:
        return RunError(
            f"{path}: the disk is full; what was stored before is safe: make room, and give "
            "the same command again"
        )
    if kind == sqlite3.SQLITE_BUSY:
        return UsageError(
            f"{path}: another process is writing to it; wait for it, or choose another folder"
        )
    if kind == sqlite3.SQLITE_NOTADB:
        return UsageError(f"{path}: is no SQLite file; choose another folder")
    if kind in _OF_THE_SYSTEM or (
        # A file may say of itself that it is not to be written to.
        kind == sqlite3.SQLITE_READONLY and not os.access(path, os.W_OK)
    ):
        return RunError(f"{path}: {error}")
    return _damaged(path, str(error))


def _damaged(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path}: is damaged ({' '.join(why.split())}); the same cprsim sweep mends what can be "
        "mended, and where it says this too, delete the file or choose another folder"
    )
