"""The processes of the lab: started, spoken to, made to agree, and killed."""

import math
import os
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Collection
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import send_handle
from signal import SIGKILL, Signals
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from cprsim.errors import RunError
from cprsim.trainer.lab import forking
from cprsim.trainer.lab.members import MemberSpec, Message, run_member

#: Servers, and the trainer, which has the number 0.
Role = Literal["server", "trainer"]
Name: TypeAlias = tuple[Role, int]
TRAINER: Name = ("trainer", 0)
#: What processes have to agree on.
_COLLECTIVES = ("least", "total", "copied")
#: What nobody owes any more who has said it.
_ANSWERS = ("ready", "resumed", "trained", "predicted", "counted")


def numbers(role: Role, names: Collection[Name]) -> frozenset[int]:
    """Numbers of those among some processes that have this role."""
    return frozenset(number for each, number in names if each == role)


class Death(NamedTuple):
    """A process is gone, with its state."""

    name: Name


class Said(NamedTuple):
    """A message of a process."""

    name: Name
    message: Message


class _Process(NamedTuple):
    """A process, and the pipe to it."""

    process: BaseProcess
    control: Connection


class LocalCluster:
    """Processes of one job. It knows nothing of policies, and kills none but silent ones.

    It is a context manager: at its end no process of it is left, whatever happens.

    `spec`: of its processes. `dead`: processes that are gone and not started again.
    `on_agreeing`: called when some begin to wait for others, to agree on something.
    """

    def __init__(self, spec: MemberSpec) -> None:
        self._spec, self._work_s = spec, spec.section.work_s
        self._step_s = 3 * spec.section.answer_s  # how long all may be silent in a step
        servers: list[Name] = [("server", number) for number in range(spec.servers)]
        self.servers, self.names = servers, [*servers, TRAINER]
        self.dead: set[Name] = set()
        self.on_agreeing: Callable[[], None] = lambda: None
        self._members: dict[Name, _Process] = {}
        self._owing: dict[Name, float] = {}  # how long each may be silent, s
        self._given: dict[Name, Message] = {}
        self._news: deque[Death | Said] = deque()
        self._epoch = 0
        self._heard_s = time.monotonic()

    def __enter__(self) -> Self:
        self._context = forking.context()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, each in self._members.items():
            if name not in self.dead:
                _end(each)

    # --- Processes ---

    def start(self, names: Collection[Name]) -> None:
        """Start these processes, in the places of dead ones perhaps; each says "ready"."""
        self._news = deque(each for each in self._news if each.name not in names)
        for name in sorted(names):
            ours, its = self._context.Pipe()
            with socket.fromfd(ours.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as same:
                _limit(same, self._spec.section.answer_s)
            role, number = name
            process = self._context.Process(
                target=run_member,
                args=(self._spec, number if role == "server" else None, its),
                daemon=True,
                name=f"{role}-{number}",
            )
            process.start()
            its.close()
            self._members[name] = _Process(process, ours)
            self.dead.discard(name)
            self._owing[name] = self._work_s
        self._heard_s = time.monotonic()

    def pid(self, name: Name) -> int:
        """The process id."""
        found = self._members[name].process.pid
        assert found is not None
        return found

    def strike(self, name: Name, how: Signals) -> bool:
        """Send a process a signal behind its back; whether it was there to be hit."""
        if name in self.dead:
            return False
        if how == SIGKILL:
            self._kill(name)  # and found gone: those that a failure kills die together
        else:
            os.kill(self.pid(name), how)
        return True

    def _kill(self, name: Name) -> None:
        if name not in self.dead:
            _end(self._members[name])
            self.dead.add(name)
            self._owing.pop(name, None)
            self._epoch += 1  # what the others have begun is not answered any more
            self._given.clear()
            self._news.append(Death(name))

    # --- Telling and hearing ---

    def resume(self, lost: Collection[Name] | None) -> None:
        """Have all go on after these were lost, or begin; each says "resumed"."""
        shards = None if lost is None else sorted(numbers("server", lost))
        dense = lost is not None and TRAINER in lost
        pairs = [socket.socketpair() for _ in self.servers]  # a server's end, and the trainer's
        for _, trainers in pairs:
            _limit(trainers, self._spec.section.answer_s)
        for name, (its, _) in zip(self.servers, pairs, strict=True):
            self.tell(name, "resume", self._epoch, shards, dense, 1, links=[its])
        links = [link for _, link in pairs]
        self.tell(TRAINER, "resume", self._epoch, shards, dense, len(links), links=links)
        for pair in pairs:
            for each in pair:
                each.close()

    def tell(self, name: Name, *message: Any, links: Collection[socket.socket] = ()) -> None:
        """Send a process a command that it answers; nothing to a dead one."""
        if name in self.dead:
            return
        control, self._heard_s = self._members[name].control, time.monotonic()
        quick = message[0] in ("train", "count")
        self._owing[name] = self._step_s if quick else self._work_s
        try:
            control.send(message)
            for each in links:
                send_handle(control, each.fileno(), self.pid(name))
        except OSError:
            self._kill(name)

    def is_current(self, said: Said) -> bool:
        """Return whether it is no answer to a `resume` that a death has cut short."""
        kind, *facts = said.message
        return kind != "resumed" or bool(facts[0] == self._epoch)

    def next(self, timeout_s: float = math.inf) -> Said | Death | None:
        """Return the next event; None if there is none within that time."""
        end_s = time.monotonic() + timeout_s
        while not self._news:
            late_s = self._heard_s + self._limit_s
            until_s = min(end_s, late_s)
            self._listen(None if until_s == math.inf else max(until_s - time.monotonic(), 0.0))
            now_s = time.monotonic()
            if not self._news and now_s >= self._heard_s + self._limit_s:
                self._end_silent()
            if not self._news and now_s >= end_s:
                return None
        return self._news.popleft()

    @property
    def _limit_s(self) -> float:
        return self._work_s if self._given else max(self._owing.values(), default=math.inf)

    def _end_silent(self) -> None:
        """Kill whatever the rest waits for."""
        waiting = set(self._given)
        silent = {*self.names} - self.dead - waiting if waiting else set(self._owing)
        for name in sorted(silent):
            self._kill(name)
        self._heard_s = time.monotonic()

    def _listen(self, timeout_s: float | None) -> None:
        by_control = {
            each.control: name for name, each in self._members.items() if name not in self.dead
        }
        for control in wait(list(by_control), timeout_s):
            assert isinstance(control, Connection)
            name = by_control[control]
            if name in self.dead:  # of what was heard just now
                continue
            try:
                message = control.recv()
            except (EOFError, OSError):
                self._kill(name)
                continue
            self._heard_s = time.monotonic()
            self._hear(name, message)

    def _hear(self, name: Name, message: Message) -> None:
        kind, *facts = message
        if kind == "failed":
            raise RunError("{} {}: {}".format(*name, facts[0]))
        if kind in _COLLECTIVES:
            self._agree(name, message)
        elif kind == "silent":
            epoch, server = facts
            if epoch == self._epoch:
                self._kill(self.servers[server])
        else:
            if kind in _ANSWERS:
                self._owing.pop(name, None)
            self._news.append(Said(name, message))

    def _agree(self, name: Name, message: Message) -> None:
        kind, epoch, _ = message
        if epoch == self._epoch and not self._given:
            self.on_agreeing()  # which may kill one
        if epoch != self._epoch:
            return  # a death has cut short what it is part of
        self._given[name] = message
        if len(self._given) < len(self.names):
            return
        given = [self._given[each] for each in self.names]
        self._given.clear()
        kinds = {each[0] for each in given}
        if kinds != {kind}:
            raise RunError(f"processes do not agree on what to agree on: {sorted(kinds)}")
        mine = [each[2] for each in given]
        found: Any
        if kind == "copied":
            found = next((each for each in mine if each is not None), None)
        else:
            found = min(mine) if kind == "least" else math.fsum(mine)
        for each in self.names:
            try:
                self._members[each].control.send(("agreed", found))
            except OSError:
                self._kill(each)


def _limit(end: socket.socket, send_s: float) -> None:
    """Have what is sent fail if the other side takes nothing for so long: it hangs."""
    whole_s, part_s = divmod(send_s, 1)
    limit = struct.pack("ll", int(whole_s), int(part_s * 1e6))
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


def _end(member: _Process) -> None:
    """Kill a process, however it is, and wait until it is gone."""
    member.process.kill()  # ends a stopped process, too
    member.process.join()
    member.process.close()
    member.control.close()
