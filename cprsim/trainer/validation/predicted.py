"""What a simulation on this machine's costs predicts of real runs, and what these then measure.

    found = validate(scenario, section, ["full", "cpr-mfu"])
    found.document()

Calibrated are the time of a step and what saves and recoveries take (`calibration`). Steps,
intervals, failures and rows are the scenario's own, the same in both.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from cprsim.contract.ledger import CAUSES, OVERHEAD_CAUSES, Ledger
from cprsim.scenario import Scenario
from cprsim.sim.engine import play_against
from cprsim.trainer.limits import check_fits
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import Progress, Trained, train
from cprsim.trainer.validation.calibration import Calibration, calibrate
from cprsim.trainer.validation.modelled import (
    calibrated,
    check_predictable,
    is_predictable,
    period_of,
    tracking_of,
    updates_by_server,
)
from cprsim.trainer.validation.pinned import Kill, pinned
from cprsim.trainer.validation.rehearsal import rehearsal

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Stands above the scenario that is written.
_ON_ANOTHER_CLOCK = """\
# Costs as measured. failures.csv says when failures strike on a clock on which only training takes
# time; `cprsim run` has them strike on the wall clock, so earlier in the job than `cprsim validate`
# had them, and gives other numbers.
"""


class Prediction(NamedTuple):
    """What is to come of one policy's run.

    `period`: steps from one save to the next; None if there are none. `kills`: the failures that
    it meets. `lost_steps`: those that are trained again.
    """

    system: str
    period: int | None
    kills: Sequence[Kill]
    ledger: Ledger
    lost_steps: int


class Predicted(NamedTuple):
    """What is to come of some policies' runs, by name; `scenario` is what was simulated."""

    scenario: Scenario
    of: Mapping[str, Prediction]


@dataclass(frozen=True)
class Compared:
    """One policy's run, as predicted and as it came."""

    policy: str
    prediction: Prediction
    trained: Trained

    @property
    def silent(self) -> int:
        """Members that were silent for too long in the real run: failures that none had struck."""
        return self.trained.replaced - self.trained.struck

    def seconds(self) -> list[tuple[str, float, float]]:
        """Each cause that took time, and the sum of those of overhead: predicted, measured, s."""
        rows = [
            (cause, getattr(self.prediction.ledger, cause), self.trained.seconds[cause])
            for cause in CAUSES
        ]
        of_overhead = [row for row in rows if row[0] in OVERHEAD_CAUSES]
        predicted = math.fsum(row[1] for row in of_overhead)
        measured = math.fsum(row[2] for row in of_overhead)
        told = [row for row in rows if row[1] or row[2]]
        return [*told, ("overhead", predicted, measured)]

    def counts(self) -> dict[str, tuple[float, float]]:
        """What is no time, predicted and measured."""
        simulated, trained = self.prediction.ledger, self.trained
        return {
            "pls": (simulated.pls, trained.pls),
            "updates_lost": (simulated.updates_lost, trained.updates_lost),
            "failures": (simulated.failures, trained.failures),
            "lost_steps": (self.prediction.lost_steps, trained.executed - trained.steps),
        }

    def document(self) -> dict[str, Any]:
        """What `cprsim validate --json` prints of it."""
        counts = {
            name: {"predicted": predicted, "measured": measured}
            for name, (predicted, measured) in self.counts().items()
        }
        _, *overhead = self.seconds()[-1]
        return {
            "system": self.prediction.system,
            "period_steps": self.prediction.period,
            "kills": [
                {"step": kill.executed, "servers": kill.hit.servers, "trainers": kill.hit.trainers}
                for kill in self.prediction.kills
            ],
            "predicted": {cause: getattr(self.prediction.ledger, cause) for cause in CAUSES},
            "measured": self.trained.seconds,
            "overhead_s": dict(zip(("predicted", "measured"), overhead, strict=True)),
            **counts,
            "silent": self.silent,
        }


