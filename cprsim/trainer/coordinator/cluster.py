"""A cluster on this machine: servers and a trainer that can really be killed."""

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from signal import Signals
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from cprsim.errors import RunError
from cprsim.trainer.coordinator.roster import Name, ProcessRoster, Specs
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.server import ServerSpec
from cprsim.trainer.members.trainer import TrainerSpec
from cprsim.trainer.members.wire import Message, Op, PeerLostError

#: What is answered at once, or at least step by step.
_QUICK = (Op.CONNECT, Op.TAKEN, Op.TRAINED)
#: What answers that which isn't answered by the same name.
_ANSWERS: dict[Op, Op] = {
    Op.LOAD: Op.LOADED,
    Op.FILL: Op.LOADED,
    Op.CATCH_UP: Op.LOADED,
    Op.SAVE: Op.TAKEN,
    Op.TRAIN: Op.TRAINED,
    Op.PREDICT: Op.PREDICTED,
}
#: Instead of which a trainer says LOST.
_NOT_IF_LOST = (Op.CONNECT, Op.TRAINED, Op.PREDICTED)
#: By whom, what, and of which epoch or which save.
_Answer: TypeAlias = tuple[Name, Op, int]


class Owed:
    """When each answer that is owed must have come, by the clock `now_s`.

    An answer settles what it answers and nothing else: what a server loads in one epoch says
    nothing of what it was asked for in another, nor one save of the next.
    """

    def __init__(self, deadlines: Deadlines, now_s: Callable[[], float]) -> None:
        self._deadlines, self._now_s = deadlines, now_s
        self._due_s: dict[_Answer, float] = {}

    @property
    def next_s(self) -> float:
        """When the first of them is late."""
        return min(self._due_s.values(), default=math.inf)

    @property
    def late(self) -> set[Name]:
        """Who owes one that should have come by now."""
        now_s = self._now_s()
        return {name for (name, _, _), due_s in self._due_s.items() if due_s <= now_s}

    def ask(self, name: Name, op: Op, step: int, facts: dict[str, Any]) -> None:
        """Note that a member is asked for something."""
        if op == Op.HALT:
            return
        answer = _ANSWERS.get(op, op)
        number = step if op == Op.SAVE else facts["epoch"] if answer == Op.LOADED else 0
        self.expect(name, answer, number)

    def expect(self, name: Name, answer: Op, number: int = 0) -> None:
        """Give a member as long as it takes to answer that, from now on."""
        quick = answer in _QUICK
        within_s = 3 * self._deadlines.answer_s if quick else self._deadlines.work_s
        self._due_s[name, answer, number] = self._now_s() + within_s

    def hear(self, name: Name, message: Message) -> None:
        """Note what a member has said."""
        op, number = message.op, 0
        if op == Op.STEPPED:
            self.expect(name, Op.TRAINED)
        elif op == Op.LOST:
            for each in _NOT_IF_LOST:
                self._due_s.pop((name, each, 0), None)
        else:
            if op in (Op.TAKEN, Op.SAVED):
                number = message.step
            elif op == Op.LOADED:
                number = message.facts["epoch"]
            self._due_s.pop((name, op, number), None)
        if op == Op.TAKEN:
            self.expect(name, Op.SAVED, number)

    def forgive(self, names: Collection[Name]) -> None:
        """These owe nothing any more."""
        self._due_s = {each: due_s for each, due_s in self._due_s.items() if each[0] not in names}


if TYPE_CHECKING:
    from cprsim.trainer.coordinator.strikes import Strikes

#: The one there is.
TRAINER: Name = ("trainer", 0)


class Reply(NamedTuple):
    """What a member says."""

    name: Name
    message: Message


class Death(NamedTuple):
    """A member is gone; what it held is lost."""

    name: Name


