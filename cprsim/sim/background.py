"""Saves in the background."""

from typing import NamedTuple

from cprsim.contract import Save, Stored
from cprsim.sim.dialogue import Dialogue
from cprsim.sim.fabric import Flow
from cprsim.sim.observer import Task
from cprsim.sim.resolved import Setting
from cprsim.sim.state import Checkpoint, State
from cprsim.sim.work import Work


class _Pending(NamedTuple):
    save: Save
    taken: Checkpoint


class BackgroundSaves:
    """Saves that go on while the job trains, until their last byte is stored."""

    def __init__(self, setting: Setting, state: State, work: Work, dialogue: Dialogue) -> None:
        self._set, self._state, self._work = setting, state, work
        self._dialogue = dialogue
        self._pending: dict[Flow, _Pending] = {}

    @property
    def saves(self) -> tuple[Save, ...]:
        """Those under way."""
        return tuple(each.save for each in self._pending.values())

    def start(self, save: Save, taken: Checkpoint) -> None:
        """Begin to store what was `taken`."""
        transfer, _ = self._set.save(save)
        flow = self._work.start(Task("save", save.tier), transfer, self._land)
        self._pending[flow] = _Pending(save, taken)

    def holds(self, progress_s: float) -> bool:
        """Whether one of them is a checkpoint of everything that far."""
        return any(
            each.taken.progress_s >= progress_s and each.save.portion == 1.0
            for each in self._pending.values()
        )

    def abandon(self) -> None:
        """Lost nodes take their part of every one of them with them."""
        for flow in self._pending:
            self._work.abandon(flow)
        self._pending.clear()

    def _land(self, flow: Flow) -> None:
        save, taken = self._pending.pop(flow)
        self._state.usable(taken, save)
        self._dialogue.tell(Stored(self._dialogue.now(), save))
