"""A cluster on this machine: servers and trainers as processes that can really be killed."""

import math
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from multiprocessing.connection import wait
from pathlib import Path
from signal import SIGKILL, Signals
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

from cprsim.basics.owned import owned_folder
from cprsim.errors import RunError
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members import forking
from cprsim.trainer.members.member import Member, Name
from cprsim.trainer.members.server import ServerSpec, run_server
from cprsim.trainer.members.trainer import TrainerSpec, run_trainer
from cprsim.trainer.members.wire import Message, Op, PeerLostError

#: What is answered at once, or at least step by step.
_QUICK = (Op.LEAVE, Op.CONNECT, Op.TRAIN, Op.SAVE)
#: What each answer settles, where that isn't asked for by the same name.
_SETTLES: dict[Op, tuple[Op, ...]] = {
    Op.LOADED: (Op.LOAD, Op.FILL, Op.CATCH_UP),
    Op.TAKEN: (Op.SAVE,),
    Op.TRAINED: (Op.TRAIN,),
    Op.PREDICTED: (Op.PREDICT,),
    Op.LOST: (Op.CONNECT, Op.TRAIN, Op.PREDICT),
}
#: An answer that is owed: by whom, to what, and for checkpoints that are written, which.
_Owed: TypeAlias = tuple[Name, Op, int]


class Reply(NamedTuple):
    """What a member says."""

    name: Name
    message: Message


class Death(NamedTuple):
    """A member is gone; what it held is lost."""

    name: Name


