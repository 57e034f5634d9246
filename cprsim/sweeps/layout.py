"""How the file of a sweep is laid out: its tables, and the hash that each of their rows has."""

import hashlib
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cprsim.basics.reading import note
from cprsim.errors import UsageError
from cprsim.sweeps.explained import DamageError

#: The file's name in the folder of the sweep.
NAME = "sweep.db"
#: Values of a row, without its hash.
Row = tuple[Any, ...]

# Who made the file ("cprs"), and how its tables are laid out.
_APPLICATION = 0x63707273
_LAYOUT = 6
_TABLES = (
    "CREATE TABLE definition (document TEXT NOT NULL, hash BLOB NOT NULL)",
    "CREATE TABLE runs (started TEXT NOT NULL, versions TEXT NOT NULL)",
    "CREATE TABLE points (point INTEGER PRIMARY KEY, given TEXT NOT NULL, key TEXT, "
    "useful_time_s REAL, error TEXT, hash BLOB NOT NULL)",
    "CREATE TABLE plans (key TEXT, policy TEXT, system TEXT, recovery TEXT, interval_s REAL, "
    "unmet_s REAL, lossless INTEGER, basis TEXT NOT NULL, hash BLOB NOT NULL, "
    "UNIQUE (key, policy))",
    "CREATE TABLE blocks (key TEXT, policy TEXT, start INTEGER, stop INTEGER, error TEXT, "
    "replications BLOB, hash BLOB NOT NULL, UNIQUE (key, start, policy))",
    "CREATE INDEX failures ON blocks (key) WHERE error IS NOT NULL",
    "CREATE TABLE finished (key TEXT UNIQUE, error TEXT, replications INTEGER, hash BLOB NOT NULL)",
    "CREATE TABLE tally (number INTEGER PRIMARY KEY, points INTEGER, digest BLOB, "
    "hash BLOB NOT NULL)",
)


def connect(path: Path, mode: str, timeout_s: float) -> sqlite3.Connection:
    """A connection that trusts nothing of what it finds."""
    note(path)
    # With no isolation level the module begins no transaction by itself.
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=timeout_s,
    )
    # Of text that is none something comes, and its hash is another.
    connection.text_factory = lambda text: text.decode(errors="replace")
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def is_new(connection: sqlite3.Connection) -> bool:
    """Whether nobody has written to the file yet."""
    tables = _one(connection, "SELECT count(*) FROM sqlite_schema")
    return (*_marks(connection), tables) == (0, 0, 0)


def make(connection: sqlite3.Connection) -> None:
    """Make the tables, empty."""
    # In the caller's transaction: there is a whole sweep or none. So no executescript, which
    # commits.
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_LAYOUT}")


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `UsageError` where a file is no sweep, or laid out in a way that is not known here."""
    application, layout = _marks(connection)
    if application != _APPLICATION:
        raise UsageError(f"{path}: was not made by cprsim sweep; choose another folder")
    if layout != _LAYOUT:
        age = "a newer" if layout > _LAYOUT else "an older"
        raise UsageError(
            f"{path}: was made by {age} cprsim; install that one, or choose another folder"
        )
    # A column that is not there would be no error: SQLite may take its name for a text.
    found = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    if len(found) != len(_TABLES) or {sql for (sql,) in found} != set(_TABLES):
        raise DamageError("its tables are others")


def row_hash(table: str, values: Sequence[Any]) -> bytes:
    """SHA-256 of a row: of its table's name, and of its values with their types and lengths."""
    parts = [table.encode()]
    for value in values:
        kind, content = _content(value)
        parts += (b"%b%d:" % (kind, len(content)), content)
    return hashlib.sha256(b"".join(parts)).digest()


def insert(
    connection: sqlite3.Connection, table: str, rows: Iterable[Row], otherwise: str = "ABORT"
) -> None:
    """Write rows, each with its hash; `otherwise`: what to do where there is one already."""
    rows = iter(rows)
    for first in rows:
        places = ", ".join("?" * (len(first) + 1))
        connection.executemany(
            f"INSERT OR {otherwise} INTO {table} VALUES ({places})",
            ((*map(_stored, row), row_hash(table, row)) for row in chain([first], rows)),
        )


def rows(
    connection: sqlite3.Connection, table: str, rest: str = "", given: Sequence[Any] = ()
) -> Iterator[Row]:
    """Rows of a table as they were written; `DamageError` at one that is another by now."""
    for number, *values, found in connection.execute(f"SELECT rowid, * FROM {table} {rest}", given):
        if found != row_hash(table, values):
            raise DamageError(f"row {number:,} of {table} is not as it was written")
        yield tuple(values)


def rows_of(
    connection: sqlite3.Connection, table: str, key: str, order: str = "rowid"
) -> Iterator[Row]:
    """Rows of a point, in an order."""
    for row in rows(connection, table, f"WHERE key = ? ORDER BY {order}", [key]):
        if row[0] != key:  # a good row, to which a damaged index has led
            raise DamageError(f"a row of {table} is another point's")
        yield row


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    return (
        _one(connection, "PRAGMA application_id"),
        _one(connection, "PRAGMA user_version"),
    )


def _one(connection: sqlite3.Connection, statement: str) -> int:
    (value,) = connection.execute(statement).fetchone()
    return int(value)


def _stored(value: Any) -> Any:
    """As SQLite keeps it: an error may name a file in letters that it can't."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _content(value: Any) -> tuple[bytes, bytes]:
    """Of what SQLite keeps of a value."""
    if isinstance(value, bytes):
        return b"b", value
    if isinstance(value, str):
        return b"t", value.encode(errors="replace")
    if isinstance(value, int):
        return b"i", str(int(value)).encode()
    if isinstance(value, float) and not math.isnan(value):  # it has no NaN, and no -0.0
        return b"f", (float(value) + 0.0).hex().encode()
    return b"n", b""
