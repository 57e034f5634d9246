"""Sorted lists of nodes, one row of an array each; servers come before trainers.

A row holds its length, its severity, whether it is taken, and the nodes by number: the content of
a `Hit` or a `Loss`.
"""

from typing import Any, Final

COUNT, SEVERITY, TAKEN, FIRST = range(4)
#: Rows reserved for recoveries, which `take` never returns. `EMPTY` stays empty.
(EMPTY, STRUCK, HIT, LOST, NEW, WAITING, PLACED, DOWN, AWAY, SPARE) = range(10)
FIXED: Final = 10


def clear(lists: Any, to: int) -> None:
    """Empty a list, and set the mildest severity."""
    lists[to][COUNT] = 0
    lists[to][SEVERITY] = 0


def append(lists: Any, to: int, node: int) -> None:
    """Add a node at the end; the caller keeps the order."""
    count = lists[to][COUNT]
    lists[to][FIRST + count] = node
    lists[to][COUNT] = count + 1


def copy(lists: Any, to: int, of: int) -> None:
    """Copy the nodes and the severity of list `of` into list `to`."""
    count = lists[of][COUNT]
    lists[to][COUNT], lists[to][SEVERITY] = count, lists[of][SEVERITY]
    for place in range(FIRST, FIRST + count):
        lists[to][place] = lists[of][place]


def without(lists: Any, to: int, of: int, others: int) -> None:
    """Set `to` to the nodes of `of` that are not in `others`; `to` may be `of`."""
    count, other_count = lists[of][COUNT], lists[others][COUNT]
    kept = other = 0
    for i in range(count):
        node = lists[of][FIRST + i]
        while other < other_count and lists[others][FIRST + other] < node:
            other += 1
        if other == other_count or lists[others][FIRST + other] != node:
            lists[to][FIRST + kept] = node
            kept += 1
    lists[to][COUNT] = kept
    lists[to][SEVERITY] = lists[of][SEVERITY]


def join(lists: Any, to: int, others: int) -> None:
    """Add the nodes of `others` to `to`, each once, and keep the worse severity."""
    other_count = lists[others][COUNT]
    lists[to][SEVERITY] = max(lists[to][SEVERITY], lists[others][SEVERITY])
    for i in range(other_count):
        insert(lists, to, lists[others][FIRST + i])


def insert(lists: Any, to: int, node: int) -> None:
    """Add a node in its place, unless the list holds it."""
    count = lists[to][COUNT]
    place = FIRST + count
    while place > FIRST and lists[to][place - 1] > node:
        place -= 1
    if place > FIRST and lists[to][place - 1] == node:
        return
    for later in range(FIRST + count, place, -1):
        lists[to][later] = lists[to][later - 1]
    lists[to][place] = node
    lists[to][COUNT] = count + 1


def server_count(lists: Any, of: int, servers: int) -> int:
    """Return the number of servers in a list, where nodes below `servers` are servers."""
    count = lists[of][COUNT]
    if count and lists[of][FIRST + count - 1] < servers:
        return count
    found = 0
    while found < count and lists[of][FIRST + found] < servers:
        found += 1
    return found


def holds(lists: Any, of: int, node: int) -> bool:
    """Return whether a list holds a node."""
    low, high = 0, lists[of][COUNT]
    while low < high:
        middle = (low + high) // 2
        if lists[of][FIRST + middle] < node:
            low = middle + 1
        else:
            high = middle
    return low < lists[of][COUNT] and lists[of][FIRST + low] == node


def take(lists: Any) -> int:
    """Take an unused row; return its number, or -1 where all are in use."""
    for row in range(FIXED, len(lists)):
        if not lists[row][TAKEN]:
            lists[row][TAKEN] = 1
            clear(lists, row)
            return row
    return -1


def give_back(lists: Any, row: int) -> None:
    """Mark a row as unused."""
    lists[row][TAKEN] = 0


def keep_trainers(lists: Any, to: int, of: int, servers: int) -> None:
    """Set `to` to the trainers of `of`."""
    lists[to][COUNT] = 0
    for i in range(lists[of][COUNT]):
        if lists[of][FIRST + i] >= servers:
            append(lists, to, lists[of][FIRST + i])
