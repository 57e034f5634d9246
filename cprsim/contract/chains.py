"""Chains of checkpoints: a base, and the differences that follow it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cprsim.contract import rules
from cprsim.contract.actions import (
    Action,
    Clock,
    Controller,
    Event,
    Recover,
    Resumed,
    Save,
    Saved,
    Stored,
    Train,
    Unusable,
    Void,
)
from cprsim.contract.schedules import ScheduledController

if TYPE_CHECKING:
    from cprsim.contract.plan import Plan

_NONE = -1  # no checkpoint yet: the next one is a base


@dataclass(frozen=True, slots=True)
class Chains:
    """`chains`: of each schedule, a base and the differences that follow it."""

    chains: tuple[tuple[Save, ...], ...]

    def controller(self, plan: "Plan") -> Controller:
        """One that knows which link of each chain comes next."""
        return ChainController(plan, self)


class ChainController(ScheduledController):
    """Follows schedules; the saves of each tier go round a chain, a base and its differences.

    Each schedule has at most one save under way in the background.
    """

    __slots__ = ("_chains", "_source", "_stored", "_taken")

    def __init__(self, plan: "Plan", sequence: Chains) -> None:
        super().__init__(plan.schedules, plan.recover)
        self._chains = chains = sequence.chains
        self._taken = [_NONE] * len(chains)  # links last taken, and last stored
        self._stored = [_NONE] * len(chains)
        self._source = ""

    def tell(self, event: Event) -> None:
        """Move the schedules and the chains on."""
        under_way = list(self._pending)
        super().tell(event)
        if isinstance(event, Saved):
            number = self._number[event.save.tier]
            self._taken[number] = self._link(number, event.save)
            if event.stored:
                self._store(number)
                for i in range(rules.r5_nearest(number, True), number):
                    self._pass_on(i, self._taken[number])
        elif isinstance(event, Stored):
            self._store(self._number[event.save.tier])
        elif isinstance(event, Void):  # the next is the same link
            number = self._number[event.save.tier]
            self._taken[number] = self._stored[number]
        elif isinstance(event, Unusable):  # all chains begin anew
            self._source = event.tier
            self._stored = [_NONE] * len(self._chains)
        elif isinstance(event, Resumed):
            self._return(event, under_way)

    def ask(self, now: Clock) -> Action:
        """As the schedules say, with the next link of the chain for a save."""
        action = super().ask(now)
        if isinstance(action, Recover):
            self._source = action.source
        if not isinstance(action, Save):
            return action
        number = self._number[action.tier]
        chain = self._chains[number]
        return chain[(self._taken[number] + 1) % len(chain)]

    def _link(self, number: int, save: Save) -> int:
        """Which link of the chain that save is; any other save is whole, like a base."""
        chain = self._chains[number]
        link = (self._taken[number] + 1) % len(chain)
        return link if save == chain[link] else 0

    def _store(self, number: int) -> None:
        self._stored[number] = self._taken[number]

    def _pass_on(self, number: int, link: int) -> None:
        """A base of a further tier is one here; a difference is one more here."""
        last = len(self._chains[number]) - 1
        if link == 0:
            self._taken[number] = 0
        else:
            self._taken[number] = min(self._taken[number] + 1, last)
        self._store(number)

    def _return(self, event: Resumed, under_way: list[int]) -> None:
        """Tiers that were filled anew hold a base; saves that were void are in no chain.

        Where progress didn't go back so far, those are due at once.
        """
        self._source = self._source if event.source is None else event.source
        source = self._number.get(self._source, len(self._chains))
        # Without a save to it, the job has returned to its start.
        saved = source < len(self._chains) and self._stored[source] != _NONE
        for i, saves in enumerate(under_way):
            if i < source:
                self._stored[i] = 0 if saved else _NONE
            elif i > source and self._pending[i] < saves:
                self._due_s[i] = event.now.progress_s
        self._taken = list(self._stored)
        self._train = Train(min(self._due_s))
