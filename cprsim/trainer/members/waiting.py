"""What members wait for.

A member is a handful of generators: each yields what it waits for, and whoever runs them resumes
one once that has come, or once its limit has passed. So nothing here knows of sockets, threads or
clocks. `member_loop` runs them in a process of their own; a test runs many members side by side,
over links in memory, in whatever order it likes, and so can try all that may happen.
"""

import math
from collections.abc import Callable, Collection, Generator, Mapping
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from cprsim.trainer.members.wire import Channel, Message, PeerLostError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
K = TypeVar("K")


class Wait(NamedTuple):
    """Until `ready` is true, or until `due_s` of the clock."""

    ready: Callable[[], object]
    due_s: float = math.inf


#: What a member does, step by step, and what comes of it.
Steps: TypeAlias = Generator[Wait, None, T]


class Beside(Protocol[T_co]):
    """Something that is done beside all else."""

    def done(self) -> bool:
        """Whether it is over."""

    def result(self) -> T_co:
        """What came of it; raises what it raised."""


class Around(Protocol):
    """What a member has around it.

    Attributes
    ----------
    control
        From the controller.
    """

    control: Channel

    def now_s(self) -> float:
        """Of the clock that limits are of."""

    def connect(self, address: str) -> Channel:
        """Connect to a server; raises `PeerLostError` if there is none."""

    def beside(self, work: Callable[[], T]) -> Beside[T]:
        """Do this beside all else, after what was to be done so before."""

    def begin(self, steps: Steps[None]) -> None:
        """Take these steps as well, from now on."""


def received(channel: Channel) -> Steps[Message]:
    """The next message, whenever it comes; raises `PeerLostError` if none will."""
    if not channel.inbox:
        yield Wait(lambda: channel.inbox or channel.gone)
    if not channel.inbox:
        raise PeerLostError("the connection is closed")
    return channel.inbox.popleft()


def sent(channels: Collection[Channel], due_s: float = math.inf) -> Steps[None]:
    """Wait until all have sent what was put, or have gone."""

    def over() -> bool:
        return all(each.sent or each.gone for each in channels)

    if not over():
        yield Wait(over, due_s)


def answers(channels: Mapping[K, Channel], due_s: float) -> Steps[dict[K, Message]]:
    """The next message of each; of who has gone, or says nothing until then, there is none."""

    def over() -> bool:
        return all(each.inbox or each.gone for each in channels.values())

    if not over():
        yield Wait(over, due_s)
    return {key: each.inbox.popleft() for key, each in channels.items() if each.inbox}


def unless_gone(channel: Channel, steps: Steps[None]) -> Steps[None]:
    """Take these steps while the other side is there; raises `PeerLostError` once it is not."""
    for wait in steps:
        ready = wait.ready
        yield Wait(lambda: channel.gone or ready(), wait.due_s)  # noqa: B023  (over by the next)
        if channel.gone:
            raise PeerLostError("the connection is closed")
