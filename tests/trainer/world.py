"""Members side by side in one thread, over links in memory, with a clock that tells no real time.

What is under test is the code of members and of the controller as it runs in processes; in the
place of sockets, threads and the machine's scheduler is this. Whatever could happen next is a list
of actions, and whoever drives the world picks one. Actions take no time: the clock goes on only
when nothing else can happen, to the next limit of who waits. So whoever is neither killed nor
stopped always answers in time, and is wronged if it is ended: that raises.
"""

import itertools
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from signal import SIGKILL
from typing import NamedTuple

from cprsim.trainer.members.around import Around, Link
from cprsim.trainer.members.server import Server
from cprsim.trainer.members.store import ReadCheckpoint
from cprsim.trainer.members.trainer import Trainer, TrainerSpec
from cprsim.trainer.members.wire import Message, PeerLostError

#: A run that takes more actions goes round in circles.
_MOST_ACTIONS = 100_000


class ModelBrokenError(AssertionError):
    """Something has happened that must not."""


class Wait(NamedTuple):
    """Until `ready` is true, or until `due_s` of the clock: what a member's coroutines yield."""

    ready: Callable[[], object]
    due_s: float = math.inf

    def __await__(self):
        yield self


class MemoryLink(Link):
    """One end of a link in memory; what doesn't fit into the other's inbox waits here."""

    def __init__(self, world, member):
        super().__init__()
        self._world, self.member = world, member
        self.other: MemoryLink
        self.unsent: deque[Message] = deque()
        member.channels[self] = None

    def pass_on(self, message):
        if not self.gone:
            op, step, arrays, facts = message
            # Its sender may write into its own arrays.
            self.unsent.append(Message(op, step, tuple(each.copy() for each in arrays), facts))
            self._world.unsent[self] = None
            self.sent, self.member.moved = False, True
            if self._world.pick(2) == 0:  # it is sent at once
                self.flush()

    @property
    def can_send(self):
        other = self.other
        return self.unsent and len(other.inbox) < other.member.room

    def flush(self):
        unsent, inbox, receiver = self.unsent, self.other.inbox, self.other.member
        while unsent and len(inbox) < receiver.room:
            inbox.append(unsent.popleft())
        if not unsent:
            self._world.unsent.pop(self, None)
            self.sent = True
        self.member.moved = receiver.moved = True

    def close(self):
        for each in (self, self.other):
            each.gone = each.member.moved = True
            each.unsent.clear()
            each.sent = True
            self._world.unsent.pop(each, None)
        self.member.channels.pop(self, None)


class Work:
    """Something that is done beside all else, when its turn comes."""

    def __init__(self, work):
        self._work, self._done, self._result = work, False, None

    def take(self):
        self._result, self._done = self._work(), True

    def done(self):
        return self._done

    def result(self):
        return self._result


async def _accepted(server, link):
    """It accepts once it runs."""
    await server.look()
    await server.serve(link)


@dataclass(eq=False)
class ModelMember(Around):
    """What a member has around it; `tasks` are its steps, and what each waits for.

    `moved`: something may have come that one of them waits for, since they were last looked at.
    `ready`: what it could do next; none once it is stopped or dead. `heard`: the controller can
    hear from it, or of its end.
    """

    world: "World"
    name: tuple
    room: float = 2
    alive: bool = True
    hung: bool = False
    buried: bool = False  # its end was heard
    tasks: list = field(default_factory=list)
    channels: dict = field(default_factory=dict)
    works: deque = field(default_factory=deque)
    moved: bool = True
    ready: list = field(default_factory=list)
    heard: bool = False
    to_controller: MemoryLink | None = None

    def now_s(self):
        return self.world.now

    async def until(self, ready, due_s=math.inf):
        if not ready():
            await Wait(ready, due_s)

    async def look(self):
        await Wait(lambda: True)

    async def connect(self, address):
        server = self.world.doors.get(address)
        if server is None or not server.alive:
            raise PeerLostError(address)
        mine, its = self.world.link(self, server)
        server.begin(_accepted(server, its))
        server.moved = True
        return mine

    def beside(self, work):
        self.works.append(Work(work))
        self.moved = True
        return self.works[-1]

    def begin(self, steps):
        try:
            self.tasks.append((steps, steps.send(None)))
        except StopIteration:
            return

    def resume(self, task):
        self.tasks.remove(task)
        self.begin(task[0])
        self.moved = True

    def work(self):
        self.works.popleft().take()
        self.moved = True

    def refresh(self):
        """See what it could do by now, and whether the controller can hear it, or of its end."""
        now, self.moved = self.world.now, False
        said = self.to_controller is not None and self.to_controller.inbox
        self.heard = bool(said) if self.alive or self.buried else True
        found = self.ready = []
        if self.alive and not self.hung:
            for task in self.tasks:
                _, (ready, due_s) = task
                if due_s <= now or ready():
                    found.append(partial(self.resume, task))
            if self.works:
                found.append(self.work)

    def hang(self):
        self.hung = self.moved = True

    def end(self):
        self.alive, self.moved = False, True
        for steps, _ in self.tasks:
            steps.close()
        self.tasks.clear()
        self.works.clear()
        for each in list(self.channels):
            each.close()


