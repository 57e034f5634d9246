"""torchft commits steps and heals from peers: `TrainerHooks` follow it."""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cprsim.trainer import TrainerHooks


class Manager(Protocol):
    """The method of torchft's `Manager` that is used here."""

    def current_step(self) -> int:
        """Return the steps that are committed, of the peer's state after healing from it."""


def after_commit(hooks: "TrainerHooks[Any]", manager: Manager, batch: Any) -> None:
    """Count the step that torchft has committed, or continue from a peer's state.

    Call it after `optimizer.step()` of torchft's `Optimizer`, or after `should_commit()` and the
    optimizer's step, whether these have committed or not. A step that was not committed changes
    nothing. A state of other steps than the next one came from a peer, and is adopted.

    Parameters
    ----------
    hooks
        Those of this replica group; `restore` was called before the first step.
    manager
        torchft's, which `dense()` of the adapter gives as well.
    batch
        As for `after_step`.
    """
    step = manager.current_step()
    if step == hooks.step + 1:
        hooks.after_step(batch)
    elif step != hooks.step:
        hooks.adopt(step)
