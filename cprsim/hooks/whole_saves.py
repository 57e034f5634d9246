"""Saves of whole checkpoints by a trainer that has a checkpoint format already."""

from typing import TYPE_CHECKING, Final

from cprsim.errors import UsageError
from cprsim.hooks.decider import Decider

if TYPE_CHECKING:
    from cprsim.contract import Save

_WAY_OUT: Final = "take full, async or autopilot, or cprsim.trainer.TrainerHooks"


class WholeSaves:
    """The saves that a decider wants from a trainer which stores and loads whole checkpoints.

    Each adapter has one. It refuses policies that such a trainer can't carry out, and times saves
    by the decider's clock.

    Parameters
    ----------
    decider
        Decides when a save is due.

    Examples
    --------
    >>> saves = WholeSaves(Decider("full", steps=1000, scenario="quickstart"))
    >>> step = next(step for step in range(1, 1000) if saves.due(step))
    >>> saves.stored(step)
    >>> step, saves.due(step)
    (20, False)
    """

    def __init__(self, decider: Decider) -> None:
        self.decider = decider
        self._save: Save | None = None
        self._began_s = 0.0

    def due(self, step: int) -> bool:
        """Return whether a checkpoint is due after so many steps, and start timing the save.

        Raises
        ------
        UsageError
            If the policy recovers single shards or from copies, or saves parts of the state.
        """
        from cprsim.contract import Save  # noqa: PLC0415  (loads what plans)

        self._save, plan = self.decider.due(step), self.decider.plan
        fault = ""
        if plan is not None and (plan.recovery != "full" or plan.mirror or plan.redundancy):
            fault = "recovers from more than whole checkpoints, and this trainer can't"
        elif self._save is not None and self._save._replace(blocking=True) != Save():
            fault = (
                "saves parts of the state, or to several tiers, and this trainer stores whole "
                "checkpoints in one place"
            )
        if fault:
            raise UsageError(f"policy {self.decider.policy!r} {fault}: {_WAY_OUT}")
        self.begin()
        return self._save is not None

    def begin(self) -> None:
        """Time the save from now on: the trainer did something else first, such as evaluate."""
        self._began_s = self.decider.clock()

    def stored(self, step: int) -> None:
        """Note that training continues after a save; nothing if the decider wanted none."""
        if self._save is not None:
            self.decider.saved(step, self._save, self.decider.clock() - self._began_s)
        self._save = None
