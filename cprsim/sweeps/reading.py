"""What the file of a sweep holds, read from it; whatever isn't as it was written is an error.

A reader sees one state of the file, also while somebody writes to it. Points that are not finished
may have blocks then; they are none of a reader's business.
"""

import json
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.runs.measures import Basis
from cprsim.sweeps import layout
from cprsim.sweeps.definition import Definition
from cprsim.sweeps.explained import DamageError, explained
from cprsim.sweeps.layout import NAME, Row, row_hash, rows, rows_of
from cprsim.sweeps.plans import PointPlan
from cprsim.sweeps.played import StoredPoint
from cprsim.sweeps.points import PointsHash
from cprsim.sweeps.tasks import unpack

_PATIENCE_S = 60.0  # for a writer that commits
#: What every definition says; older ones have no currency, and no code.
_NEEDED = {each.name for each in fields(Definition)} - {"currency", "code"}


@contextmanager
def reading(folder: str | Path) -> Iterator[sqlite3.Connection]:
    """A connection to the sweep in a folder, also while another process writes to it."""
    path = Path(folder) / NAME
    if not path.is_file():
        raise UsageError(f"{folder}: holds no sweep; name the folder given to cprsim sweep --out")
    with explained(path):
        # To be written to, since a writer that was killed may have left a journal.
        connection = layout.connect(path, "rw", _PATIENCE_S)
        try:
            connection.execute("BEGIN")  # one state from the first row to the last
            layout.check(connection, path)
            yield connection
        finally:
            connection.close()


def stored_definition(connection: sqlite3.Connection) -> dict[str, Any]:
    """What the stored sweep is; `Definition` made it."""
    found = list(rows(connection, "definition"))
    if len(found) != 1:
        raise DamageError(f"it has {len(found)} definitions")
    definition = _parsed(found[0][0], "definition")
    lacking = sorted(_NEEDED - definition.keys())
    if lacking:
        raise DamageError(f"its definition has no {lacking[0]}")
    return definition


def _parsed(text: str, table: str) -> dict[str, Any]:
    """A JSON table that a row holds."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DamageError(f"a row of {table} is no JSON of cprsim's")
    return found


def _basis(text: str) -> Basis:
    """What measures rest on, of a row of plans."""
    try:
        return Basis(**_parsed(text, "plans"))
    except TypeError:
        raise DamageError("a row of plans has other numbers than cprsim's") from None


@dataclass
class Tally:
    """How many rows there are of points that are finished, and which, in whatever order.

    So a row that is missing is missed, which by itself would be a point still to be done.
    """

    points: int = 0
    digest: int = 0

    @classmethod
    def of(cls, finished: Iterable[Row]) -> "Tally":
        """Of such rows."""
        tally = cls()
        for row in finished:
            tally.add(row)
        return tally

    def add(self, row: Row) -> None:
        """Count one more."""
        self.points += 1
        self.digest ^= int.from_bytes(row_hash("finished", row))

    @property
    def row(self) -> Row:
        """As it is stored."""
        return 1, self.points, self.digest.to_bytes(32)


def stored_tally(connection: sqlite3.Connection) -> Row:
    """The row of it."""
    found = list(rows(connection, "tally"))
    if len(found) != 1:
        raise DamageError(f"it has {len(found)} tallies")
    return found[0]


def stored_points(connection: sqlite3.Connection) -> list[StoredPoint]:
    """All points, in order, and how far each is."""
    ends, errors, found = _ends(connection), _errors(connection), []
    for number, given, key, useful_s, fault in point_rows(connection):
        error, count = ends.get(key, (None, None))
        told = fault or error, errors.get(key, {}) if key in ends else {}
        found.append(StoredPoint(number, _parsed(given, "points"), key, useful_s, count, *told))
    return found


def _errors(connection: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """Of points why policies failed there: in the first block in which each did."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    failures = "WHERE error IS NOT NULL ORDER BY start"
    for key, policy, _, _, error, _ in rows(connection, "blocks", failures):
        if error is None:  # a good row, to which a damaged index has led
            raise DamageError("a row of blocks is no failure")
        found[key].setdefault(policy, error)
    policies = stored_definition(connection)["policies"]
    return {key: {name: of[name] for name in policies if name in of} for key, of in found.items()}


def point_rows(connection: sqlite3.Connection) -> Iterator[Row]:
    """Rows of points; `DamageError` in the end where they are not those of the definition."""
    told = PointsHash()
    for row in rows(connection, "points", "ORDER BY point"):
        told.add(row[1], row[2] or "")
        yield row
    if told.text != stored_definition(connection)["points"]:
        raise DamageError("its points are not those that it was begun with")


def _ends(connection: sqlite3.Connection) -> dict[str, Row]:
    """Of points that are finished the error and how many replications, by their keys."""
    tally, found = Tally(), {}
    for row in rows(connection, "finished"):
        tally.add(row)
        found[row[0]] = row[1:]
    if tally.row != stored_tally(connection):
        raise DamageError("points that were finished are missing")
    return found


class StoredBlock(NamedTuple):
    """Replications of these numbers: packed, or why there are none, of each policy."""

    numbers: range
    packed: dict[str, bytes]
    errors: dict[str, str]


def blocks_of(
    connection: sqlite3.Connection, key: str, policies: Sequence[str]
) -> Iterator[StoredBlock]:
    """Blocks of a point, in order."""
    every = rows_of(connection, "blocks", key, "start")
    for start, of_one in groupby(every, itemgetter(2)):
        found = {policy: kept for _, policy, _, *kept in of_one}
        stops = {stop for stop, *_ in found.values()}
        if found.keys() != set(policies) or len(stops) != 1:
            raise DamageError("a block lacks policies")
        packed = {policy: kept for policy, (_, error, kept) in found.items() if error is None}
        errors = {policy: error for policy, (_, error, _) in found.items() if error is not None}
        yield StoredBlock(range(start, stops.pop()), packed, errors)


def plans_of(
    connection: sqlite3.Connection, key: str, policies: Sequence[str]
) -> dict[str, PointPlan]:
    """Of a point, what is told of each policy's plan."""
    found, stored = {}, rows_of(connection, "plans", key)
    for _, policy, system, recovery, interval_s, unmet_s, lossless, basis in stored:
        how = (system, recovery, interval_s, unmet_s, bool(lossless))
        found[policy] = PointPlan(policy, *how, _basis(basis))
    if found.keys() != set(policies):
        raise DamageError("a point lacks plans")
    return {policy: found[policy] for policy in policies}


def values_of(
    connection: sqlite3.Connection, point: StoredPoint, policies: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """Replications of a point that is finished: of each policy, shape (len(COLUMNS), count).

    `policies`: all of the sweep; those that failed at the point are left out.
    """
    count, found = 0, []
    played = point.with_results(policies)
    for block in blocks_of(connection, point.key or "", policies):
        if block.numbers.start != count:
            break
        count = block.numbers.stop
        if block.errors.keys() & set(played):
            raise DamageError("a policy failed at a point, and the list of failures hasn't it")
        try:
            found.append([unpack(block.packed[policy]) for policy in played])
        except (zlib.error, ValueError):
            part = f"replications {block.numbers.start:,} to {count:,}"
            raise DamageError(f"{part} are packed in another way") from None
    if not found or count != point.replications:
        raise DamageError("replications of a point are missing")
    every = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
    return dict(zip(played, every, strict=True))
