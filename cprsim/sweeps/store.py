"""The file of a sweep, an SQLite database: one process writes to it, any may read it meanwhile.

A row of a table is a number, a JSON document, their SHA-256, and packed replications. A point whose
result is damaged or missing is run again when the sweep is resumed; a reader of a damaged row
raises an error.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.reading import note
from cprsim.errors import CprsimError, RunError, UsageError
from cprsim.sweeps.points import Point
from cprsim.sweeps.tasks import PointPlan, PointResult, unpack

#: Name of the file in the folder of a sweep.
NAME = "sweep.db"
#: Files that SQLite makes and deletes next to it.
_COMPANIONS = [f"{NAME}-{kind}" for kind in ("journal", "wal", "shm")]
_APPLICATION = 0x63707273  # "cprs", in the header of the database
_LAYOUT = 8
_PATIENCE_S = 60.0  # to wait for another process
_TURN_S = 0.5  # SQLite waits so long at a time, since no interrupt is raised meanwhile
#: What makes it; `data` is the last column, so that the others are read without it.
_MADE = (
    *(
        f"CREATE TABLE {table} (number INTEGER PRIMARY KEY, document TEXT NOT NULL, "
        "hash BLOB NOT NULL, data BLOB NOT NULL)"
        for table in ("definition", "points", "results")
    ),
    "CREATE TABLE runs (started TEXT NOT NULL, versions TEXT NOT NULL)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_LAYOUT}",
)


class SweepStore:
    """A sweep that is opened for writing.

    `done`: numbers of points that are finished. `lost`: whether some were damaged.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection
        self.done: set[int] = set()
        self.lost = False

    def start(
        self, definition: dict[str, Any], points: Iterable[Point], versions: dict[str, Any]
    ) -> None:
        """Make the tables of a new sweep, or resume the one that is there.

        Raises `UsageError` where that has another definition.
        """
        self._begin(wait_s=1.0)
        if _holds_sweep(self._connection, self._path):
            _check_same(self._path.parent, stored_definition(self._connection), definition)
            self._forget_damaged()
        else:
            for statement in _MADE:
                self._connection.execute(statement)
            self._insert("definition", [(0, definition, b"")])
        self._connection.execute("DELETE FROM points")
        self._insert("points", ((each.number, each.document, b"") for each in points))
        now = "INSERT INTO runs VALUES (datetime('now'), ?)"
        self._connection.execute(now, [json.dumps(versions)])

    def _begin(self, wait_s: float) -> None:
        """Keep all other writers out from now on; not, as SQLite would, from the first write."""
        self._wait(wait_s)
        self._connection.execute("BEGIN IMMEDIATE")

    def _wait(self, wait_s: float) -> None:
        """Let all that follows wait for other processes so long."""
        self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * wait_s)}")

    def _forget_damaged(self) -> None:
        """Delete damaged results, and those of points that failed as a whole, to run them again."""
        (fault,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if fault != "ok":
            raise sqlite3.DatabaseError(fault)
        again = []
        for number, text, found, data in self._connection.execute("SELECT * FROM results"):
            document = json.loads(text) if found == _hash("results", number, text) else {}
            damaged = document.get("sha256") != _sha256(data)
            self.lost |= damaged
            if damaged or not document["plans"]:
                again.append((number,))
            else:
                self.done.add(number)
        self._connection.executemany("DELETE FROM results WHERE number = ?", again)

    def add(self, point: int, result: PointResult) -> None:
        """Keep the result of a point; safe, also from a kill, once `commit` has returned True."""
        packed = b"".join(result.packed.values())
        document = {
            "plans": [each.to_dict() for each in result.plans],
            "errors": result.errors,
            "error": result.error,
            "replications": result.replications,
            "sizes": {policy: len(own) for policy, own in result.packed.items()},
            "sha256": _sha256(packed),
        }
        with explained(self._path):
            self._insert("results", [(point, document, packed)])

    def _insert(self, table: str, rows: Iterable[tuple[int, dict[str, Any], bytes]]) -> None:
        for number, document, data in rows:
            text = json.dumps(document, ensure_ascii=False, default=str)
            # Errors may name files in letters that UTF-8 lacks, for which it has `?`.
            text = text.encode(errors="replace").decode()
            row = (number, text, _hash(table, number, text), data)
            self._connection.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", row)

    def commit(self, wait_s: float = 600.0) -> bool:
        """Make what was added safe; return False where a reader was in the way for so long."""
        if not self._connection.in_transaction:
            return False  # an error of the disk has rolled it back
        ends_s = time.monotonic() + wait_s
        with explained(self._path):
            self._wait(min(wait_s, _TURN_S))
            while not self._commits():
                if time.monotonic() >= ends_s:
                    return False  # the transaction continues, with nothing lost
            self._begin(_PATIENCE_S)
        return True

    def _commits(self) -> bool:
        """Return whether it does; not where a reader is in the way."""
        try:
            self._connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True


@contextmanager
def writing(
    folder: Path, definition: dict[str, Any], points: Sequence[Point], versions: dict[str, Any]
) -> Iterator[SweepStore]:
    """Make the sweep in a folder, or resume the one that is there.

    No other process can write to it meanwhile.

    Raises
    ------
    UsageError
        If the folder holds another sweep or something else, if the database itself is damaged, or
        if another process is writing to it.
    RunError
        If the disk fails.
    """
    path = folder / NAME
    others = [] if path.exists() else [each for each in _COMPANIONS if (folder / each).exists()]
    if others:
        raise UsageError(
            f"--out {folder}: {others[0]} is there without {NAME}, and the sweep would delete it; "
            "move it, or give another folder"
        )
    with explained(path):
        folder.mkdir(parents=True, exist_ok=True)
        connection = _connect(path, "rwc")
    store = SweepStore(path, connection)
    try:
        with explained(path):
            store.start(definition, points, versions)
        store.commit()
        yield store
    finally:
        connection.close()


#: Entries of a definition whose two values an error shows, and others that it only names.
_TOLD = {
    "policies": "policies are",
    "seed": "seed is",
    "replications": "replications are",
    "half_width": "half-width is",
    "engine": "engine is",
}
_HASHED = {"scenario": "its scenario is another", "points": "its points are others"}


def _check_same(folder: Path, was: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise `UsageError` where a folder holds a sweep of another definition."""
    theirs, ours = was["model_version"], now["model_version"]
    if theirs != ours:
        age = "a newer" if theirs > ours else "an older"
        raise UsageError(
            f"--out {folder}: holds a sweep of {age} cprsim (model version {theirs}, this one "
            f"has {ours}), whose numbers don't go with these; install that one, or choose "
            "another folder"
        )
    found = []
    for key, words in _TOLD.items():
        old, new = ((each | each["rule"])[key] for each in (was, now))
        if key == "policies":
            old, new = ", ".join(old), ", ".join(new)
        found += [f"its {words} {old}, not {new}"] if old != new else []
    found += [words for key, words in _HASHED.items() if was[key] != now[key]]
    found += [
        f"the code of its policy {name!r} was another"
        for name, code in was["code"].items()
        if now["code"].get(name) != code
    ]
    if found:
        raise UsageError(f"--out {folder}: holds another sweep: {found[0]}; choose another folder")


@contextmanager
def reading(folder: str | Path) -> Iterator[sqlite3.Connection]:
    """Open the sweep in a folder for reading: one state of it, also while it is written."""
    path = Path(folder) / NAME
    nothing = f"{folder}: holds no sweep; name the folder given to cprsim sweep --out"
    if not path.is_file():
        raise UsageError(nothing)
    with explained(path):
        # For writing as well, since a writer that was killed may have left a journal.
        connection = _connect(path, "rw")
        try:
            connection.execute("BEGIN")
            if not _holds_sweep(connection, path):
                raise UsageError(nothing)
            yield connection
        finally:
            connection.close()


def stored_definition(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return the definition that the sweep was made with."""
    for _, document in _rows(connection, "definition"):
        return document  # type: ignore[no-any-return]
    raise sqlite3.DatabaseError("it has no definition")


def stored_points(connection: sqlite3.Connection) -> list[Point]:
    """Return all points, in order, and how far each is."""
    results, found = dict(_rows(connection, "results")), []
    for number, point in _rows(connection, "points"):
        of = results.get(number, {"replications": None, "error": "", "errors": {}})
        error = point["error"] or of["error"] or None
        known = point["values"], point["useful_time_s"], of["replications"]
        found.append(Point(number, *known, error, of["errors"]))
    if [each.number for each in found] != [*range(stored_definition(connection)["count"])]:
        raise sqlite3.DatabaseError("its points are not those of its definition")
    return found


def results_of(
    connection: sqlite3.Connection, point: int
) -> tuple[dict[str, PointPlan], dict[str, NDArray[np.float64]]]:
    """Return the plan of each policy at a finished point, and the replications of those played.

    Replications have the shape (len(COLUMNS), count).
    """
    for _, document, data in _rows(connection, "results", ", data", f"WHERE number = {point:d}"):
        if document["sha256"] != _sha256(data):
            break
        plans = [PointPlan.from_dict(each) for each in document["plans"]]
        played, start = {}, 0
        for policy, size in document["sizes"].items():
            played[policy] = unpack(data[start : start + size])
            start += size
        return {each.policy: each for each in plans}, played
    raise sqlite3.DatabaseError(f"results of point {point} are missing")


_FAULTS: dict[int, tuple[type[CprsimError], str]] = {
    sqlite3.SQLITE_FULL: (
        RunError,
        "the disk is full; what was stored before is safe: make room, and give the same command "
        "again",
    ),
    sqlite3.SQLITE_BUSY: (
        UsageError,
        "another process is writing to it; wait for it, or choose another folder",
    ),
    sqlite3.SQLITE_NOTADB: (UsageError, "is no SQLite file; choose another folder"),
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as ones that name the file and say what to do."""
    try:
        yield
        return
    except UnicodeDecodeError:  # an error of SQLite that quotes a piece of the file
        why = "its tables have no readable names"
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _FAULTS:
            kind, told = _FAULTS[code]
            raise kind(f"{path}: {told}") from None
        if isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_ERROR:
            raise RunError(f"{path}: {error}") from None  # of the system, not of what it holds
        why = " ".join(str(error).split())
    raise UsageError(
        f"{path}: is damaged ({why}); give the same cprsim sweep again to run what is lost, or, "
        "where that says this too, delete the file"
    )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    note(path)
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    # With no isolation level the module begins no transaction by itself.
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_PATIENCE_S)
    # Damaged text is read as some other text, whose hash is another.
    connection.text_factory = lambda text: text.decode(errors="replace")
    return connection


def _holds_sweep(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether a database holds a sweep, and not nothing; raise where it holds others'."""
    asked = ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema")
    application, layout, tables = (connection.execute(each).fetchone()[0] for each in asked)
    if (application, layout, tables) == (0, 0, 0):
        return False
    if application != _APPLICATION:
        raise UsageError(f"{path}: was not made by cprsim sweep; choose another folder")
    if layout != _LAYOUT:
        age = "a newer" if layout > _LAYOUT else "an older"
        raise UsageError(
            f"{path}: was made by {age} cprsim; install that one, or choose another folder"
        )
    return True


def _rows(
    connection: sqlite3.Connection, table: str, more: str = "", where: str = ""
) -> Iterator[tuple[Any, ...]]:
    """Yield numbers, documents and `more` columns of a table in order.

    Raises `DatabaseError` at a damaged row.
    """
    asked = f"SELECT number, document, hash{more} FROM {table} {where} ORDER BY number"
    for number, text, found, *others in connection.execute(asked):
        if found != _hash(table, number, text):
            raise sqlite3.DatabaseError(f"row {number} of {table} is not as it was written")
        yield number, json.loads(text), *others


def _hash(table: str, number: int, text: Any) -> bytes:
    return hashlib.sha256(f"{table} {number} {text}".encode(errors="replace")).digest()


def _sha256(data: Any) -> str:
    return hashlib.sha256(data if isinstance(data, bytes) else b"").hexdigest()
