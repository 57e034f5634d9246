"""The processes of a cluster: started, spoken to, struck and ended."""

import contextlib
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Empty, SimpleQueue
from signal import SIGKILL, Signals
from threading import TIMEOUT_MAX, Thread
from typing import Any, Literal, Self, TypeAlias

from cprsim.basics.owned import owned_folder
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members import forking
from cprsim.trainer.members.server import ServerSpec, run_server
from cprsim.trainer.members.trainer import TrainerSpec, run_trainer
from cprsim.trainer.members.wire import Arriving, Message, Op, PeerLostError, packed

#: A server or the trainer, and its number.
Role = Literal["server", "trainer"]
Name = tuple[Role, int]


#: Of what a member says, read at a time, B.
_PIECE = 1 << 18


def numbers(role: Role, names: Iterable[Name]) -> frozenset[int]:
    """Numbers of those among some members who have that role."""
    return frozenset(number for each, number in names if each == role)


class Member:
    """A process that has been started, and the link to it.

    `main` gets `arguments` and its end of the link. What it says goes into `heard`, beside this
    member; None where it has gone. `dead`: it has been ended.
    """

    def __init__(
        self,
        name: Name,
        context: ForkServerContext,
        main: Callable[..., None],
        arguments: tuple[Any, ...],
        deadlines: Deadlines,
        heard: "SimpleQueue[tuple[Member, Message | None]]",
    ) -> None:
        self.name, self.dead = name, False
        self._socket, its = socket.socketpair()
        with its:
            self._process: BaseProcess = context.Process(
                target=main, args=(*arguments, its), daemon=True, name="{}-{}".format(*name)
            )
            self._process.start()
        whole_s, part_s = divmod(deadlines.answer_s, 1)
        limit = struct.pack("ll", int(whole_s), int(part_s * 1e6))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self._heard = heard
        self._listening = Thread(target=self._listen, daemon=True)
        self._listening.start()

    def _listen(self) -> None:
        arriving = Arriving()
        with contextlib.suppress(OSError):
            while piece := self._socket.recv(_PIECE):
                for message in arriving.take(piece):
                    self._heard.put((self, message))
        self._heard.put((self, None))

    def tell(self, op: Op, step: int, facts: dict[str, Any]) -> None:
        """Send it a message; raises `PeerLostError` where it has gone or takes nothing."""
        try:
            self._socket.sendall(packed(Message(op, step, (), facts)))
        except OSError as error:  # the limit has passed, too
            raise PeerLostError(str(error)) from None

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, however it is, and wait until it has gone and all that it said is heard."""
        # SIGKILL ends a stopped process, too: who hangs is ended like anyone else.
        self.signal(signal.SIGKILL)
        wait([self._process.sentinel])
        self._listening.join()

    def end(self) -> None:
        """Kill it, and have nothing more to do with it."""
        self.dead = True
        self.kill()
        self._process.join()
        self._process.close()
        self._socket.close()


#: What members are told when they start, by name.
Specs: TypeAlias = Mapping[Name, ServerSpec | TrainerSpec]


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
