"""Orbax saves when a policy says so: a policy object for its `CheckpointManager`.

Orbax's policies are protocols, so this module imports neither orbax nor jax.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cprsim.hooks.decider import Decider
from cprsim.hooks.whole_saves import WholeSaves

if TYPE_CHECKING:
    from orbax.checkpoint.checkpoint_managers import (
        DecisionContext,
        PolicyCheckpointInfo,
        PreservationContext,
    )


class OrbaxPolicy:
    """Decides when Orbax saves, and which checkpoints it keeps.

    It is a `SaveDecisionPolicy` and a `PreservationPolicy`; give it as both, since Orbax calls the
    second when training continues after a save, which ends the timing of the save::

        policy = OrbaxPolicy(decider)
        options = CheckpointManagerOptions(
            save_decision_policy=policy, preservation_policy=policy
        )

    Steps given to `CheckpointManager.save` count the steps done: 1 after the first. With several
    processes the decision is that of process 0.

    Parameters
    ----------
    decider
        Decides when a save is due. A policy with blocking saves, such as full, wants
        `enable_async_checkpointing=False`; async wants Orbax's default.

    Raises
    ------
    UsageError
        In `should_save`, if the policy needs more than whole checkpoints.
    """

    def __init__(self, decider: Decider) -> None:
        self._saves = WholeSaves(decider)

    def should_save(
        self,
        step: "PolicyCheckpointInfo",
        previous_steps: "Sequence[PolicyCheckpointInfo]",  # noqa: ARG002  (Orbax's protocol)
        *,
        context: "DecisionContext",
    ) -> bool:
        """Return whether Orbax saves after this step.

        It does so at once when a preemption is announced. While it still writes a checkpoint in the
        background, a save that is due waits.
        """
        due = self._saves.due(step.step) and not context.is_saving_in_progress
        return context.reached_preemption or _of_process_0(due)

    def should_preserve(
        self,
        checkpoints: "Sequence[PolicyCheckpointInfo]",
        *,
        context: "PreservationContext",  # noqa: ARG002  (Orbax's protocol)
    ) -> list[bool]:
        """Return for each checkpoint, oldest first, whether it is among the last ones kept.

        The policy's plan says how many: its key `keep`. All are kept until there is a plan.
        """
        if checkpoints:
            self._saves.stored(checkpoints[-1].step)
        plan = self._saves.decider.plan
        first = 0 if plan is None else len(checkpoints) - plan.keep
        return [number >= first for number in range(len(checkpoints))]


def _of_process_0(due: bool) -> bool:
    """Return the decision of process 0 in all processes, whose clocks differ."""
    import jax  # noqa: PLC0415  (the training loop has loaded it)

    if jax.process_count() == 1:
        return due
    from jax.experimental import multihost_utils  # noqa: PLC0415

    return bool(multihost_utils.broadcast_one_to_all(due))
