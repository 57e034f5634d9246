"""Predictions of a simulation with this machine's costs, and the real runs that follow.

    found = validate(scenario, section, ["full", "cpr-mfu"], repeats=5)
    print(found.verdicts())

The predictions are made, and can be written down by the caller, before anything is trained.
"""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from cprsim.basics.machine import processors
from cprsim.scenario import Scenario
from cprsim.trainer.limits import check_fits
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.training import Progress, Trained, train
from cprsim.trainer.validation.calibration import Rehearsal, of_job
from cprsim.trainer.validation.compared import Compared, Load
from cprsim.trainer.validation.predicted import (
    Predicted,
    check_predictable,
    is_predictable,
    predict,
)


class Validation:
    """Real runs of a scenario compared with their predictions, step by step.

    A machine is faster in one minute than in another. Runs that are rehearsed, and then trained, in
    turns over a longer time see many of its paces. So several validations are rehearsed in turns,
    then predicted, then trained in turns.

    `scenario`, `section`: as for `train`; failures have to be pinned to steps. `policies`: names of
    the scenario's policies; by default all that can be predicted. `seed`, `progress`: as for
    `train`, the seed of what is trained (rehearsals are on samples of seed 0); steps are those of
    all runs, rehearsals included. `repeats`: how often each policy is going to be rehearsed, and
    then trained.

    `left_out`: policies that can't be predicted yet, if `policies` was not given.

    Raises
    ------
    ScenarioError
        If the scenario can't be trained, or a policy not be predicted.
    """

    def __init__(
        self,
        scenario: Scenario,
        section: TrainerSection,
        policies: Sequence[str] | None = None,
        seed: int = 0,
        progress: Progress | None = None,
        repeats: int = 1,
    ) -> None:
        plans, hits = scenario.plans_of(policies), of_job(scenario, seed)
        able = {name: plan for name, plan in plans.items() if is_predictable(plan, hits)}
        self.left_out = [name for name in plans if name not in able]
        if policies is None and able:
            plans = able
        check_predictable(section, plans, hits)
        check_fits(scenario, section)
        self._scenario, self._section, self._seed = scenario, section, seed
        self._steps, self._progress, self._done = section.data(scenario, seed).steps, progress, 0
        self._rehearsals = {
            name: Rehearsal(scenario, section, name, plan, hits) for name, plan in plans.items()
        }
        self._runs = {name: list[Trained]() for name in plans}
        once = sum(each.steps for each in self._rehearsals.values()) + self._steps * len(plans)
        self._total = once * repeats
        self._loads = [os.getloadavg()[0]]

    def rehearse(self) -> None:
        """Rehearse each policy once."""
        for each in self._rehearsals.values():
            each.carry_out(self._report)
            self._done += each.steps

    @cached_property
    def predicted(self) -> Predicted:
        """The predictions, by all rehearsals before the first use of this."""
        calibrations = {name: each.measured() for name, each in self._rehearsals.items()}
        return predict(self._scenario, self._section, list(self._runs), calibrations, self._seed)

    def train(self) -> None:
        """Train under each policy once."""
        for name, ran in self._runs.items():
            ran.append(train(self._scenario, self._section, name, self._seed, self._report))
            self._loads.append(os.getloadavg()[0])
            self._done += self._steps

    @property
    def compared(self) -> list[Compared]:
        """Each policy's runs, compared with their prediction."""
        return [Compared(name, of, self._runs[name]) for name, of in self.predicted.of.items()]

    @property
    def load(self) -> Load:
        """The load of the machine: processes that run or wait for a core, means of a minute."""
        before, *meanwhile = self._loads
        members = self._scenario.cluster.parameter_servers + 2  # the trainer, and the coordinator
        return Load(before, max(meanwhile), processors(), members)

    def verdicts(self) -> dict[str, str]:
        """Return the result of each policy, in words."""
        return {each.policy: each.verdict(self.load) for each in self.compared}

    def document(self) -> dict[str, Any]:
        """Return the JSON of `cprsim validate --json`."""
        predicted, compared = self.predicted, self.compared
        return {
            "scenario": predicted.scenario.title,
            "seed": predicted.seed,
            "predictions_sha256": predicted.sha256,
            "repeats": max(len(each.runs) for each in compared),
            "load": self.load._asdict(),
            "calibrations": {name: vars(each) for name, each in predicted.calibrations.items()},
            "policies": {each.policy: each.document() for each in compared},
            "verdicts": self.verdicts(),
            "left_out": self.left_out,
        }

    def _report(self, done: int, _steps: int) -> None:
        if self._progress is not None:
            self._progress(self._done + done, self._total)


def validate(
    scenario: Scenario,
    section: TrainerSection,
    policies: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    repeats: int = 1,
    announce: Callable[[Predicted], None] = lambda _: None,
) -> Validation:
    """Predict real runs, call `announce` with the predictions, and do the runs.

    Other arguments are those of `Validation`, which raises. `repeats`: how often each policy is
    rehearsed, and then trained, in turns; each cause counts with its median. Raises `RunError` if a
    member of the cluster can't continue.
    """
    found = Validation(scenario, section, policies, seed, progress, repeats)
    for _ in range(repeats):
        found.rehearse()
    announce(found.predicted)  # before anything is trained
    for _ in range(repeats):
        found.train()
    return found
