"""Results of a sweep in one SQLite file, written by one process and read by any."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any

from cprsim.errors import RunError, UsageError
from cprsim.sweeps.definition import Definition
from cprsim.sweeps.points import Point
from cprsim.sweeps.tasks import Block, Task

#: The file's name in the folder of the sweep.
NAME = "sweep.db"
# Who made the file ("cprs"), and how its tables are laid out.
_APPLICATION = 0x63707273
_LAYOUT = 2
_PATIENCE_S = 60.0  # for a reader to be done
_TABLES = """
CREATE TABLE definition (document TEXT NOT NULL);
CREATE TABLE runs (started TEXT NOT NULL, versions TEXT NOT NULL);
CREATE TABLE points (
    point INTEGER PRIMARY KEY, "values" TEXT NOT NULL, key TEXT, useful_time_s REAL, error TEXT
);
CREATE TABLE plans (
    key TEXT, policy TEXT, system TEXT, recovery TEXT, interval_s REAL,
    basis TEXT NOT NULL,
    PRIMARY KEY (key, policy)
) WITHOUT ROWID;
CREATE TABLE blocks (
    key TEXT, policy TEXT, start INTEGER, stop INTEGER, replications BLOB NOT NULL,
    PRIMARY KEY (key, policy, start)
);
CREATE TABLE finished (key TEXT PRIMARY KEY, error TEXT) WITHOUT ROWID;
"""


class SweepStore:
    """The writer's hold on a sweep.

    From its opening to its closing nobody else can write. What is added is safe, whatever happens
    to this process or its machine, once `commit` has returned.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection

    @classmethod
    def open(
        cls, folder: Path, definition: Definition, points: Sequence[Point], versions: dict[str, Any]
    ) -> "SweepStore":
        """Make the sweep, or take up the one that is there.

        Raises
        ------
        UsageError
            If the folder holds another sweep, one of another model, or something else, or if
            another process is writing to it.
        RunError
            If the disk fails.
        """
        path = folder / NAME
        with _errors_explained(path):
            folder.mkdir(parents=True, exist_ok=True)
            store = cls(path, _connect(path, "rwc"))
            try:
                store._begin(timeout_s=1.0)
                store._check_or_make(folder, definition, points)
                store._connection.execute(
                    "INSERT INTO runs VALUES (datetime('now'), ?)", [json.dumps(versions)]
                )
                store.commit()
            except BaseException:
                store._connection.close()
                raise
        return store

    def finished(self) -> set[str]:
        """Keys of points that need nothing more; those that failed are tried again."""
        with _errors_explained(self._path):
            self._connection.execute("DELETE FROM finished WHERE error IS NOT NULL")
            return {key for (key,) in self._connection.execute("SELECT key FROM finished")}

    def packed(self, key: str, policies: Sequence[str]) -> dict[int, tuple[bytes, ...]]:
        """First replication of each block of a point to what is kept of it, a policy each."""
        return packed(self._connection, key, policies)

    def add(self, task: Task, block: Block) -> None:
        """Keep a block."""
        plans = [
            (task.key, *astuple(each)[:-1], json.dumps(each.basis._asdict()))
            for each in block.plans
        ]
        rows = [
            (task.key, policy, task.start, task.stop, each)
            for policy, each in zip(task.policies, block.packed, strict=True)
        ]
        self._write("INSERT OR IGNORE INTO plans VALUES (?, ?, ?, ?, ?, ?)", plans)
        self._write("INSERT INTO blocks VALUES (?, ?, ?, ?, ?)", rows)

    def finish(self, key: str, error: str | None) -> None:
        """Keep that a point is finished, or why it failed."""
        self._write("INSERT INTO finished VALUES (?, ?)", [(key, error)])

    def _write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with _errors_explained(self._path):
            try:
                self._connection.executemany(statement, rows)
            except sqlite3.Error:
                self._connection.rollback()  # no part of a block may be committed
                raise

    def commit(self, patience_s: float = 600.0) -> bool:
        """Make what was added safe; False where a reader was in the way for so long."""
        self._wait_at_most(patience_s)
        with _errors_explained(self._path):
            try:
                self._connection.execute("COMMIT")
            except sqlite3.OperationalError as error:
                if _code(error) == sqlite3.SQLITE_BUSY:
                    return False  # nothing is lost: the transaction goes on
                raise
            self._begin(_PATIENCE_S)
        return True

    def close(self) -> None:
        """Let go of the file; what was not committed is lost."""
        self._connection.close()

    def _begin(self, timeout_s: float) -> None:
        # At once, not with the first write: whoever has begun keeps all other writers out.
        self._wait_at_most(timeout_s)
        self._connection.execute("BEGIN IMMEDIATE")

    def _wait_at_most(self, timeout_s: float) -> None:
        self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * timeout_s)}")

    def _check_or_make(self, folder: Path, definition: Definition, points: Sequence[Point]) -> None:
        if self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
            self._make(definition, points)
        else:
            check(self._connection, self._path)
            definition.check(stored_definition(self._connection), folder)

    def _make(self, definition: Definition, points: Sequence[Point]) -> None:
        # In one transaction: there is a whole sweep or none. So no executescript, which commits.
        for statement in _TABLES.split(";"):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._connection.execute(f"PRAGMA user_version = {_LAYOUT}")
        self._connection.execute("INSERT INTO definition VALUES (?)", [definition.document()])
        self._connection.executemany(
            "INSERT INTO points VALUES (?, ?, ?, ?, ?)",
            (
                (
                    point.number,
                    json.dumps(point.values, default=str),
                    point.key or None,
                    point.useful_time_s or None,
                    point.error or None,
                )
                for point in points
            ),
        )


