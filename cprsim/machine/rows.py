"""Rows of numbers; a row refers to rows of other tables by their places."""

import math
from dataclasses import field, make_dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

_Kind = TypeVar("_Kind", bound="Row")


class Row:
    """Numbers by name; the compiled engine has records of the same columns instead."""

    __slots__ = ()
    _columns: dict[str, Any]
    _lists: tuple[str, ...]
    _numbers: Any

    def __init__(self, *numbers: Any, **values: Any) -> None:
        raise NotImplementedError  # `of_columns` makes another

    @classmethod
    def columns(cls) -> dict[str, Any]:
        """Return the value of each column in a new row, in order."""
        return cls._columns

    def numbers(self) -> tuple[Any, ...]:
        """Return the value of each column, in order."""
        found: tuple[Any, ...] = self._numbers(self)
        return found

    def become(self, other: "Row") -> None:
        """Copy all numbers of another row."""
        type(self).__init__(self, *other.numbers())
        for name in self._lists:
            setattr(self, name, getattr(self, name).copy())


def of_columns(kind: type[_Kind]) -> type[_Kind]:
    """Make a kind of row of a class that names its columns.

    Each has its value in a new row, which also says its type. Where that is a tuple, the column is
    a list of so many numbers. Columns are slots: the machine reads little else.
    """
    columns = {name: zero for name, zero in vars(kind).items() if not name.startswith("_")}
    lists = tuple(name for name, zero in columns.items() if isinstance(zero, tuple))
    fields = [
        (name, type(zero), field(default_factory=partial(list, zero)) if name in lists else zero)
        for name, zero in columns.items()
    ]
    names = {each: vars(kind)[each] for each in ("__doc__", "__module__")}
    names |= {"_columns": columns, "_lists": lists, "_numbers": attrgetter(*columns)}
    made: Any = make_dataclass(
        kind.__name__, fields, bases=(Row,), namespace=names, slots=True, eq=False, repr=False
    )
    return made


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
    ready_s: Any  # instants at which the machines of the pool are ready, s, as a heap
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


def put(rows: Any, place: int, row: Any) -> None:
    """Copy the numbers of a row into the row in a place."""
    rows[place].become(row)


def close_up(rows: Any, place: int, count: int) -> None:  # noqa: ARG001  (records need it)
    """Remove row `place` of the first `count` rows; later rows move up."""
    rows.append(rows.pop(place))


def part(rows: Any, first: int, count: int) -> Any:
    """Return `count` elements from place `first` on."""
    return rows[first : first + count]
