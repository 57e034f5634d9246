"""What is to be least, and what a candidate may take for it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.analytic.expected import expected
from cprsim.contract import Plan
from cprsim.contract.memory import memory_fault
from cprsim.contract.needs import deployment_fault
from cprsim.errors import UsageError
from cprsim.estimates.decision import Quality, accepted_pls
from cprsim.job.accuracy import Accuracy
from cprsim.scenario import Scenario
from cprsim.selection.bounds import Bound, check_bound

Objective = Literal["time", "machine-time", "cost", "retrained"]
#: Of `runs.measures.MEASURES`, what each objective counts; shares of the useful time but for cost.
MEASURED: Final[Mapping[Objective, str]] = {
    "time": "overhead",
    "machine-time": "machine_overhead",
    "cost": "cost",
    "retrained": "overhead_retrained",
}
_LEARNING: Final[Mapping[Quality, str]] = {"pls": "pls", "updates": "updates_lost"}


@dataclass(frozen=True)
class Aim:
    """What is asked for.

    `bounds`: on means and percentiles, kept to with confidence; `assumed`: they are the portion of
    lost samples that is accepted where nothing is said of learning. `max_memory`: as in
    `Plan.memory_overhead`; `max_spares`: machines that stand ready. `deployable`: only plans that
    common trainers carry out (see `deployment_fault`). `confidence`: of the verdict;
    `within`: differences of so much, as a share of the useful time (or of its cost), don't matter.
    """

    objective: Objective = "time"
    bounds: tuple[Bound, ...] = ()
    assumed: bool = False
    max_memory: float = math.inf
    max_spares: float = math.inf
    deployable: bool = False
    confidence: float = 0.95
    within: float = 0.001

    @property
    def measure(self) -> str:
        """What is to be least."""
        return MEASURED[self.objective]

    @property
    def base(self) -> str:
        """What its measure is a share of."""
        return "the useful time's cost" if self.objective == "cost" else "the useful time"

    @property
    def accepted_pls(self) -> float | None:
        """The portion of lost samples that bounds it, if any does."""
        return next((each.most for each in self.bounds if each.measure == "pls"), None)

    def why_not(self, plan: Plan, scenario: Scenario, system: str) -> str | None:
        """Return why a plan takes more than the cluster has or the question allows, or None."""
        lacks = memory_fault(plan, scenario.cost_model)
        if lacks is None and self.deployable:
            lacks = deployment_fault(plan)
        if lacks is not None:
            return lacks
        spares = plan.machines_ready(scenario.cluster.spares)
        if plan.memory_overhead > self.max_memory:
            most = f"{self.max_memory:g} at most"
            return f"takes {plan.memory_overhead:g} times the memory of the rows besides; {most}"
        if spares > self.max_spares:
            return f"holds {spares} spares ready; {self.max_spares:g} at most"
        if self._is_unknown(plan, scenario, system):
            return f"what AUC it loses is not known: [accuracy] has no slope of {system}"
        if spares and scenario.prices is not None and scenario.prices.lacks_spare:
            return f"holds {spares} spares ready, which have no price: give prices.spare"
        return None

    def _is_unknown(self, plan: Plan, scenario: Scenario, system: str) -> bool:
        """Whether a drop of AUC is bounded that it may have, and that nobody measured."""
        if scenario.accuracy is None or all(each.measure != "auc_drop" for each in self.bounds):
            return False
        found = expected(replace(plan, on_notice=None), scenario.context)
        loses = max(found.pls, found.updates_lost) > 0
        return loses and system not in scenario.accuracy.systems

    def bounded(
        self, scenario: Scenario, system: str, measures: Mapping[str, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """What is bounded of each replication, shape (bounds, replications).

        The drop of AUC by the steeper end of its measured slope.
        """
        rows = np.empty((len(self.bounds), len(measures["pls"])))
        for row, bound in zip(rows, self.bounds, strict=True):
            if bound.measure == "auc_drop":
                assert scenario.accuracy is not None
                lost = measures["pls"], measures["learning_lost"]
                row[:] = scenario.accuracy.steepest(system, *lost)
            else:
                row[:] = bound.counted(measures)
        return rows


def aim_of(
    scenario: Scenario,
    objective: str = "time",
    *,
    max_pls: float | None = None,
    max_updates_lost: float | None = None,
    max_learning_lost: float | None = None,
    max_learning_lost_p95: float | None = None,
    max_auc_drop: float | None = None,
    max_memory: float | None = None,
    max_spares: int | None = None,
    deployable: bool = False,
    target_pls: float | None = None,
    quality: Quality = "pls",
    confidence: float = 0.95,
    within: float = 0.001,
) -> Aim:
    """The aim that options ask for.

    Where they bound nothing that is lost of learning, and the objective doesn't count it, as much
    may be lost as `target_pls` accepts, which is else that of the scenario's first CPR policy, or
    CPR's own, 0.1: without a bound, never to save would be the quickest.

    Raises
    ------
    UsageError
        For a value out of its range, or one that the scenario says too little for.
    """
    if objective == "cost" and not useful_cost_of(scenario):
        raise UsageError(
            'objective "cost" needs prices of machines: give [prices], e.g. trainer = "2.5 USD/h"'
        )
    _check_share("sure", confidence, "0.95 for 95 %")
    _check_share("within", within, "0.001 for 0.1 %")
    given: dict[str, float | None] = {
        "pls": max_pls,
        "updates_lost": max_updates_lost,
        "learning_lost": max_learning_lost,
        "learning_lost_p95": max_learning_lost_p95,
        "auc_drop": max_auc_drop,
    }
    for name, most in given.items():
        check_bound(f"max_{name}", most)
    _check_least("max_memory", max_memory, "0.5 for half of the rows")
    _check_least("max_spares", max_spares, "2")
    if max_auc_drop is not None and scenario.accuracy is None:
        raise UsageError(
            "max_auc_drop: what accuracy falls by is not known; give [accuracy] (docs/accuracy.md)"
        )
    bounds = tuple(Bound(name, most) for name, most in given.items() if most is not None)
    if max_auc_drop is not None and scenario.accuracy is not None:
        bounds += tuple(_ranges(scenario.accuracy, given))
    learning = _learning(quality)
    accepted = accepted_pls(scenario, target_pls)
    assumed = not bounds and objective != "retrained"
    if assumed or (target_pls is not None and max_pls is None):
        bounds += (Bound(learning, accepted),)
    return Aim(
        _objective(objective),
        bounds,
        assumed and target_pls is None,
        math.inf if max_memory is None else max_memory,
        math.inf if max_spares is None else max_spares,
        deployable,
        confidence,
        within,
    )


def _ranges(accuracy: Accuracy, given: Mapping[str, float | None]) -> Iterator[Bound]:
    """Bounds that keep a drop of AUC within what was measured: nothing is predicted beyond."""
    per_pls, per_learning = accuracy.pls_up_to, accuracy.learning_lost_up_to
    if per_pls is not None and given["pls"] is None:
        yield Bound("pls", per_pls)
    if given["learning_lost"] is None:
        yield Bound("learning_lost", max(per_pls or 0.0, per_learning or 0.0))


def useful_cost_of(job: Scenario) -> float:
    """What the machines of a job cost in its useful time; 0 where they have no price."""
    prices, cluster = job.prices, job.cluster
    if prices is None:
        return 0.0
    per_s = cluster.trainers * prices.amount("trainer")
    per_s += cluster.parameter_servers * prices.amount("parameter_server")
    return per_s * job.job.useful_time_s


def _objective(text: str) -> Objective:
    for known in MEASURED:
        if known == text:
            return known
    raise UsageError(f"objective {text!r} is not known; known: {', '.join(MEASURED)}")


def _learning(quality: str) -> str:
    if quality not in _LEARNING:
        raise UsageError(f"quality {quality!r} is not known; known: {', '.join(_LEARNING)}")
    return _LEARNING[quality]  # type: ignore[index]


def _check_share(name: str, value: float, example: str) -> None:
    if not 0 < value < 1:
        raise UsageError(f"{name} {value:g} is out of range: > 0 and < 1, e.g. {example}")


def _check_least(name: str, value: Any, example: str) -> None:
    if value is not None and not 0 <= value < math.inf:
        raise UsageError(f"{name} {value:g} is out of range: it must be >= 0, e.g. {example}")
