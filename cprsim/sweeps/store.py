"""The file of a sweep, an SQLite database: one process writes to it, any may read it meanwhile.

Every row has a SHA-256 of its values. A point with a row that is damaged or missing is run again
when the sweep is resumed; a reader that meets such a row raises an error that says so.
"""

import hashlib
import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.reading import note
from cprsim.errors import RunError, UsageError
from cprsim.runs.measures import Basis
from cprsim.sweeps.definition import Definition
from cprsim.sweeps.points import Point, points_hash
from cprsim.sweeps.tasks import Block, PointPlan, Task, unpack

#: Name of the file in the folder of a sweep.
NAME = "sweep.db"
#: What SQLite adds to the name of a database for a file beside it, and how that file then begins:
#: https://sqlite.org/fileformat2.html
_COMPANIONS: dict[str, tuple[bytes, ...]] = {
    "-journal": (b"\xd9\xd5\x05\xf9", bytes(4)),
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-shm": (),
}
_APPLICATION = 0x63707273  # "cprs", in the header of the database
#: The layout written here, and the others that can be read: 6 also had a table `tally`.
_LAYOUT, _READABLE = 7, (6, 7)
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
)
# A block is whole if each of ?1 policies has a row of it, and its point has all plans.
_PARTS_OF_BLOCKS = (
    "DELETE FROM blocks WHERE (key, start) IN "
    "(SELECT key, start FROM blocks GROUP BY key, start HAVING count(*) != ?1)",
    "DELETE FROM blocks WHERE key NOT IN (SELECT key FROM plans GROUP BY key HAVING count(*) = ?1)",
)
_INCOMPLETE_POINTS = (
    "DELETE FROM finished WHERE error IS NULL AND replications * ?1 IS NOT "
    "(SELECT sum(stop - start) FROM blocks WHERE blocks.key = finished.key)"
)
_PATIENCE_S = 60.0  # to wait for another process


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point of a sweep, and whether it is finished (with so many `replications`) or failed.

    `errors`: why policies failed there, by name; the others have results where it is finished.
    """

    number: int
    values: dict[str, Any]
    key: str | None
    useful_time_s: float
    replications: int | None
    error: str | None
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Return whether there are results."""
        return self.replications is not None and self.error is None

    def with_results(self, policies: Sequence[str]) -> list[str]:
        """Return those of these policies that didn't fail there."""
        return [policy for policy in policies if policy not in self.errors]

    @property
    def to_do(self) -> bool:
        """Return whether it is neither finished nor failed."""
        return not (self.finished or self.error)


