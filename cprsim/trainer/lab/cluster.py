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
from typing import Any, NamedTuple, Self

from cprsim.errors import RunError
from cprsim.failures.hits import Hit
from cprsim.trainer.lab import forking
from cprsim.trainer.lab.members import MemberSpec, Message, run_member

#: What processes agree on, from what each of them gives.
_COLLECTIVES: dict[str, Callable[[list[Any]], Any]] = {
    "least": min,
    "total": math.fsum,
    "copied": lambda given: next((each for each in given if each is not None), None),
}
#: What nobody owes any more who has said it.
_ANSWERS = ("ready", "resumed", "trained", "predicted", "counted")


class Said(NamedTuple):
    """A message of a process; `("died",)` where it is gone, with its state."""

    member: int
    message: Message


class _Process(NamedTuple):
    """A process, and the pipe to it."""

    process: BaseProcess
    control: Connection


class LocalCluster:
    """Processes of one job. It knows nothing of policies, and kills none but silent ones.

    Its members are numbers: servers from 0 on, and behind them the trainer. It is a context
    manager: at its end no process of it is left, whatever happens.

    `spec`: of its processes. `dead`: members that are gone and not started again.
    `on_agreeing`: called when some begin to wait for others, to agree on something.
    """

    def __init__(self, spec: MemberSpec) -> None:
        self._spec, self._work_s = spec, spec.section.work_s
        self._step_s = 3 * spec.section.answer_s  # how long all may be silent in a step
        self.trainer, self.members = spec.servers, range(spec.servers + 1)
        self.dead: set[int] = set()
        self.on_agreeing: Callable[[], None] = lambda: None
        self._processes: dict[int, _Process] = {}
        self._owing: dict[int, float] = {}  # how long each may be silent, s
        self._given: dict[int, Message] = {}
        self._news: deque[Said] = deque()
        self._epoch = 0
        self._heard_s = time.monotonic()

    def __enter__(self) -> Self:
        self._context = forking.context()
        return self

    def __exit__(self, *_: object) -> None:
        for member, each in self._processes.items():
            if member not in self.dead:
                _end(each)

    def called(self, member: int) -> str:
        """Return the name of a member, for people."""
        return "trainer 0" if member == self.trainer else f"server {member}"

    def hit(self, members: Collection[int]) -> Hit:
        """Return the failure that these members are hit by."""
        return Hit.of(sorted(members), self.trainer)

    # --- Processes ---

    def start(self, members: Collection[int]) -> None:
        """Start these processes, in the places of dead ones perhaps; each says "ready"."""
        self._news = deque(each for each in self._news if each.member not in members)
        for member in sorted(members):
            ours, its = self._context.Pipe()
            with socket.fromfd(ours.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as same:
                _limit(same, self._spec.section.answer_s)
            process = self._context.Process(
                target=run_member,
                args=(self._spec, member, its),
                daemon=True,
                name=self.called(member).replace(" ", "-"),
            )
            process.start()
            its.close()
            self._processes[member] = _Process(process, ours)
            self.dead.discard(member)
            self._owing[member] = self._work_s
        self._heard_s = time.monotonic()

    def strike(self, member: int, how: Signals) -> bool:
        """Send a process a signal behind its back; whether it was there to be hit."""
        if member in self.dead:
            return False
        if how == SIGKILL:
            self._kill(member)  # and found gone: those that a failure kills die together
        else:
            os.kill(self._pid(member), how)
        return True

    def _pid(self, member: int) -> int:
        found = self._processes[member].process.pid
        assert found is not None
        return found

    def _kill(self, member: int) -> None:
        if member not in self.dead:
            _end(self._processes[member])
            self.dead.add(member)
            self._owing.pop(member, None)
            self._epoch += 1  # what the others have begun is not answered any more
            self._given.clear()
            self._news = deque(each for each in self._news if each.message[0] != "resumed")
            self._news.append(Said(member, ("died",)))

    # --- Telling and hearing ---

    def resume(self, lost: Collection[int] | None) -> None:
        """Have all go on after these were lost, or begin; each says "resumed"."""
        shards = None if lost is None else self.hit(lost).servers
        dense = lost is not None and self.trainer in lost
        pairs = [socket.socketpair() for _ in range(self.trainer)]  # a server's end, the trainer's
        for _, trainers in pairs:
            _limit(trainers, self._spec.section.answer_s)
        for server, (its, _) in enumerate(pairs):
            self.tell(server, "resume", self._epoch, shards, dense, 1, links=[its])
        links = [link for _, link in pairs]
        self.tell(self.trainer, "resume", self._epoch, shards, dense, len(links), links=links)
        for pair in pairs:
            for each in pair:
                each.close()

    def tell(self, member: int, *message: Any, links: Collection[socket.socket] = ()) -> None:
        """Send a process a command that it answers; nothing to a dead one."""
        if member in self.dead:
            return
        control, self._heard_s = self._processes[member].control, time.monotonic()
        quick = message[0] in ("train", "count")
        self._owing[member] = self._step_s if quick else self._work_s
        try:
            control.send(message)
            for each in links:
                send_handle(control, each.fileno(), self._pid(member))
        except OSError:
            self._kill(member)

    def next(self, timeout_s: float) -> Said | None:
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
        silent = {*self.members} - self.dead - {*self._given} if self._given else {*self._owing}
        for member in sorted(silent):
            self._kill(member)
        self._heard_s = time.monotonic()

    def _listen(self, timeout_s: float | None) -> None:
        by_control = {self._processes[each].control: each for each in {*self.members} - self.dead}
        for control in wait(list(by_control), timeout_s):
            assert isinstance(control, Connection)
            member = by_control[control]
            if member in self.dead:  # of what was heard just now
                continue
            try:
                message = control.recv()
            except (EOFError, OSError):
                self._kill(member)
                continue
            self._heard_s = time.monotonic()
            self._hear(member, message)

    def _hear(self, member: int, message: Message) -> None:
        kind, *facts = message
        if kind == "failed":
            raise RunError(f"{self.called(member)}: {facts[0]}")
        if kind in _COLLECTIVES:
            self._agree(member, message)
        elif kind == "silent":
            epoch, server = facts
            if epoch == self._epoch:
                self._kill(server)
        else:
            if kind in _ANSWERS:
                self._owing.pop(member, None)
            if kind != "resumed" or facts[0] == self._epoch:  # else a death has cut it short
                self._news.append(Said(member, message))

    def _agree(self, member: int, message: Message) -> None:
        kind, epoch, _ = message
        if epoch == self._epoch and not self._given:
            self.on_agreeing()  # which may kill one
        if epoch != self._epoch:
            return  # a death has cut short what it is part of
        self._given[member] = message
        if len(self._given) < len(self.members):
            return
        given = [self._given[each] for each in self.members]
        self._given.clear()
        kinds = {each[0] for each in given}
        if kinds != {kind}:
            raise RunError(f"processes do not agree on what to agree on: {sorted(kinds)}")
        found = _COLLECTIVES[kind]([each[2] for each in given])
        for each in self.members:
            try:
                self._processes[each].control.send(("agreed", found))
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
