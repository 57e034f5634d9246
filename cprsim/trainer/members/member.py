"""A process of the cluster, as the controller sees it."""

import contextlib
import os
import signal
import socket
import struct
from collections.abc import Callable, Iterable
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from threading import Thread
from typing import Any, Literal

from cprsim.trainer.manner import Deadlines
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
