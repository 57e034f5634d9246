"""Sets of rows of embedding tables, as spans."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

#: Of each table and the kinds of its tensors the rows, as spans from a first row to one behind the
#: last.
Rows: TypeAlias = Mapping[tuple[int, str], Sequence[tuple[int, int]]]


def spans(tables: Iterable[Sequence[Any]]) -> Rows:
    """Return the rows of parts of tables, which `Layout.document` describes."""
    found: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for table, first, rows, kinds in tables:
        found[table, repr(kinds)].append((first, first + rows))
    return found


def by_table(rows: Rows) -> Rows:
    """Return the same rows, whatever their kinds."""
    found: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for (table, _), spans in rows.items():
        found[table, ""] += spans
    return found


def without(rows: Rows, others: Rows) -> Rows:
    """Return the rows that are not among the others."""
    found = {}
    for table, spans in rows.items():
        left = sorted(spans)
        for first, end in others.get(table, ()):
            left = [
                part
                for one, stop in left
                for part in ((one, min(stop, first)), (max(one, end), stop))
                if part[0] < part[1]
            ]
        found[table] = left
    return found


def common(rows: Rows, others: Rows) -> Rows:
    """Return the rows that are among the others, too."""
    return without(rows, without(rows, others))


def in_words(rows: Rows) -> list[str]:
    """Return a text for each span: "rows 0 to 9 of table 2"; none for an empty set."""
    return [
        f"rows {first:,} to {end - 1:,} of table {table}"
        for (table, _), spans in sorted(rows.items())
        for first, end in spans
    ]
