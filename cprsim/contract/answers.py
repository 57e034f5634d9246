"""Answers to losses, as data: cases in order, of which the first that fits is the answer."""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from cprsim.contract.actions import Loss, Recover
from cprsim.job.severity import SEVERITIES, Severity

_ANY = (0, math.inf)


class Together(Protocol):
    """Sets of servers of which not all must be down at once.

    A frozen dataclass, so that plans compare and travel. `InARow`, `Within` and `Groups` are some.
    """

    def sets(self, server: int) -> tuple[tuple[int, ...], ...]:
        """Sets of servers to look at when `server` is down, itself among them."""


@dataclass(frozen=True, slots=True)
class InARow:
    """So many of the servers one after the other, on the ring that they form."""

    servers: int
    count: int

    def sets(self, server: int) -> tuple[tuple[int, ...], ...]:
        """One: those from `server` on."""
        return (tuple((server + i) % self.servers for i in range(self.count)),)


@dataclass(frozen=True, slots=True)
class Within:
    """Two servers that are no more than `distance` apart, on the ring that the servers form."""

    servers: int
    distance: int

    def sets(self, server: int) -> tuple[tuple[int, ...], ...]:
        """Pairs of `server` and each other one that is near ahead of it."""
        ahead = ((server + i) % self.servers for i in range(1, self.distance + 1))
        return tuple((server, other) for other in ahead if other != server)


@dataclass(frozen=True, slots=True)
class Groups:
    """All copies of a shard: groups of `copies` consecutive servers keep each other's.

    Gemini's mixed placement: where `copies` doesn't divide the servers, the last group takes what
    is left over, and each of its shards lives on `copies` neighbours of the ring that it is then.
    """

    servers: int
    copies: int

    def sets(self, server: int) -> tuple[tuple[int, ...], ...]:
        """One: the servers that hold its shard, its own one first."""
        last = (self.servers // self.copies - 1) * self.copies
        first = min(server // self.copies * self.copies, last)
        size = self.copies if first < last else self.servers - last
        return (tuple(first + (server - first + copy) % size for copy in range(self.copies)),)


def is_gone(together: Together, down: frozenset[int]) -> bool:
    """Return whether all servers of some set are down."""
    return any(down.issuperset(each) for server in down for each in together.sets(server))


class Case(NamedTuple):
    """An answer, and the losses that it is for; for all of them where nothing else is given.

    `severities`: the worst that has happened. `servers`, `trainers`: the least and the most of them
    that are down. `gone`: it is for losses alone by which some set of these servers is down as a
    whole.
    """

    answer: Recover
    severities: tuple[Severity, ...] = SEVERITIES
    servers: tuple[float, float] = _ANY
    trainers: tuple[float, float] = _ANY
    gone: Together | None = None

    def fits(self, loss: Loss) -> bool:
        """Return whether it is for that loss."""
        return (
            loss.severity in self.severities
            and self.servers[0] <= len(loss.servers) <= self.servers[1]
            and self.trainers[0] <= len(loss.trainers) <= self.trainers[1]
            and (self.gone is None or is_gone(self.gone, loss.servers))
        )

    @property
    def fits_all(self) -> bool:
        """Return whether it is for every loss."""
        counts = self.servers, self.trainers
        return (
            self.gone is None
            and set(self.severities) == set(SEVERITIES)
            and all(least <= 0 and most == math.inf for least, most in counts)
        )


@dataclass(frozen=True, slots=True)
class Answers:
    """A rule that is data: the answer to a loss is that of the first case that fits.

    Raises `ValueError` where some loss may have no answer: the last case must fit them all.
    """

    cases: tuple[Case, ...]

    def __post_init__(self) -> None:
        """Refuse what may have no answer."""
        if not self.cases or not self.cases[-1].fits_all:
            last = self.cases[-1] if self.cases else "none"
            raise ValueError(
                f"the last of the cases must fit every loss, but it is {last}; end with "
                "Case(answer), without conditions"
            )

    def __call__(self, loss: Loss) -> Recover:
        """Answer `loss`."""
        for case in self.cases[:-1]:
            if case.fits(loss):
                return case.answer
        return self.cases[-1].answer


class Always(Answers):
    """A rule that answers every loss alike."""

    __slots__ = ()

    def __init__(self, answer: Recover) -> None:
        super().__init__((Case(answer),))