@contextmanager
def reading(folder: str | Path) -> Iterator[sqlite3.Connection]:
    """A connection to the sweep in a folder, also while another process writes to it."""
    path = Path(folder) / NAME
    if not path.is_file():
        raise UsageError(f"{folder}: holds no sweep; name the folder given to cprsim sweep --out")
    with _errors_explained(path):
        connection = _connect(path, "rw")  # a writer that was killed may have left a journal
        try:
            connection.execute("BEGIN")  # one state from the first row to the last
            check(connection, path)
            yield connection
        finally:
            connection.close()


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `UsageError` where a file is no sweep, or laid out in a way that is not known here."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise UsageError(f"{path}: was not made by cprsim sweep; choose another folder")
    if layout != _LAYOUT:
        age = "a newer" if layout > _LAYOUT else "an older"
        raise UsageError(
            f"{path}: was made by {age} cprsim; install that one, or choose another folder"
        )


def packed(
    connection: sqlite3.Connection, key: str, policies: Sequence[str]
) -> dict[int, tuple[bytes, ...]]:
    """First replication of each block of a point to what is kept of it, a policy each."""
    found: dict[int, dict[str, bytes]] = {}
    for policy, start, each in connection.execute(
        "SELECT policy, start, replications FROM blocks WHERE key = ?", [key]
    ):
        found.setdefault(start, {})[policy] = each
    return {start: tuple(found[start][name] for name in policies) for start in sorted(found)}


def stored_definition(connection: sqlite3.Connection) -> dict[str, Any]:
    """What the stored sweep is; `Definition` made it."""
    (document,) = connection.execute("SELECT document FROM definition").fetchone()
    return json.loads(document)  # type: ignore[no-any-return]


def _code(error: sqlite3.DatabaseError) -> int:
    """SQLite's code of an error, without what extends it."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # With no isolation level the module begins no transaction by itself.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=_PATIENCE_S,
    )


@contextmanager
def _errors_explained(path: Path) -> Iterator[None]:
    """Errors of SQLite become ones that say what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = _code(error)
        if code == sqlite3.SQLITE_FULL:
            raise RunError(
                f"{path}: the disk is full; what was stored before is safe: make room, and give "
                "the same command again"
            ) from None
        if code == sqlite3.SQLITE_BUSY:
            raise UsageError(
                f"{path}: another process is writing to it; wait for it, or choose another folder"
            ) from None
        if code == sqlite3.SQLITE_NOTADB:
            raise UsageError(f"{path}: is no SQLite file; choose another folder") from None
        raise RunError(f"{path}: {error}") from None
