"""Train a scenario for real under one policy, on a cluster of processes on this machine."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.files import locked_tempdir
from cprsim.contract import rules
from cprsim.errors import RunError
from cprsim.failures.timeline import Timeline
from cprsim.machine.rules import learning_lost
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from cprsim.trainer.data.contract import Data
from cprsim.trainer.hooks.running_job import MeasuredSpan
from cprsim.trainer.lab.cluster import TRAINER, LocalCluster
from cprsim.trainer.lab.execution import Execution
from cprsim.trainer.lab.members import MemberSpec
from cprsim.trainer.lab.model import Placement
from cprsim.trainer.lab.strikes import FailureClock, Strikes
from cprsim.trainer.limits import check_fits
from cprsim.trainer.scores import auc, log_loss
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.support import LAB

#: Called with the steps done and the steps in all.
Progress = Callable[[int, int], None]
#: Too long to be printed.
_UNTOLD = ("spans", "saved_rows")


@dataclass(frozen=True)
class Trained:
    """The result of one run; times are of the real clock.

    `seconds`: by cause, as in `cprsim.contract.ledger`. `pls`: (E4) of CPR, of the steps since the
    last whole checkpoint of each failed server. `updates_lost`, `learning_lost`: by the updates
    that are in the rows after the last step, each a use of a row by a sample. `dense_lost`: share
    of the steps whose updates of the MLPs were lost. `failures`: that struck; `absorbed`: that fell
    into a downtime. `struck`: processes that were hit, `replaced`: those that were started in the
    places of dead ones. `executed`: steps that were trained, those that were rolled back as well.
    `spans`: where the time went, one after the other. `saved_rows`: of servers whose saves were of
    chosen rows, how many each had.
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
    saved_rows: Mapping[int, Sequence[int]]

    def document(self) -> dict[str, Any]:
        """Return the JSON of `cprsim train`; without clicks or without others no AUC."""
        told = {name: value for name, value in vars(self).items() if name not in _UNTOLD}
        return told | {"auc": None if math.isnan(self.auc) else self.auc}


def train(
    scenario: Scenario,
    section: TrainerSection,
    policy: str,
    seed: int = 0,
    progress: Progress | None = None,
    timeline: Timeline | None = None,
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
    timeline
        Of the failures, in place of the scenario's own.

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
    plan = scenario.plan(policy)
    LAB.check_plan(policy, plan, scenario.plans_of)
    check_fits(scenario, section)
    data = section.data(scenario, seed)
    cursor = cursor_of(timeline or scenario.failure_model.timeline(seed, 0))
    step_s = scenario.job.useful_time_s / data.steps

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, data.steps)

    job = Execution(data.steps, plan, tell)
    with locked_tempdir() as folder:
        servers = scenario.cluster.parameter_servers
        # Of the other policies each process that starts would import the code, one by one.
        alone = scenario.with_policies({policy: scenario.policies[policy]})
        spec = MemberSpec(data, section, servers, seed, alone, policy, folder)
        times = FailureClock(lambda: job.watch.now_s)
        if spec.pinned:
            times = FailureClock(lambda: job.executed, step_s)
        with LocalCluster(spec) as cluster:
            during = scenario.failures.during_recovery
            strikes = Strikes(cluster, cursor, times, section, seed, during)
            job.run(cluster, strikes)
            _, predicted, labels = job.predict(data.steps, data.steps + data.test_steps)
            left = job.counts()
    kept = np.array([left[name] for name in cluster.servers])
    made = _updates_made(data, spec.placement)
    return Trained(
        policy=policy,
        seed=seed,
        **_scored(predicted, labels, section),
        pls=job.lost_steps / rules.all_samples(job.steps, servers),
        updates_lost=int((made - kept).sum()) / int(made.sum()),
        learning_lost=_learning_lost(made, kept),
        dense_lost=1 - left[TRAINER] / job.steps,
        failures=strikes.failures,
        absorbed=strikes.absorbed,
        struck=strikes.struck,
        replaced=job.replaced,
        steps=job.steps,
        executed=job.executed,
        seconds=job.watch.seconds,
        spans=job.watch.spans,
        saved_rows=job.saved_rows,
    )


def _updates_made(data: Data, placement: Placement) -> NDArray[np.int64]:
    """Updates of each server's rows in all steps, shape (servers,)."""
    made = np.zeros(placement.servers, dtype=np.int64)
    for step in range(data.steps):
        ids = placement.ids(data.batch(step).sparse).ravel()
        made += np.bincount(ids % placement.servers, minlength=placement.servers)
    return made


def _learning_lost(made: NDArray[np.int64], kept: NDArray[np.int64]) -> float:
    """The mean over servers of what each has lost of its learning, by its share of updates."""
    shares = ((made - kept) / np.maximum(made, 1)).tolist()
    return math.fsum(map(learning_lost, shares)) / len(shares)


def _scored(
    predicted: NDArray[np.float32], labels: NDArray[np.float32], section: TrainerSection
) -> dict[str, Any]:
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
