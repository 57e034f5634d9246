"""Results of a sweep in one SQLite file, written by one process and read by any."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cprsim.sweeps import layout
from cprsim.sweeps.definition import Definition
from cprsim.sweeps.explained import code, explained
from cprsim.sweeps.layout import NAME, Row, insert, rows
from cprsim.sweeps.mending import mend
from cprsim.sweeps.points import Point
from cprsim.sweeps.reading import StoredBlock, Tally, blocks_of, stored_definition
from cprsim.sweeps.tasks import Block, Task

_PATIENCE_S = 60.0  # for a reader to be done


class SweepStore:
    """The writer's hold on a sweep.

    From its opening to its closing nobody else can write. What is added is safe, whatever happens
    to this process or its machine, once `commit` has returned. `mended`: what was damaged in the
    file and is done again, for people; mostly an empty text.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection
        self._tally = Tally()
        self._is_new = False
        self.mended = ""

    @classmethod
    def open(
        cls, folder: Path, definition: Definition, points: Sequence[Point], versions: dict[str, Any]
    ) -> "SweepStore":
        """Make the sweep, or take up the one that is there.

        Raises
        ------
        UsageError
            If the folder holds another sweep, one of another model, one that is damaged beyond
            mending, or something else, or if another process is writing to it.
        RunError
            If the disk fails.
        """
        path = folder / NAME
        with explained(path):
            folder.mkdir(parents=True, exist_ok=True)
            store = cls(path, layout.connect(path, "rwc", _PATIENCE_S))
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
        with explained(self._path):
            return {key for key, *_ in rows(self._connection, "finished")}

    def blocks(self, key: str, policies: Sequence[str]) -> Iterator[StoredBlock]:
        """Blocks that there were of a point, in order."""
        if self._is_new:
            return
        with explained(self._path):
            yield from blocks_of(self._connection, key, policies)

    def add(self, task: Task, block: Block, errors: Mapping[str, str]) -> None:
        """Keep a block; `errors`: why there is nothing of those policies that it has not."""
        plans = [(task.key, *each.kept, json.dumps(each.basis.numbers)) for each in block.plans]
        found = [
            (policy, task.start, task.stop, None if policy in block.packed else errors[policy])
            for policy in task.policies
        ]
        self._write("plans", plans, "IGNORE")
        # One beyond a block that was lost is done again.
        rows = [(task.key, *each, block.packed.get(each[0])) for each in found]
        self._write("blocks", rows, "REPLACE")

    def finish(self, key: str, error: str | None, replications: int) -> None:
        """Keep that a point is finished, or why it failed."""
        row = (key, error, replications)
        self._write("finished", [row])
        self._tally.add(row)

    def _write(self, table: str, added: Sequence[Row], otherwise: str = "ABORT") -> None:
        with explained(self._path):
            try:
                insert(self._connection, table, added, otherwise)
            except sqlite3.Error:
                self._connection.rollback()  # no part of a block may be committed
                raise

    def commit(self, patience_s: float = 600.0) -> bool:
        """Make what was added safe; False where a reader was in the way for so long."""
        if not self._connection.in_transaction:
            return False  # it was rolled back: there is nothing to make safe
        self._write("tally", [self._tally.row], "REPLACE")
        self._wait_at_most(patience_s)
        with explained(self._path):
            try:
                self._connection.execute("COMMIT")
            except sqlite3.OperationalError as error:
                if code(error) == sqlite3.SQLITE_BUSY:
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
        if layout.is_new(self._connection):
            layout.make(self._connection)
            insert(self._connection, "definition", [(definition.document(),)])
            insert(self._connection, "points", (point.row for point in points))
            self._is_new = True
            return
        layout.check(self._connection, self._path)
        definition.check(stored_definition(self._connection), folder)
        self.mended = mend(
            self._connection, (point.row for point in points), len(definition.policies)
        )
        self._connection.execute("DELETE FROM finished WHERE error IS NOT NULL")
        self._tally = Tally.of(rows(self._connection, "finished"))