class LocalCluster:
    """Starts members, tells them what to do, and hears from them or of their deaths.

    It is a context manager: whatever happens, at its end no process and no file of it are left. It
    knows nothing of policies; it kills nobody but those that have gone silent.

    Parameters
    ----------
    servers, trainers
        What each is told when it starts.
    deadlines
        How long silence may last.
    dense
        What the server of the dense part is told, where there are several trainers.
    """

    def __init__(
        self,
        servers: Sequence[ServerSpec],
        trainers: Sequence[TrainerSpec],
        deadlines: Deadlines,
        dense: ServerSpec | None = None,
    ) -> None:
        self._specs: dict[Name, ServerSpec] = {
            ("server", number): spec for number, spec in enumerate(servers)
        }
        if dense is not None:
            self._specs["dense", 0] = dense
        self._trainers = trainers
        self._deadlines = deadlines
        self._context = forking.context()
        self._folder = Path()
        self._owned = ExitStack()
        self._addresses: dict[Name, Path] = {}
        self._news: deque[Reply | Death] = deque()
        self._members: dict[Name, Member] = {}
        self._starts = 0
        self._due_s: dict[_Owed, float] = {}  # when an answer that is owed must have come

    def __enter__(self) -> Self:
        self._folder = self._owned.enter_context(owned_folder())
        names = [*self.serving, *self.training]
        try:
            self.start(names)
            for _ in names:
                event = self.next()
                if isinstance(event, Death):
                    raise RunError("{} {} died as it was started".format(*event.name))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all members."""
        for member in self._members.values():
            if not member.dead:
                member.end()
        self._members.clear()
        self._due_s.clear()
        self._owned.close()

    # --- Members ---

    @property
    def dead(self) -> list[Name]:
        """Members that have died and not been started again."""
        return [name for name, member in self._members.items() if member.dead]

    def pid(self, name: Name) -> int:
        """The process id of a member."""
        return self._members[name].pid

    @property
    def names(self) -> list[Name]:
        """All members."""
        return list(self._members)

    @property
    def serving(self) -> list[Name]:
        """Those that trainers connect to, in the order of their connections."""
        return list(self._specs)

    @property
    def training(self) -> list[Name]:
        """The trainers."""
        return [("trainer", number) for number in range(len(self._trainers))]

    def start(self, names: Collection[Name]) -> None:
        """Start these members, in the places of dead ones perhaps; each says READY.

        What was still to be heard of those is of no use any more.
        """
        started = set(names)
        self._news = deque(event for event in self._news if event.name not in started)
        for name in names:
            self._members[name] = self._started(name)
            self._expect(name, Op.READY)

    def _started(self, name: Name) -> Member:
        role, index = name
        if role == "trainer":
            return Member(
                name, self._context, run_trainer, (self._trainers[index],), self._deadlines
            )
        self._starts += 1
        address = self._folder / f"{role}-{index}.{self._starts}"
        self._addresses[name] = address
        return Member(
            name, self._context, run_server, (self._specs[name], address), self._deadlines
        )

    def address(self, name: Name) -> Path:
        """Where a server answers trainers."""
        return self._addresses[name]

    def strike(self, name: Name, how: Signals) -> bool:
        """Send a member a signal behind its back; whether it was there to be hit.

        Who is killed has gone afterwards: members that a failure kills together are found dead
        together, and not one of them while the other still dies.
        """
        member = self._members[name]
        if not member.dead:
            member.signal(how)
            if how == SIGKILL:
                wait([member.sentinel])
        return not member.dead

    def end(self, name: Name) -> None:
        """Kill a member that has gone silent, if it isn't dead yet."""
        if not self._members[name].dead:
            self._declare_dead(name)

    # --- Asking and hearing ---

    def ask(self, name: Name, op: Op, step: int = 0, **facts: Any) -> None:
        """Ask a member for something; to a dead one nothing is said."""
        member = self._members[name]
        if member.dead:
            return
        if op != Op.HALT:
            self._expect(name, op)
        try:
            member.link.tell(op, step, facts)
        except PeerLostError:
            self._declare_dead(name)

    def connect(self, epoch: int, holders: Sequence[Sequence[int]], again: bool) -> None:
        """Ask all trainers to connect to servers.

        `holders`: of each shard, the server that answers for it, and those with copies; none for
        one that is away. `again`: what was pushed last may have been lost, and is pushed again.
        """
        addresses = [str(self.address(name)) for name in self.serving]
        of_dense = range(len(holders), len(addresses))  # it is held where it is served
        found = [*holders, *([server] for server in of_dense)]
        routes = [[(server, addresses[server]) for server in each] for each in found]
        for name in self.training:
            self.ask(name, Op.CONNECT, routes=routes, epoch=epoch, again=again)

    def fill(self, name: Name, epoch: int, sources: Mapping[int, int]) -> None:
        """Ask a server to fetch shards from others, `sources` by shard."""
        found = {
            shard: (each, str(self.address(("server", each)))) for shard, each in sources.items()
        }
        self.ask(name, Op.FILL, epoch=epoch, sources=found)

    def next(self, timeout_s: float = math.inf) -> Reply | Death | None:
        """What happens next; None if nothing has within that time."""
        end_s = time.monotonic() + timeout_s
        while not self._news:
            limit_s = min(end_s, *self._due_s.values(), math.inf)
            left_s = max(limit_s - time.monotonic(), 0.0)
            self._listen(None if limit_s == math.inf else left_s)
            now_s = time.monotonic()
            late = [owed for owed, due_s in self._due_s.items() if due_s <= now_s]
            for name in {name for name, _, _ in late}:
                self._declare_dead(name)
            if not self._news and now_s >= end_s:
                return None
        return self._news.popleft()

    def _listen(self, timeout_s: float | None) -> None:
        alive = {name: member for name, member in self._members.items() if not member.dead}
        ends = {member.link.fileno(): name for name, member in alive.items()}
        sentinels = {member.sentinel: name for name, member in alive.items()}
        for end in wait([*ends, *sentinels], timeout_s):
            assert isinstance(end, int)
            name = ends[end] if end in ends else sentinels[end]
            try:
                self._hear(name, alive[name].link.receive())
                # Who has died may have said more before; the end of it is an error.
                while end in sentinels:
                    self._hear(name, alive[name].link.receive())
            except PeerLostError:
                if not alive[name].dead:
                    self._declare_dead(name)

    def _hear(self, name: Name, message: Message) -> None:
        if message.op == Op.FAILED:
            raise RunError("{} {}: {}".format(*name, message.facts["error"]))
        if message.op == Op.STEPPED:
            self._expect(name, Op.TRAIN)
        elif message.op == Op.SAVED:
            self._due_s.pop((name, Op.SAVED, message.step), None)
        else:
            for op in _SETTLES.get(message.op, (message.op,)):
                self._due_s.pop((name, op, 0), None)
        if message.op == Op.TAKEN:
            self._expect(name, Op.SAVED, message.step)
        self._news.append(Reply(name, message))

    def _expect(self, name: Name, op: Op, number: int = 0) -> None:
        quick = op in _QUICK
        within_s = 3 * self._deadlines.answer_s if quick else self._deadlines.work_s
        self._due_s[name, op, number] = time.monotonic() + within_s

    def _declare_dead(self, name: Name) -> None:
        self._members[name].end()
        self._due_s = {owed: due_s for owed, due_s in self._due_s.items() if owed[0] != name}
        self._news.append(Death(name))
