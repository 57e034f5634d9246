"""Train a scenario for real under one policy, on a cluster of processes on this machine."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cprsim.basics.owned import owned_folder
from cprsim.contract import Plan
from cprsim.errors import RunError
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from cprsim.trainer.coordinator.cluster import LocalCluster
from cprsim.trainer.coordinator.execution import Execution
from cprsim.trainer.coordinator.history import losses
from cprsim.trainer.coordinator.running_job import MeasuredSpan, RunningJob, ShardSave
from cprsim.trainer.coordinator.strikes import StepClock, Strikes, WallClock
from cprsim.trainer.limits import check_fits
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.server import ServerSpec, with_copies
from cprsim.trainer.members.trainer import TrainerSpec
from cprsim.trainer.members.wire import Message
from cprsim.trainer.scores import auc, log_loss
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.support import TRAINER

#: Called with the steps done and the steps in all.
Progress = Callable[[int, int], None]
#: Largest absolute value that a number of an embedding row starts with. Chosen: rows of 16 numbers
#: then start shorter than the output of the bottom MLP.
SPREAD = 0.05
#: Too long to be printed.
_UNTOLD = ("spans", "parts")


@dataclass(frozen=True)
class Trained:
    """What came of one run; times are of the real clock.

    `seconds`: by cause, as in `cprsim.contract.ledger`. `pls`: (E4) of CPR, of the steps since the
    last whole checkpoint of each failed server. `updates_lost`, `learning_lost`: counted row by row
    (see `history`). `dense_lost`: share of the steps whose updates of the MLPs were lost while rows
    kept theirs. `failures`: that struck; `absorbed`: that fell into a downtime. `struck`: processes
    that were hit, `replaced`: those that were started in the places of dead ones. `executed`: steps
    that were trained, those that were rolled back as well. `spans`: where the time went, one after
    the other. `parts`: what servers' parts of saves took.
    """

    policy: str
    seed: int
    auc: float
    log_loss: float
    predictions_sha256: str
    pls: float
    updates_lost: float
    learning_lost: float
    dense_lost: float
    failures: int
    absorbed: int
    struck: int
    replaced: int
    steps: int
    executed: int
    seconds: dict[str, float]
    spans: Sequence[MeasuredSpan]
    parts: Sequence[ShardSave]

    def document(self) -> dict[str, Any]:
        """What `cprsim train --json` prints; without clicks or without others no AUC."""
        told = {name: value for name, value in vars(self).items() if name not in _UNTOLD}
        return told | {"auc": None if math.isnan(self.auc) else self.auc}


def train(
    scenario: Scenario,
    section: TrainerSection,
    policy: str,
    seed: int = 0,
    progress: Progress | None = None,
) -> Trained:
    """Train a scenario for real.

    Parameters
    ----------
    scenario
        Its failures strike processes; its costs are for the policy to plan with.
    section
        Its block `[trainer]`.
    policy
        Name of one of its policies.
    seed
        Of the samples, the model, the failures, and what the trackers draw.
    progress
        Called in this process as steps are done.

    Raises
    ------
    ScenarioError
        Where the scenario or the policy can't be trained.
    RunError
        If a member of the cluster can't go on, or training diverges.

    Notes
    -----
    Members are started by forkserver: a script needs its `if __name__ == "__main__":`.
    """
    return carry_out(scenario, section, policy, scenario.plan(policy), seed, progress)


def carry_out(
    scenario: Scenario,
    section: TrainerSection,
    policy: str,
    plan: Plan,
    seed: int = 0,
    progress: Progress | None = None,
) -> Trained:
    """Train a scenario under a plan that none of its policies need have made; as `train` else."""
    TRAINER.check_plan(policy, plan, scenario.plans_of)
    check_fits(scenario, section, plans=[plan])
    data = section.data(scenario, seed)
    placement = Placement(
        tuple(table.rows for table in data.tables), scenario.cluster.parameter_servers
    )
    final_save = plan.last_save if scenario.job.final_save else None
    step_s = scenario.job.useful_time_s / data.steps
    job = RunningJob(TRAINER.start(plan), data.steps, step_s)
    with owned_folder() as folder:
        servers = _servers(scenario, section, plan, placement, seed, folder)
        copies = 0 if plan.redundancy is None else 1 + plan.redundancy.parity
        trainer = TrainerSpec(
            data=data,
            placement=placement,
            dim=data.tables[0].dim,
            hidden=section.hidden,
            seed=member_seed(seed, placement.servers),
            learning_rate=section.learning_rate,
            deadline_s=section.answer_s,
            folder=folder / "dense",
            copies=copies,
        )
        with LocalCluster(servers, trainer, section.deadlines) as cluster:
            strikes = _strikes(scenario, section, job, cluster, seed)
            execution = Execution(
                job,
                cluster,
                strikes,
                final_save,
                _step_listener(progress, data.steps),
                plan.redundancy,
            )
            execution.run()
            predicted = execution.predict(data.steps, data.steps + data.test_steps)
    lost = losses(job.row_events, job.steps, data, placement)
    return Trained(
        policy=policy,
        seed=seed,
        **_scored(predicted, section),
        pls=job.pls(placement.servers),
        updates_lost=lost.updates_lost,
        learning_lost=lost.learning_lost,
        dense_lost=job.dense_lost_steps / job.steps,
        failures=strikes.failures,
        absorbed=strikes.absorbed,
        struck=strikes.struck,
        replaced=execution.recovery.replaced,
        steps=job.steps,
        executed=job.executed,
        seconds=job.watch.seconds,
        spans=job.watch.spans,
        parts=job.parts,
    )


def _servers(
    scenario: Scenario,
    section: TrainerSection,
    plan: Plan,
    placement: Placement,
    seed: int,
    folder: Path,
) -> list[ServerSpec]:
    rows = scenario.context.rows
    tracked = () if rows is None or plan.tracking is None else rows.tracked_tables
    tables = scenario.model.tables if scenario.model is not None else None
    assert tables is not None
    specs = [
        ServerSpec(
            number=server,
            rows=placement.rows_of(server),
            dim=tables[0].dim,
            seed=member_seed(seed, server),
            spread=SPREAD,
            learning_rate=section.learning_rate,
            tracking=plan.tracking,
            tables=tuple(placement.range_of(table, server) for table in tracked),
            folder=folder / f"server-{server}",
            deadlines=section.deadlines,
            tells_modified=plan.tells_modified,
        )
        for server in range(placement.servers)
    ]
    return with_copies(specs, plan.redundancy)


def member_seed(seed: int, member: int) -> int:
    """A seed for torch, of one member."""
    return int(np.random.SeedSequence((seed, member)).generate_state(1)[0])


def _strikes(
    scenario: Scenario, section: TrainerSection, job: RunningJob, cluster: LocalCluster, seed: int
) -> Strikes:
    cursor = cursor_of(scenario.failure_model.timeline(seed, 0))
    if section.failures == "at-step":
        times: StepClock | WallClock = StepClock(job.step_s, lambda: job.executed)
    else:
        times = WallClock(lambda: job.watch.now_s)
    during_recovery = scenario.failures.during_recovery
    return Strikes(cluster, cursor, times, section.injection_mode(seed), during_recovery)


def _step_listener(progress: Progress | None, steps: int) -> Callable[[int], None]:
    def tell(done: int) -> None:
        if progress is not None:
            progress(done, steps)

    return tell


def _scored(message: Message, section: TrainerSection) -> dict[str, Any]:
    predicted, labels = message.arrays
    if not np.isfinite(predicted).all():
        raise RunError(
            f"trainer.learning_rate: {section.learning_rate:g} made training diverge, and its "
            "predictions are no numbers; give a smaller one"
        )
    return {
        "auc": auc(predicted, labels),
        "log_loss": log_loss(predicted, labels),
        "predictions_sha256": hashlib.sha256(predicted.data).hexdigest(),
    }
