"""Hugging Face's Trainer saves when a policy says so: a callback for it."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from cprsim.errors import UsageError
from cprsim.hooks.decider import Decider
from cprsim.hooks.whole_saves import WholeSaves

try:
    from accelerate.utils import broadcast_object_list
    from transformers import TrainerCallback
except ModuleNotFoundError as error:
    raise UsageError(
        f"{error.name} is not installed, and this callback needs it: "
        "pip install transformers accelerate"
    ) from error

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments

#: Key of `TrainerState.stateful_callbacks` where the checkpoint holds what the decider measured.
_LEARNED: Final = "cprsim"


class HuggingFaceCallback(TrainerCallback):
    """Has the Trainer save when a decider says so.

    Give `save_strategy="no"`, so that nothing else saves; `save_total_limit` says how many
    checkpoints the Trainer keeps. `trainer.train(resume_from_checkpoint=True)` resumes the decider
    as well, with what it had measured. With several processes the decision is that of process 0.

    Parameters
    ----------
    decider
        Decides when a save is due, counting optimizer steps (`global_step`).

    Raises
    ------
    UsageError
        At the end of a step, if the policy needs more than whole checkpoints.

    Examples
    --------
    ::

        decider = Decider("full", steps=arguments.max_steps)
        Trainer(model, arguments, callbacks=[HuggingFaceCallback(decider)], ...)
    """

    def __init__(self, decider: Decider) -> None:
        self._saves = WholeSaves(decider)

    def on_train_begin(
        self,
        args: "TrainingArguments",  # noqa: ARG002  (the Trainer's signature, as below)
        state: "TrainerState",
        control: "TrainerControl",  # noqa: ARG002
        **_: Any,
    ) -> None:
        """Continue from the step of the checkpoint, if there is one."""
        kept = state.stateful_callbacks.get(_LEARNED, {})
        self._saves.decider.resumed(state.global_step, kept.get("attributes"))

    def on_step_end(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **_: Any
    ) -> None:
        """Ask the Trainer for a save if one is due."""
        due = state.is_world_process_zero and self._saves.due(state.global_step)
        if args.world_size > 1:  # the clocks of processes differ
            (due,) = broadcast_object_list([due])
        control.should_save = control.should_save or due
        if control.should_save:
            learned = asdict(self._saves.decider.learned)
            state.stateful_callbacks[_LEARNED] = {"args": {}, "attributes": learned}

    def on_evaluate(self, *_: Any, **__: Any) -> None:
        """Begin to time the save after the evaluation that comes before it."""
        self._saves.begin()

    def on_save(
        self,
        args: "TrainingArguments",  # noqa: ARG002
        state: "TrainerState",
        control: "TrainerControl",  # noqa: ARG002
        **_: Any,
    ) -> None:
        """Note that the checkpoint is stored."""
        self._saves.stored(state.global_step)
