"""Train a scenario for real under one policy, on a cluster of processes on this machine."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from cprsim.basics.files import locked_tempdir
from cprsim.contract import rules
from cprsim.errors import RunError
from cprsim.failures.timeline import Timeline
from cprsim.machine.rules import learning_lost
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from cprsim.trainer.hooks.running_job import MeasuredSpan
from cprsim.trainer.lab.cluster import LocalCluster
from cprsim.trainer.lab.execution import Execution
from cprsim.trainer.lab.members import MemberSpec
from cprsim.trainer.limits import check_fits
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.support import LAB

#: Called with the steps done and the steps in all.
Progress = Callable[[int, int], None]
#: Probabilities are taken to be that far from 0 and 1: float32's spacing below 1.
_LEAST = 2.0**-24


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
        too_long = ("spans", "saved_rows")
        shown = {name: value for name, value in vars(self).items() if name not in too_long}
        return shown | {"auc": None if math.isnan(self.auc) else self.auc}


def train(
    scenario: Scenario,
    section: TrainerSection,
    policy: str,
    seed: int = 0,
    progress: Progress | None = None,
    timeline: Timeline | None = None,
) -> Trained:
    """Train a scenario for real.

    `scenario`: its failures strike processes; its costs are for the policy to plan with. `section`:
    its block `[trainer]`. `policy`: the name of one of its policies. `seed`: of the samples, the
    model, the failures, and what the trackers draw. `progress`: called in this process as steps are
    done. `timeline`: of the failures, in place of the scenario's own.

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
    with locked_tempdir() as folder:
        servers = scenario.cluster.parameter_servers
        # Of the other policies each process that starts would import the code, one by one.
        alone = scenario.with_policies({policy: scenario.policies[policy]})
        spec = MemberSpec(data, section, servers, seed, alone, policy, folder)
        with LocalCluster(spec) as cluster:
            job = Execution(cluster, spec, plan, cursor, progress or (lambda *_: None))
            job.run()
            _, predicted, labels = job.predict(data.steps, data.steps + data.test_steps)
            *kept, steps_kept = job.counts()
    made = spec.placement.updates(data, data.steps).sum(axis=0)
    shares = ((made - kept) / np.maximum(made, 1)).tolist()
    if not np.isfinite(predicted).all():
        raise RunError(
            f"trainer.learning_rate: {section.learning_rate:g} made training diverge, and its "
            "predictions are no numbers; give a smaller one"
        )
    return Trained(
        policy=policy,
        seed=seed,
        auc=auc(predicted, labels),
        log_loss=log_loss(predicted, labels),
        predictions_sha256=hashlib.sha256(predicted.data).hexdigest(),
        pls=job.lost_steps / rules.all_samples(job.steps, servers),
        updates_lost=int((made - kept).sum()) / int(made.sum()),
        learning_lost=math.fsum(map(learning_lost, shares)) / servers,
        dense_lost=1 - steps_kept / job.steps,
        failures=job.strikes.failures,
        absorbed=cursor.absorbed,
        struck=job.strikes.struck,
        replaced=job.replaced,
        steps=job.steps,
        executed=job.executed,
        seconds=job.watch.seconds,
        spans=job.watch.spans,
        saved_rows=job.saved_rows,
    )


def auc(predicted: NDArray[np.float32], labels: NDArray[np.float32]) -> float:
    """Area under the ROC curve: how often a click is predicted above none, ties counting half.

    By the ranks of the clicks (Mann and Whitney); nan where all labels are alike.
    """
    ranks, clicks = rankdata(predicted), labels == 1
    n, others = int(clicks.sum()), int((~clicks).sum())
    if not n or not others:
        return float("nan")
    return float((ranks[clicks].sum() - n * (n + 1) / 2) / (n * others))


def log_loss(predicted: NDArray[np.float32], labels: NDArray[np.float32]) -> float:
    """Mean binary cross entropy, nats."""
    chance = np.clip(predicted.astype(np.float64), _LEAST, 1 - _LEAST)
    return float(-np.mean(np.where(labels == 1, np.log(chance), np.log1p(-chance))))
