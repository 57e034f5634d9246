"""What a simulation on this machine's costs predicts of real runs, and what these then measure.

    found = validate(scenario, section, ["full", "cpr-mfu"], repeats=5)
    print(found.verdicts())

The predictions are made, and can be written down by whoever asks, before anything is trained.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cprsim.basics.machine import cores
from cprsim.scenario import Scenario
from cprsim.trainer.limits import check_fits
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import Progress, Trained, train
from cprsim.trainer.validation.calibration import (
    Calibration,
    calibrate,
    progress_part,
    rehearsals,
)
from cprsim.trainer.validation.compared import Compared, Load
from cprsim.trainer.validation.modelled import (
    check_predictable,
    is_predictable,
    largest_hit,
    lost,
)
from cprsim.trainer.validation.predicted import Predicted, predict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Called with what was predicted, before anything is trained.
Announce = Callable[[Predicted], None]
#: So many repeats have a lower quartile; with fewer, medians are compared.
_QUARTILE_OF = 3
#: Stands above the scenario that is written.
_ON_ANOTHER_CLOCK = """\
# Costs as measured. failures.csv says when failures strike on a clock on which only training takes
# time; `cprsim run` has them strike on the wall clock, so earlier in the job than `cprsim validate`
# had them, and gives other numbers.
"""


@dataclass(frozen=True)
class Validated:
    """All policies' runs beside what was predicted of them.

    `left_out`: policies that nobody asked for by name and that can't be predicted yet.
    """

    predicted: Predicted
    compared: Sequence[Compared]
    load: Load
    left_out: Sequence[str]

    def verdicts(self) -> dict[str, str]:
        """What came of each policy, in words."""
        return {each.policy: each.verdict(self.load) for each in self.compared}

    def document(self) -> dict[str, Any]:
        """What `cprsim validate --json` prints."""
        predicted = self.predicted
        return {
            "scenario": predicted.scenario.title,
            "seed": predicted.seed,
            "predictions_sha256": predicted.sha256,
            "repeats": max(len(each.runs) for each in self.compared),
            "load": self.load._asdict(),
            "calibrations": {name: vars(each) for name, each in predicted.calibrations.items()},
            "policies": {each.policy: each.document() for each in self.compared},
            "verdicts": self.verdicts(),
            "left_out": list(self.left_out),
        }

    def figure(self) -> "Figure":
        """Predicted seconds against measured ones."""
        import pandas as pd  # noqa: PLC0415

        from cprsim.figures.predicted import predicted_measured  # noqa: PLC0415  (slow to import)

        rows = [
            (row.what, row.predicted, row.measured)
            for each in self.compared
            for row in each.seconds()
            if row.what != "train"
        ]
        table = pd.DataFrame(rows, columns=["cause", "predicted", "measured"])
        return predicted_measured(table, self.predicted.scenario.title)

    def files(self) -> dict[str, bytes]:
        """The scenario with its failures, on a clock on which only training takes time."""
        import tomli_w  # noqa: PLC0415  (only those who write need it)

        kills = max((each.prediction.kills for each in self.compared), key=len)
        step_s = self.predicted.scenario.job.useful_time_s / self.compared[0].runs[0].steps
        rows = [
            f"{kill.executed * step_s!r},{node},{kind}"
            for kill in kills
            for kind, nodes in (
                ("parameter_server", kill.hit.servers),
                ("trainer", kill.hit.trainers),
            )
            for node in nodes
        ]
        mapping = self.predicted.scenario.mapping()
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
    repeats: int = 1,
    announce: Announce | None = None,
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
    repeats
        How often each rehearsal is carried out, and then each policy trained, all in turns. Of
        three or more, each span counts with its lower quartile: what else the machine does makes
        some of them longer, and none shorter.
    announce
        Told of the predictions before anything is trained.

    Raises
    ------
    ScenarioError
        Where the scenario can't be trained, or a policy not be predicted.
    RunError
        If a member of the cluster can't go on.
    """
    plans = scenario.plans_of(policies)
    hit = largest_hit(scenario, seed)
    left_out = [name for name, plan in plans.items() if not is_predictable(plan, hit)]
    if policies is None and len(left_out) < len(plans):
        plans = {name: plan for name, plan in plans.items() if name not in left_out}
    check_predictable(section, scenario.cluster.trainers, plans, hit)
    check_fits(scenario, section, plans=plans.values())
    level = 0.5 if repeats < _QUARTILE_OF else 0.25
    steps = section.data(scenario, seed).steps
    rehearsed, done = rehearsals(plans, lost(hit)), 0
    total = (sum(each.steps for each, _ in rehearsed) + steps * len(plans)) * repeats
    loads: list[float] = [_load()]
    calibrations: dict[str, Calibration] = {}
    for each, names in rehearsed:
        part = progress_part(progress, done, total)
        found = calibrate(scenario, section, each, seed, part, level, hit, repeats)
        calibrations |= dict.fromkeys(names, found)
        done += each.steps * repeats
    predicted = predict(scenario, section, list(plans), calibrations, seed)
    if announce is not None:
        announce(predicted)
    runs: dict[str, list[Trained]] = {name: [] for name in plans}
    for name in [*plans] * repeats:
        runs[name].append(
            train(scenario, section, name, seed, progress_part(progress, done, total))
        )
        loads.append(_load())
        done += steps
    before, *meanwhile = loads
    compared = [Compared(name, of, runs[name], level) for name, of in predicted.of.items()]
    members = scenario.cluster.parameter_servers + scenario.cluster.trainers + 1  # who leads them
    load = Load(before, max(meanwhile), cores(), members)
    return Validated(predicted, compared, load, left_out)


def _load() -> float:
    """Processes that run or wait for a core, mean of the last minute."""
    return os.getloadavg()[0]
