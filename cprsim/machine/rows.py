"""Rows of numbers; a row refers to rows of other tables by their places."""

import math
from typing import Any, NamedTuple


class Row:
    """Numbers by name; the compiled engine has records of the same columns instead.

    A class names its columns, each with its value in a new row, which also says its type. Where
    that is a tuple, the column is a list of so many numbers.
    """

    _columns: dict[str, Any]
    _lists: tuple[str, ...]

    def __init_subclass__(cls) -> None:
        cls._columns = {name: zero for name, zero in vars(cls).items() if not name.startswith("_")}
        cls._lists = tuple(n for n, zero in cls._columns.items() if isinstance(zero, tuple))

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(self._columns)
        for name in self._lists:
            self.__dict__[name] = list(self._columns[name])
        self.__dict__.update(values)

    @classmethod
    def columns(cls) -> dict[str, Any]:
        """Return the value of each column in a new row, in order."""
        return cls._columns

    def become(self, other: "Row") -> None:
        """Copy all numbers of another row."""
        self.__dict__.update(other.__dict__)
        for name in self._lists:
            self.__dict__[name] = self.__dict__[name].copy()


class RowList(list[Any]):
    """Rows of one kind; an assignment copies the numbers into the row in that place."""

    def __setitem__(self, place: Any, row: Any) -> None:
        self[place].become(row)


class Running(NamedTuple):
    """One run under way: its plan, its random numbers, its state, and working memory."""

    plan: Any
    schedules: Any
    saves: Any
    transfers: Any
    answers: Any
    cases: Any
    whole: Any  # int64: sets of servers, chains and rotations of saves, answers by tier
    real: Any  # float64: updates that saves leave, shares of differences
    draws: Any
    numbers: Any  # float64: random numbers
    choices: Any  # int32: random nodes and severities
    run: Any  # the first of `states`
    states: Any  # of the run, and of a new one
    tiers: Any
    kept: Any  # checkpoints, of each tier in a ring; the last row is always new
    links: Any
    spent: Any  # seconds charged to each cause
    flows: Any
    ended: Any  # flows that have just ended
    comings: Any
    lists: Any  # int32: lists of nodes (`node_lists.py`)
    nodes: Any
    shards: Any
    losses: Any  # what shards have lost for good (`learning.py`)
    tree: Any  # ends of lives of nodes, s (`cursors.py`)
    ready_s: Any  # instants at which the machines of the pool are ready, in order
    rated: Any  # transfers derived in the run: loads
    outside: Any  # observer and controller (`cprsim.sim.outside`)


def drawn(job: Running, place: int, number: int, count: int, status: int) -> Any:
    """Return the random number in a place, which is number `number` of `count`.

    Where there are not so many, the run stops for more (`status`), and what is returned makes no
    difference.
    """
    if number >= count:
        job.run.status = status
        return math.inf
    return job.numbers[place]


def close_up(rows: Any, place: int, count: int) -> None:  # noqa: ARG001  (records need it)
    """Remove row `place` of the first `count` rows; later rows move up."""
    rows.append(rows.pop(place))


def part(rows: Any, first: int, count: int) -> Any:
    """Return `count` elements from place `first` on."""
    return rows[first : first + count]
