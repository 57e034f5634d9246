"""Damage in the file of a sweep that goes on: what is lost is dropped, and so done again."""

import sqlite3
from collections.abc import Iterable
from contextlib import suppress

from cprsim.basics.units import counted
from cprsim.sweeps.explained import DamageError
from cprsim.sweeps.layout import Row, insert, row_hash
from cprsim.sweeps.reading import Tally, point_rows, stored_tally

#: Of the damaged rows of a table that are named.
_SHOWN = 3
# Rows of a block that not all policies have, of a point that lacks plans: each is whole by itself,
# and no use without the others.
_PARTS = (
    "DELETE FROM blocks WHERE (key, start) IN "
    "(SELECT key, start FROM blocks GROUP BY key, start HAVING count(*) != ?1)",
    "DELETE FROM blocks WHERE key NOT IN (SELECT key FROM plans GROUP BY key HAVING count(*) = ?1)",
)
_INCOMPLETE = (
    "DELETE FROM finished WHERE error IS NULL AND replications * ?1 IS NOT "
    "(SELECT sum(stop - start) FROM blocks WHERE blocks.key = finished.key)"
)


def mend(connection: sqlite3.Connection, points: Iterable[Row], policies: int) -> str:
    """Have nothing in the file but what is whole; what wasn't, for people, or an empty text.

    `points`: rows of all points. What holds a row's place may be damaged as well, and then so
    that nothing can be told for sure: that is a `DamageError`.
    """
    found = [*_mended_indexes(connection), *_mended_points(connection, points)]
    damaged = {table: _drop_damaged(connection, table) for table in ("plans", "blocks", "finished")}
    lost = sum(connection.execute(each, [policies]).rowcount for each in _PARTS)
    points_lost = connection.execute(_INCOMPLETE, [policies]).rowcount
    found += [_named(table, rows) for table, rows in damaged.items() if rows]
    found += _told(lost, "row", " that other rows are needed for")
    found += _told(points_lost, "finished point", "")
    found = found or _mended_tally(connection)
    connection.execute("DELETE FROM tally")  # the store writes it anew
    return ", ".join(found)


def _mended_indexes(connection: sqlite3.Connection) -> list[str]:
    """Indexes can be made anew from the rows; what else holds the rows can't."""
    check = "PRAGMA integrity_check(1)"
    (structure,) = connection.execute(check).fetchone()
    if structure == "ok":
        return []
    connection.execute("REINDEX")
    (left,) = connection.execute(check).fetchone()
    if left != "ok":
        raise DamageError(structure)
    return ["the indexes"]


def _told(count: int, what: str, which: str) -> list[str]:
    return [f"{counted(count, what)}{which}"] if count else []


def _mended_points(connection: sqlite3.Connection, points: Iterable[Row]) -> list[str]:
    with suppress(DamageError):
        for _ in point_rows(connection):
            pass
        return []
    connection.execute("DELETE FROM points")
    insert(connection, "points", points)
    return ["the table of points"]


def _mended_tally(connection: sqlite3.Connection) -> list[str]:
    """Whether it was another."""
    finished = connection.execute("SELECT key, error, replications FROM finished")
    with suppress(DamageError):
        if Tally.of(finished).row == stored_tally(connection):
            return []
    return ["the list of finished points"]


def _named(table: str, rows: list[int]) -> str:
    """Which rows of a table: `row 3 of blocks`."""
    first = ", ".join(f"{row:,}" for row in rows[:_SHOWN])
    more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    return f"row{'s' * (len(rows) > 1)} {first}{more} of {table}"


def _drop_damaged(connection: sqlite3.Connection, table: str) -> list[int]:
    """Numbers of the rows that were not as they were written."""
    damaged = [
        (row,)
        for row, *values, found in connection.execute(f"SELECT rowid, * FROM {table}")
        if found != row_hash(table, values)
    ]
    connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", damaged)
    return [row for (row,) in damaged]
