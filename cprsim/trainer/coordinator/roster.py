"""Who is there: processes of this machine that are started, spoken to, struck and ended."""

import contextlib
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from queue import Empty, SimpleQueue
from signal import SIGKILL, Signals
from threading import TIMEOUT_MAX
from typing import Any, Protocol, Self, TypeAlias

from cprsim.basics.owned import owned_folder
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members import forking
from cprsim.trainer.members.member import Member, Name
from cprsim.trainer.members.server import ServerSpec, run_server
from cprsim.trainer.members.trainer import TrainerSpec, run_trainer
from cprsim.trainer.members.wire import Message, Op

#: What members are told when they start, by name.
Specs: TypeAlias = Mapping[Name, ServerSpec | TrainerSpec]


class Roster(Protocol):
    """What a cluster needs of those that its members are made of."""

    def now_s(self) -> float:
        """Of the clock that deadlines are of."""

    def start(self, name: Name) -> None:
        """Start this member, in the place of a dead one perhaps."""

    def address(self, name: Name) -> str:
        """Where a server answers."""

    def pid(self, name: Name) -> int:
        """Its process id."""

    def tell(self, name: Name, op: Op, step: int, facts: dict[str, Any]) -> None:
        """Say something to a member; raises `PeerLostError` if it can't be heard."""

    def hear(self, timeout_s: float) -> list[tuple[Name, Message | None]]:
        """What members have said within that time; None: that it has gone."""

    def strike(self, name: Name, how: Signals) -> None:
        """Send a member a signal; who is killed has gone afterwards."""

    def end(self, name: Name) -> None:
        """Kill a member, however it is, and wait until it has gone."""

    def close(self) -> None:
        """Leave nothing behind of what isn't a member."""


class ProcessRoster:
    """Members that are processes, forked from one that has imported what they need."""

    def __init__(self, specs: Specs, deadlines: Deadlines) -> None:
        self._specs, self._deadlines = specs, deadlines
        self._context = forking.context()
        self._owned = ExitStack()
        self._folder = self._owned.enter_context(owned_folder())
        self._addresses: dict[Name, Path] = {}
        self._members: dict[Name, Member] = {}
        self._heard: SimpleQueue[tuple[Member, Message | None]] = SimpleQueue()
        self._starts = 0

    now_s: Callable[[], float] = staticmethod(time.monotonic)

    @classmethod
    def of(cls, deadlines: Deadlines) -> Callable[[Specs], Self]:
        """That for a cluster with these deadlines."""
        return lambda specs: cls(specs, deadlines)

    def start(self, name: Name) -> None:
        """Start this member's process."""
        spec = self._specs[name]
        if isinstance(spec, TrainerSpec):
            main: tuple[Callable[..., None], tuple[Any, ...]] = run_trainer, (spec,)
        else:
            self._starts += 1
            self._addresses[name] = self._folder / f"{name[0]}-{name[1]}.{self._starts}"
            main = run_server, (spec, self._addresses[name])
        self._members[name] = Member(name, self._context, *main, self._deadlines, self._heard)

    def address(self, name: Name) -> str:
        """The socket of a server."""
        return str(self._addresses[name])

    def pid(self, name: Name) -> int:
        """The process id of a member."""
        return self._members[name].pid

    def tell(self, name: Name, op: Op, step: int, facts: dict[str, Any]) -> None:
        """Send it over the member's link."""
        self._members[name].tell(op, step, facts)

    def hear(self, timeout_s: float) -> list[tuple[Name, Message | None]]:
        """What comes in by then."""
        found = []
        with contextlib.suppress(Empty):
            found.append(self._heard.get(timeout=min(timeout_s, TIMEOUT_MAX)))
            while True:
                found.append(self._heard.get_nowait())
        return [(member.name, message) for member, message in found if not member.dead]

    def strike(self, name: Name, how: Signals) -> None:
        """Members that a failure kills together are found dead together."""
        member = self._members[name]
        if how == SIGKILL:
            member.kill()
        else:
            member.signal(how)

    def end(self, name: Name) -> None:
        """Kill a member's process."""
        self._members[name].end()

    def close(self) -> None:
        """Remove the sockets."""
        self._owned.close()