@dataclass(frozen=True)
class Validated:
    """All policies' runs; `scenario` is that of the predictions, but for its failures.

    `left_out`: policies that nobody asked for by name and that can't be predicted yet.
    """

    scenario: Scenario
    seed: int
    calibration: Calibration
    compared: Sequence[Compared]
    left_out: Sequence[str]

    def document(self) -> dict[str, Any]:
        """What `cprsim validate --json` prints."""
        return {
            "scenario": self.scenario.title,
            "seed": self.seed,
            "calibration": vars(self.calibration),
            "policies": {each.policy: each.document() for each in self.compared},
            "left_out": list(self.left_out),
        }

    def figure(self) -> "Figure":
        """Predicted seconds against measured ones."""
        import pandas as pd  # noqa: PLC0415

        from cprsim.figures.predicted import predicted_measured  # noqa: PLC0415  (slow to import)

        rows = [row for each in self.compared for row in each.seconds() if row[0] != "train"]
        table = pd.DataFrame(rows, columns=["cause", "predicted", "measured"])
        return predicted_measured(table, self.scenario.title)

    def files(self) -> dict[str, bytes]:
        """The scenario with its failures, on a clock on which only training takes time."""
        import tomli_w  # noqa: PLC0415  (only those who write need it)

        kills = max((each.prediction.kills for each in self.compared), key=len)
        rows = [
            f"{kill.executed * self.calibration.step_s!r},{node},{kind}"
            for kill in kills
            for kind, nodes in (
                ("parameter_server", kill.hit.servers),
                ("trainer", kill.hit.trainers),
            )
            for node in nodes
        ]
        mapping = self.scenario.mapping()
        if rows:
            mapping["failures"] = {"trace": "failures.csv"}
        return {
            "scenario.toml": (_ON_ANOTHER_CLOCK + tomli_w.dumps(mapping)).encode(),
            "failures.csv": "\n".join(["time_s,node,kind", *rows, ""]).encode(),
        }


def validate(
    scenario: Scenario,
    section: TrainerSection,
    policies: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Validated:
    """Predict real runs, and do them.

    Parameters
    ----------
    scenario, section
        As for `train`; failures have to be pinned to steps.
    policies
        Names of the scenario's policies; by default all that can be predicted.
    seed, progress
        As for `train`; steps are those of all runs, the one that calibrates included.

    Raises
    ------
    ScenarioError
        Where the scenario can't be trained, or a policy not be predicted.
    RunError
        If a member of the cluster can't go on.
    """
    plans = scenario.plans_of(policies)
    left_out = [name for name, plan in plans.items() if not is_predictable(plan)]
    if policies is None and len(left_out) < len(plans):
        plans = {name: plan for name, plan in plans.items() if name not in left_out}
    check_predictable(section, scenario.cluster.trainers, plans)
    check_fits(scenario, section)
    names = list(plans)
    steps = section.data(scenario, seed).steps
    tracking = tracking_of(plans)
    done = rehearsal(tracking).steps
    total = done + steps * len(names)
    calibration = calibrate(scenario, section, tracking, seed, _part(progress, 0, total))
    predicted = predict(scenario, section, names, calibration, seed)
    compared = []
    for name, prediction in predicted.of.items():
        trained = train(scenario, section, name, seed, _part(progress, done, total))
        compared.append(Compared(name, prediction, trained))
        done += steps
    return Validated(predicted.scenario, seed, calibration, compared, left_out)


def predict(
    scenario: Scenario,
    section: TrainerSection,
    policies: Sequence[str],
    calibration: Calibration,
    seed: int = 0,
) -> Predicted:
    """Simulate what `train` would do of each policy, at costs that were measured.

    Raises
    ------
    ScenarioError
        Where a policy can't be predicted.
    """
    plans = scenario.plans_of(policies)
    check_predictable(section, scenario.cluster.trainers, plans)
    data = section.data(scenario, seed)
    updates = updates_by_server(data, scenario.cluster.parameter_servers)
    modelled = calibrated(scenario, plans, data.steps, calibration, updates)
    step_s, nominal_s = calibration.step_s, scenario.job.useful_time_s / data.steps
    found = {}
    for name, plan in plans.items():
        cursor = scenario.failure_model.timeline(seed, 0).cursor()
        met = pinned(modelled, name, step_s, cursor, nominal_s)
        ledger = play_against(modelled, name, met.timeline)
        found[name] = Prediction(
            system=modelled.policies[name].system,
            period=period_of(plan, nominal_s),
            kills=met.kills,
            ledger=ledger,
            lost_steps=round(ledger.lost / step_s),
        )
    return Predicted(modelled, found)


def _part(progress: Progress | None, before: int, total: int) -> Progress:
    """Tells of the steps of one run as of `total`, of which others have done `before`."""

    def tell(done: int, _steps: int) -> None:
        if progress is not None:
            progress(before + done, total)

    return tell