class SweepStore:
    """The sweep in a folder, opened for writing; no other process can write to it meanwhile.

    What was added is safe, also from a kill of this process, once `commit` has returned True.
    `lost`: whether something was damaged, and is run again.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection
        self.lost = False

    @classmethod
    def open(
        cls, folder: Path, definition: Definition, points: Sequence[Point], versions: dict[str, Any]
    ) -> "SweepStore":
        """Make the sweep, or resume the one that is there.

        Raises
        ------
        UsageError
            If the folder holds another sweep or something else, if the database itself is damaged,
            or if another process is writing to it.
        RunError
            If the disk fails.
        """
        path = folder / NAME
        _check_companions(folder)
        with explained(path):
            folder.mkdir(parents=True, exist_ok=True)
            store = cls(path, _connect(path, "rwc"))
            try:
                store._begin(wait_s=1.0)
                if _holds_sweep(store._connection, path):
                    definition.check(stored_definition(store._connection), folder)
                    store._forget_damaged(len(definition.policies))
                else:
                    store._make(definition)
                store._insert("points", (point.row for point in points))
                store._connection.execute(
                    "INSERT INTO runs VALUES (datetime('now'), ?)", [json.dumps(versions)]
                )
                store.commit()
            except BaseException:
                store.close()
                raise
        return store

    def finished(self) -> set[str]:
        """Return keys of points that need nothing more; those that failed are tried again."""
        with explained(self._path):
            return {key for (key,) in self._connection.execute("SELECT key FROM finished")}

    def blocks(self, key: str) -> Iterator[tuple[range, Block]]:
        """Yield the blocks that a point has, in order, each with the numbers of replications."""
        with explained(self._path):
            yield from _blocks(self._connection, key)

    def add(self, task: Task, block: Block, errors: Mapping[str, str]) -> None:
        """Keep a block; `errors`: why policies have no replications in it."""
        plans = [
            (task.key, *astuple(each)[:-1], json.dumps(each.basis.numbers)) for each in block.plans
        ]
        rows: list[tuple[Any, ...]] = []
        for policy in task.policies:
            packed = block.packed.get(policy)
            error = errors[policy] if packed is None else None
            rows.append((task.key, policy, task.start, task.stop, error, packed))
        with explained(self._path):
            try:
                self._insert("plans", plans, "IGNORE")
                self._insert("blocks", rows, "REPLACE")  # one after a lost block is played again
            except sqlite3.Error:
                self._connection.rollback()  # no part of a block may be committed
                raise

    def finish(self, key: str, error: str | None, replications: int) -> None:
        """Keep that a point is finished, or why it failed."""
        with explained(self._path):
            self._insert("finished", [(key, error, replications)])

    def commit(self, wait_s: float = 600.0) -> bool:
        """Make what was added safe; return False where a reader was in the way for so long."""
        if not self._connection.in_transaction:
            return False  # an error of the disk has rolled it back
        with explained(self._path):
            self._wait_for_others(wait_s)
            try:
                self._connection.execute("COMMIT")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                    return False  # the transaction continues, with nothing lost
                raise
            self._begin(_PATIENCE_S)
        return True

    def close(self) -> None:
        """Let go of the file; what was not committed is lost."""
        self._connection.close()

    def _begin(self, wait_s: float) -> None:
        # IMMEDIATE keeps all other writers out from now on, not only from the first write.
        self._wait_for_others(wait_s)
        self._connection.execute("BEGIN IMMEDIATE")

    def _wait_for_others(self, wait_s: float) -> None:
        self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * wait_s)}")

    def _make(self, definition: Definition) -> None:
        for statement in _TABLES:
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._connection.execute(f"PRAGMA user_version = {_LAYOUT}")
        self._insert("definition", [(definition.document(),)])

    def _forget_damaged(self, policies: int) -> None:
        """Delete damaged rows, and what is of no use without them; points that failed too."""
        (fault,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if fault != "ok":
            raise sqlite3.DatabaseError(fault)
        lost = 0
        for table in ("plans", "blocks", "finished"):
            rows = self._connection.execute(f"SELECT rowid, * FROM {table}")
            damaged = [(row,) for row, *values, found in rows if found != row_hash(table, values)]
            self._connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", damaged)
            lost += len(damaged)
        for statement in (*_PARTS_OF_BLOCKS, _INCOMPLETE_POINTS):
            lost += self._connection.execute(statement, [policies]).rowcount
        self.lost = lost > 0
        self._connection.execute("DELETE FROM finished WHERE error IS NOT NULL")
        self._connection.execute("DELETE FROM points")
        self._connection.execute(f"PRAGMA user_version = {_LAYOUT}")

    def _insert(
        self, table: str, rows: Iterable[tuple[Any, ...]], otherwise: str = "ABORT"
    ) -> None:
        """Write rows; `otherwise`: what to do where there is one already."""
        columns = len(self._connection.execute(f"PRAGMA table_info({table})").fetchall())
        places = ", ".join("?" * columns)
        self._connection.executemany(
            f"INSERT OR {otherwise} INTO {table} VALUES ({places})",
            ((*map(_storable, row), row_hash(table, row)) for row in rows),
        )


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
    """Return what `Definition.document` wrote."""
    for (document,) in _rows(connection, "definition"):
        found: dict[str, Any] = json.loads(document)
        return found
    raise sqlite3.DatabaseError("it has no definition")


def stored_points(connection: sqlite3.Connection) -> list[StoredPoint]:
    """Return all points, in order, and how far each is."""
    definition, found = stored_definition(connection), []
    finished = {key: ended for key, *ended in _rows(connection, "finished")}
    errors: dict[str, dict[str, str]] = defaultdict(dict)
    for key, policy, _, _, error, _ in _rows(
        connection, "blocks", "WHERE error IS NOT NULL ORDER BY start"
    ):
        errors[key].setdefault(policy, error)  # that of the first block in which it failed
    pairs = []
    for number, given, key, useful_s, fault in _rows(connection, "points", "ORDER BY point"):
        pairs.append((given, key or ""))
        error, count = finished.get(key, (None, None))
        of = errors[key] if key in finished else {}
        ordered = {name: of[name] for name in definition["policies"] if name in of}
        found.append(
            StoredPoint(number, json.loads(given), key, useful_s, count, fault or error, ordered)
        )
    if points_hash(pairs) != definition["points"]:
        raise sqlite3.DatabaseError("its points are not those of its definition")
    return found


def results_of(
    connection: sqlite3.Connection, point: StoredPoint, policies: Sequence[str]
) -> tuple[dict[str, PointPlan], dict[str, NDArray[np.float64]]]:
    """Return the plan of each policy at a finished point, and the replications of those played.

    Replications have the shape (len(COLUMNS), count). `policies`: all of the sweep.
    """
    plans = {}
    for _, policy, system, recovery, interval_s, unmet_s, lossless, basis in _rows(
        connection, "plans", "WHERE key = ?", point.key
    ):
        how = system, recovery, interval_s, unmet_s, bool(lossless)
        plans[policy] = PointPlan(policy, *how, Basis(**json.loads(basis)))
    count, played = 0, point.with_results(policies)
    found: dict[str, list[NDArray[np.float64]]] = {policy: [] for policy in played}
    for numbers, block in _blocks(connection, point.key or ""):
        if numbers.start == count and {*played} <= block.packed.keys():
            count = numbers.stop
            for policy, parts in found.items():
                parts.append(unpack(block.packed[policy]))
    if count != point.replications or plans.keys() != {*policies}:
        raise sqlite3.DatabaseError(f"results of point {point.number} are missing")
    every = {policy: np.concatenate(parts, axis=1) for policy, parts in found.items()}
    return {policy: plans[policy] for policy in policies}, every


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as ones that name the file and say what to do."""
    try:
        yield
    except UnicodeDecodeError:  # an error of SQLite that quotes a piece of the file
        raise _damaged(path, "its tables have no readable names") from None
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
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
        if isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_ERROR:
            raise RunError(f"{path}: {error}") from None  # of the system, not of what it holds
        raise _damaged(path, str(error)) from None


