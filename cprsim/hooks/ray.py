"""Ray Train gets a checkpoint when a policy says so: a report for the loop of its workers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cprsim.errors import UsageError
from cprsim.hooks.whole_saves import WholeSaves

try:
    from ray import train
    from ray.train.collective import broadcast_from_rank_zero
except ModuleNotFoundError as error:
    raise UsageError(
        f"{error.name} is not installed, and this report needs it: pip install 'ray[train]'"
    ) from error


def report_if_due(
    saves: WholeSaves, step: int, metrics: Mapping[str, Any], write: Callable[[Path], None]
) -> bool:
    """Report to Ray Train, with a checkpoint, if a save is due after so many steps.

    Call it after each step in all workers. They follow worker 0, whose decision is broadcast if
    there are several.

    Parameters
    ----------
    saves
        Made of the worker's decider.
    step
        Steps done, 1 after the first.
    metrics
        For `ray.train.report`.
    write
        Writes the checkpoint into a folder. In a job of several workers each one writes.

    Returns
    -------
    bool
        Whether a checkpoint was due, and Ray's controller has it now.

    Raises
    ------
    UsageError
        If the policy needs more than whole checkpoints.
    """
    context = train.get_context()
    due = context.get_world_rank() == 0 and saves.due(step)
    if context.get_world_size() > 1:
        due = broadcast_from_rank_zero(due)
    if due:
        with TemporaryDirectory() as folder:
            write(Path(folder))
            train.report(dict(metrics), checkpoint=train.Checkpoint.from_directory(folder))
        # Until the controller has it, a worker that fails would not return to this checkpoint.
        train.get_all_reported_checkpoints(train.CheckpointConsistencyMode.COMMITTED)
        saves.stored(step)
    return due