class LocalCluster:
    """Starts members, tells them what to do, and hears from them or of their deaths.

    Whatever is heard is shown to all who listen, whoever waits for it.

    It is a context manager: whatever happens, at its end no process and no file of it are left. It
    knows nothing of policies; it kills nobody but those that have gone silent.

    Parameters
    ----------
    servers, trainer
        What each is told when it starts.
    deadlines
        How long silence may last.
    roster
        What members are made of: processes, unless a test has others.

    Attributes
    ----------
    servers
        Those that the trainer connects to, in the order of their numbers.
    listeners
        Called with each event: for what goes on in the background.
    news
        Set by them when something ends that the controller has to be asked about, and cleared by
        whoever trains.
    """

    def __init__(
        self,
        servers: Sequence[ServerSpec],
        trainer: TrainerSpec,
        deadlines: Deadlines,
        roster: Callable[[Specs], ProcessRoster] | None = None,
    ) -> None:
        self.servers: list[Name] = [("server", number) for number in range(len(servers))]
        self._specs: Specs = {**dict(zip(self.servers, servers, strict=True)), TRAINER: trainer}
        self.listeners: list[Callable[[Reply | Death], None]] = []
        self.news = False
        self._roster_of = roster or ProcessRoster.of(deadlines)
        self._deadlines = deadlines
        self._news: deque[Reply | Death] = deque()
        self._alive: dict[Name, bool] = {}

    def __enter__(self) -> Self:
        self._roster = self._roster_of(self._specs)
        self._owed = Owed(self._deadlines, self._roster.now_s)
        names = list(self._specs)
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
        for name, alive in self._alive.items():
            if alive:
                self._roster.end(name)
        self._alive.clear()
        self._roster.close()

    # --- Members ---

    @property
    def dead(self) -> list[Name]:
        """Members that have died and not been started again."""
        return [name for name, alive in self._alive.items() if not alive]

    def pid(self, name: Name) -> int:
        """The process id of a member."""
        return self._roster.pid(name)

    @property
    def names(self) -> list[Name]:
        """All members."""
        return list(self._alive)

    def start(self, names: Collection[Name]) -> None:
        """Start these members, in the places of dead ones perhaps; each says READY.

        What was still to be heard of those is of no use any more.
        """
        started = set(names)
        self._news = deque(event for event in self._news if event.name not in started)
        for name in names:
            self._roster.start(name)
            self._alive[name] = True
            self._owed.expect(name, Op.READY)

    def address(self, name: Name) -> str:
        """Where a server answers trainers."""
        return self._roster.address(name)

    def strike(self, name: Name, how: Signals) -> bool:
        """Send a member a signal behind its back; whether it was there to be hit.

        Who is killed has gone afterwards: members that a failure kills together are found dead
        together, and not one of them while the other still dies.
        """
        if self._alive[name]:
            self._roster.strike(name, how)
        return self._alive[name]

    def end(self, names: Collection[Name]) -> None:
        """Kill members that have gone silent, those that aren't dead yet."""
        for name in sorted(names):
            if self._alive[name]:
                self._declare_dead(name)

    def end_lost(self, message: Message) -> None:
        """Kill the servers of which a member says that they don't answer."""
        self.end([self.servers[each] for each in message.lost])

    # --- Asking and hearing ---

    def ask(self, name: Name, op: Op, step: int = 0, **facts: Any) -> None:
        """Ask a member for something; to a dead one nothing is said."""
        if not self._alive[name]:
            return
        self._owed.ask(name, op, step, facts)
        try:
            self._roster.tell(name, op, step, facts)
        except PeerLostError:
            self._declare_dead(name)
            self._listen(0.0)  # who has died with it has gone as well, and is replaced with it

    def connect(self, epoch: int, holders: Sequence[Sequence[int]], again: bool) -> None:
        """Ask the trainer to connect to servers.

        `holders`: of each shard, the server that answers for it, and those with copies; none for
        one that is away. `again`: what was pushed last may have been lost, and is pushed again.
        """
        addresses = [self.address(name) for name in self.servers]
        routes = [[(server, addresses[server]) for server in each] for each in holders]
        self.ask(TRAINER, Op.CONNECT, routes=routes, epoch=epoch, again=again)

    def fill(self, name: Name, epoch: int, sources: Mapping[int, int]) -> None:
        """Ask a server to fetch shards from others, `sources` by shard."""
        found = {shard: (each, self.address(("server", each))) for shard, each in sources.items()}
        self.ask(name, Op.FILL, epoch=epoch, sources=found)

    def next(self, timeout_s: float = math.inf) -> Reply | Death | None:
        """What happens next; None if nothing has within that time."""
        end_s = self._roster.now_s() + timeout_s
        while not self._news:
            limit_s = min(end_s, self._owed.next_s)
            self._listen(max(limit_s - self._roster.now_s(), 0.0))
            self.end(self._owed.late)
            if not self._news and self._roster.now_s() >= end_s:
                return None
        event = self._news.popleft()
        for each in self.listeners:
            each(event)
        return event

    def replies(
        self, asked: Collection[Name], *ops: Op, epoch: int = 0, strikes: "Strikes | None" = None
    ) -> dict[Name, Message]:
        """What all of those asked answer, but for those that die instead.

        Answers to what was asked in another epoch are passed over, if one is given; failures can
        strike meanwhile, if `strikes` are.
        """
        found: dict[Name, Message] = {}
        while set(asked) - found.keys() - set(self.dead):
            event = self.next(math.inf if strikes is None else strikes.wait_s)
            if event is None and strikes is not None:
                strikes.strike()
            elif (
                isinstance(event, Reply)
                and event.message.op in ops
                and (not epoch or event.message.facts["epoch"] == epoch)
            ):
                found[event.name] = event.message
        return found

    def _listen(self, timeout_s: float) -> None:
        """Hear all that there is, or what comes first within that time."""
        for name, message in self._roster.hear(timeout_s):
            if self._alive[name]:
                self._hear(name, message)

    def _hear(self, name: Name, message: Message | None) -> None:
        if message is None:
            self._declare_dead(name)
            return
        if message.op == Op.FAILED:
            raise RunError("{} {}: {}".format(*name, message.facts["error"]))
        self._owed.hear(name, message)
        self._news.append(Reply(name, message))

    def _declare_dead(self, name: Name) -> None:
        self._roster.end(name)
        self._alive[name] = False
        self._owed.forgive({name})
        self._news.append(Death(name))
