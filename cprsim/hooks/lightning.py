"""Lightning's Trainer saves when a policy says so: a callback for it."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cprsim.errors import CprsimError, UsageError
from cprsim.hooks.decider import Decider
from cprsim.hooks.whole_saves import WholeSaves

try:
    from lightning.pytorch.callbacks import Checkpoint
    from lightning.pytorch.utilities.exceptions import SIGTERMException
except ModuleNotFoundError as error:
    raise UsageError(
        f"{error.name} is not installed, and this callback needs it: pip install lightning"
    ) from error

if TYPE_CHECKING:
    from lightning.pytorch import LightningModule, Trainer


class LightningCallback(Checkpoint):
    """Saves a Lightning Trainer's checkpoints when a decider says so.

    It takes the place of `ModelCheckpoint`. Training resumes from `callback.last`, with what the
    decider had measured, bit for bit if the train dataloader has a `state_dict`. With several
    processes the decision is that of process 0.

    Parameters
    ----------
    decider
        Decides when a save is due, counting optimizer steps (`trainer.global_step`). Its policy's
        key `keep` says how many checkpoints stay in the folder.
    folder
        For the checkpoints of this job, `step-N.ckpt`, on a disk that all processes see.

    Raises
    ------
    UsageError
        At the end of a step, if the policy needs more than whole checkpoints.

    Examples
    --------
    ::

        callback = LightningCallback(Decider("full", steps=1000), "checkpoints")
        trainer = Trainer(max_steps=1000, callbacks=[callback])
        trainer.fit(module, loader, ckpt_path=callback.last)
    """

    def __init__(self, decider: Decider, folder: str | Path) -> None:
        self._saves, self._folder = WholeSaves(decider), Path(folder)
        self._learned: dict[str, Any] | None = None
        self._step = 0

    @property
    def last(self) -> Path | None:
        """The newest checkpoint in the folder, for `ckpt_path`; None if there is none."""
        return next(iter(self._stored()), None)

    def on_train_start(self, trainer: "Trainer", pl_module: "LightningModule") -> None:  # noqa: ARG002
        """Continue from the step of the checkpoint, if there is one."""
        self._step = trainer.global_step
        self._saves.decider.resumed(self._step, self._learned)

    def on_train_batch_end(self, trainer: "Trainer", *_: Any) -> None:
        """Save if a save is due after this optimizer step."""
        if trainer.global_step == self._step:  # the batch only accumulated gradients
            return
        self._step = trainer.global_step
        due = trainer.is_global_zero and self._saves.due(self._step)
        if trainer.world_size > 1:  # the clocks of processes differ
            due = trainer.strategy.broadcast(due)
        if due:
            self._save(trainer)

    def on_exception(
        self,
        trainer: "Trainer",
        pl_module: "LightningModule",  # noqa: ARG002  (Lightning's signature)
        exception: BaseException,
    ) -> None:
        """Save after a SIGTERM, which Lightning raises between steps; note any other failure."""
        if isinstance(exception, SIGTERMException):
            self._save(trainer)
        elif isinstance(exception, Exception) and not isinstance(exception, CprsimError):
            self._saves.decider.lost()

    def state_dict(self) -> dict[str, Any]:
        """Return what the decider has measured, for the checkpoint."""
        return asdict(self._saves.decider.learned)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what the decider had measured from the checkpoint."""
        self._learned = state_dict

    def _save(self, trainer: "Trainer") -> None:
        trainer.save_checkpoint(self._folder / f"step-{self._step}.ckpt")
        self._saves.stored(self._step)
        plan = self._saves.decider.plan
        if plan is not None:
            for path in self._stored()[plan.keep :]:
                trainer.strategy.remove_checkpoint(path)

    def _stored(self) -> list[Path]:
        """Return the checkpoints in the folder, the newest first."""
        names = (path.stem.partition("-")[2] for path in self._folder.glob("step-*.ckpt"))
        steps = sorted((int(step) for step in names if step.isdecimal()), reverse=True)
        return [self._folder / f"step-{step}.ckpt" for step in steps]
