"""Answers that members owe the controller, each with its own deadline."""

import math
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.member import Name
from cprsim.trainer.members.wire import Message, Op

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
