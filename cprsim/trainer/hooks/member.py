"""A process of a job: what its saves and its recovery share."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cprsim.contract import Plan
from cprsim.trainer.hooks.observer import HooksObserver
from cprsim.trainer.hooks.process_state import ProcessState
from cprsim.trainer.hooks.ranks import Ranks
from cprsim.trainer.hooks.running_job import RunningJob
from cprsim.trainer.hooks.twins import TwinShards


class JobMember(NamedTuple):
    """A process of a job.

    `state`: what it holds, and its checkpoints. `job`: its progress, and its controller. `ranks`:
    the processes of the job. `plan`: that of the policy. `observers`: called at saves, losses and
    loads. `twins`: groups with the same rows, averaged before each save; None without any.
    """

    state: ProcessState[Any]
    job: RunningJob
    ranks: Ranks
    plan: Plan
    observers: Sequence[HooksObserver]
    twins: TwinShards | None