def row_hash(table: str, values: Sequence[Any]) -> bytes:
    """Return the SHA-256 of a table's name and of a row's values, with their types and lengths."""
    parts = [table.encode()]
    for value in values:
        kind, content = b"n", b""
        if isinstance(value, bytes):
            kind, content = b"b", value
        elif isinstance(value, str):
            kind, content = b"t", value.encode(errors="replace")
        elif isinstance(value, int):
            kind, content = b"i", str(int(value)).encode()
        elif isinstance(value, float) and not math.isnan(value):  # SQLite has no NaN, and no -0.0
            kind, content = b"f", (float(value) + 0.0).hex().encode()
        parts += (b"%b%d:" % (kind, len(content)), content)
    return hashlib.sha256(b"".join(parts)).digest()


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    note(path)
    # With no isolation level the module begins no transaction by itself.
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=_PATIENCE_S,
    )
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
    if layout not in _READABLE:
        age = "a newer" if layout > _LAYOUT else "an older"
        raise UsageError(
            f"{path}: was made by {age} cprsim; install that one, or choose another folder"
        )
    return True


def _rows(
    connection: sqlite3.Connection, table: str, rest: str = "", key: str | None = None
) -> Iterator[list[Any]]:
    """Yield rows of a table, of the point with that `key`; `DatabaseError` at a damaged one."""
    given = [] if key is None else [key]
    for number, *values, found in connection.execute(f"SELECT rowid, * FROM {table} {rest}", given):
        # A damaged index may lead to a sound row of another point.
        if found != row_hash(table, values) or key not in (None, values[0]):
            raise sqlite3.DatabaseError(f"row {number:,} of {table} is not as it was written")
        yield values


def _blocks(connection: sqlite3.Connection, key: str) -> Iterator[tuple[range, Block]]:
    rows = _rows(connection, "blocks", "WHERE key = ? ORDER BY start", key)
    for (start, stop), of_one in groupby(rows, itemgetter(2, 3)):
        kept = [(policy, error, packed) for _, policy, _, _, error, packed in of_one]
        packed = {policy: each for policy, error, each in kept if error is None}
        yield (
            range(start, stop),
            Block((), packed, {name: why for name, why, _ in kept if why is not None}),
        )


def _storable(value: Any) -> Any:
    """Return a value as SQLite keeps it: errors may name files in letters that UTF-8 lacks."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _damaged(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path}: is damaged ({' '.join(why.split())}); give the same cprsim sweep again to run "
        "what is lost, or, where that says this too, delete the file"
    )


def _check_companions(folder: Path) -> None:
    """Raise `UsageError` where SQLite would delete a file that is not its own."""
    for suffix, starts in _COMPANIONS.items():
        path = folder / f"{NAME}{suffix}"
        if not path.exists():
            continue
        with path.open("rb") as file:
            first = file.read(4)
        why = "is not of SQLite" if first and starts and first not in starts else ""
        if not (folder / NAME).exists():
            why = f"is there without {NAME}"
        if why:
            raise UsageError(
                f"--out {folder}: {path.name} {why}, and the sweep would delete it; move it, or "
                "give another folder"
            )