class World:
    """All members and their controller: a roster for `LocalCluster`.

    `pick` chooses one of so many. `room`: messages that a link holds which nobody has received;
    few, so that senders have to wait.
    """

    def __init__(self, specs, pick, room=2):
        self._specs, self.pick, self._room = specs, pick, room
        self._faults, self.began = [], 0
        self.unsent = {}  # channels that have some, in the order in which they got it
        self.now, self.actions = 0.0, 0
        self.members, self.doors, self.stores = {}, {}, {}
        self._controller = ModelMember(self, ("controller", 0), room=math.inf)
        self._starts = itertools.count()
        self._addresses = {}
        self.struck = []

    # --- What a cluster needs ---

    def now_s(self):
        return self.now

    def start(self, name):
        member = self.members[name] = ModelMember(self, name, self._room)
        mine, member.control = self.link(self._controller, member)
        member.to_controller = mine
        spec = self._specs[name]
        self._addresses[name] = f"{name[0]}-{name[1]}.{next(self._starts)}"

        async def live():
            await member.look()
            if isinstance(spec, TrainerSpec):
                member.trainer = Trainer(spec, member)
                await member.trainer.obey()
            else:
                server = Server(spec, member)
                member.serve = server.serve
                member.server = server
                self.doors[self._addresses[name]] = member
                await server.obey()

        member.begin(live())

    def address(self, name):
        return self._addresses[name]

    def pid(self, _name):
        return 0

    def tell(self, name, op, step, facts):
        if not self.members[name].alive:
            raise PeerLostError(name)
        self.members[name].to_controller.pass_on(Message(op, step, (), facts))

    def hear(self, timeout_s):
        end_s = self.now + timeout_s
        while True:
            if self._faults:
                self._strike_due()
            actions, heard = self._able()
            if not actions and not heard:
                self._tick(end_s)
                if self.now >= end_s:
                    return []
                continue
            at = self.pick(len(actions) + len(heard))
            if at >= len(actions):
                return [self._said(heard[at - len(actions)])]
            self._act(actions[at])

    def run(self, over=None):
        """Act, with no controller, until that is so; by default, as long as no time passes."""
        while over is None or not over():
            actions, _ = self._able()
            if actions:
                self._act(actions[0])
            elif over is None:
                return
            else:
                self._tick(math.inf)

    def _act(self, action):
        self.actions += 1
        if self.actions > _MOST_ACTIONS:
            raise ModelBrokenError("it goes round in circles")
        action()

    def strike(self, name, how):
        member = self.members[name]
        if how == SIGKILL:
            member.end()
        else:
            member.hang()

    def end(self, name):
        member = self.members[name]
        if member.alive and not member.hung:
            raise ModelBrokenError(f"{name} is well and was ended at {self.now} s")
        member.end()

    def is_over(self):
        """The job is done: whoever is ended now, is so rightly."""
        for each in self.members.values():
            each.hang()

    def close(self):
        """Nothing is left of it but what it held."""

    # --- What may happen ---

    def strike_later(self, faults):
        """Have members struck: before which action from now on, who, and whether it is stopped."""
        self.began = self.actions
        due = [(self.began + at, name, hangs) for at, name, hangs in faults]
        self._faults = sorted(due, key=lambda each: each[0])

    def link(self, one, other):
        ends = MemoryLink(self, one), MemoryLink(self, other)
        ends[0].other, ends[1].other = ends[1], ends[0]
        return ends

    def _able(self):
        """All that could be done next, and members that the controller could hear."""
        actions, heard = [], []
        for member in self.members.values():
            if member.moved:
                member.refresh()
            if member.ready:
                actions += member.ready
            if member.heard:
                heard.append(member)
        for each in self.unsent:
            if not each.member.hung and each.can_send:
                actions.append(each.flush)
        return actions, heard

    def _tick(self, end_s):
        well = [each for each in self.members.values() if each.alive and not each.hung]
        due_s = min([end_s, *(wait.due_s for each in well for _, wait in each.tasks)])
        if due_s == math.inf:
            raise ModelBrokenError("all wait for each other")
        self.now = max(self.now, due_s)
        for each in well:
            each.moved = True

    def _strike_due(self):
        while self._faults and self._faults[0][0] <= self.actions:
            _, name, hangs = self._faults.pop(0)
            member = self.members[name]
            if member.alive and not member.hung:
                self.struck.append(name)
                if hangs:
                    member.hang()
                else:
                    member.end()

    def _said(self, member):
        member.moved = True
        if member.to_controller.inbox:
            return member.name, member.to_controller.inbox.popleft()
        member.buried = True
        return member.name, None


class MemoryStore:
    """Checkpoints in memory, as `CheckpointStore` has them on disk; it outlives its member."""

    def __init__(self):
        self._kept = {}

    @property
    def empty(self):
        return not self._kept

    def write(self, step, arrays, ids=None, returns_to=(), _since=None):
        first = min(returns_to, default=math.inf)
        self._kept = {
            each: it for each, it in self._kept.items() if each <= first or each in returns_to
        }
        if ids is not None:
            whole = [each.copy() for each in self._kept[max(self._kept)]]
            for each, part in zip(whole, arrays, strict=True):
                each[ids] = part
            arrays = whole
        self._kept[step] = [each.copy() for each in arrays]
        return 0

    def restore(self, at_most):
        self._kept = {step: each for step, each in self._kept.items() if step <= at_most}
        if not self._kept:
            return None
        return ReadCheckpoint(max(self._kept), tuple(self._kept[max(self._kept)]), 0)
