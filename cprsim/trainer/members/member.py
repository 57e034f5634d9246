"""A process of the cluster, as the controller sees it."""

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterable
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any, Literal

from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.wire import Link

#: A server or the trainer, and its number.
Role = Literal["server", "trainer"]
Name = tuple[Role, int]


def numbers(role: Role, names: Iterable[Name]) -> frozenset[int]:
    """Numbers of those among some members who have that role."""
    return frozenset(number for each, number in names if each == role)


class Member:
    """A process that has been started, and the link to it.

    `main` gets `arguments` and its end of the link. `dead`: it has been ended.
    """

    def __init__(
        self,
        name: Name,
        context: ForkServerContext,
        main: Callable[..., None],
        arguments: tuple[Any, ...],
        deadlines: Deadlines,
    ) -> None:
        self.dead = False
        mine, its = socket.socketpair()
        with its:
            self._process: BaseProcess = context.Process(
                target=main, args=(*arguments, its), daemon=True, name="{}-{}".format(*name)
            )
            self._process.start()
        # An answer that has begun to come must go on coming.
        self.link = Link(mine, deadlines.answer_s)

    @property
    def sentinel(self) -> int:
        """Ready to be read once the process has ended."""
        return self._process.sentinel

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def end(self) -> None:
        """Kill it, however it is, and wait until it has gone."""
        # SIGKILL ends a stopped process, too: who hangs is ended like anyone else.
        self.dead = True
        self.signal(signal.SIGKILL)
        self._process.join()
        self._process.close()
        self.link.close()
