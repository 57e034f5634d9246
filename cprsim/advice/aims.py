"""What is to be least, and what a candidate may take for it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.units import format_duration, parse_duration
from cprsim.contract import DurationSpan, Plan, Setting
from cprsim.contract.memory import memory_fault
from cprsim.contract.needs import deployment_fault
from cprsim.errors import UsageError
from cprsim.estimates.decision import Quality, accepted_pls
from cprsim.formulas.expected import expected
from cprsim.job.accuracy import Accuracy
from cprsim.runs.restarts import check_most
from cprsim.scenario import Scenario
from cprsim.selection.bounds import RESTARTS, Bound, check_bound

Objective = Literal["time", "machine-time", "cost", "retrained"]
#: Of `runs.measures.MEASURES`, what each objective counts; shares of the useful time but for cost.
MEASURED: Final[Mapping[Objective, str]] = {
    "time": "overhead",
    "machine-time": "machine_overhead",
    "cost": "cost",
    "retrained": "overhead_retrained",
}
_LEARNING: Final[Mapping[Quality, str]] = {"pls": "pls", "updates": "updates_lost"}
#: The measure of lost learning that settings are chosen by.
LOST: Final = "learning_lost"
#: Lost learning that the second answer allows where the question says nothing of it.
ALLOWED: Final = Bound(LOST, 0.01)
#: The longest time between saves unless the question says another: no model of failures knows
#: why else a checkpoint is needed, so there is one a day.
MAX_INTERVAL: Final = "1 d"
#: Those reasons.
WHY_SAVE: Final = "bad data, bugs, eviction, publishing"


@dataclass(frozen=True)
class Aim:
    """The objective and its constraints.

    `bounds`: upper limits on means and percentiles, met with confidence. `assumed`: the question
    says nothing of lost learning: the answer is the best policy that loses none, and `ALLOWED`,
    among `bounds`, is what the second answer may lose. `max_memory`: as in `Plan.memory_overhead`;
    `max_spares`: machines kept ready. `deployable`: only plans that common trainers carry out (see
    `deployment_fault`). `max_interval_s`: the longest time between saves of everything.
    `confidence`: of the verdict; `within`: differences of that much, as a share of the useful time
    (or of its cost), do not matter.
    """

    objective: Objective = "time"
    bounds: tuple[Bound, ...] = ()
    assumed: bool = False
    max_memory: float = math.inf
    max_spares: float = math.inf
    deployable: bool = False
    confidence: float = 0.95
    within: float = 0.001
    max_interval_s: float = math.inf

    @property
    def measure(self) -> str:
        """What is to be least."""
        return MEASURED[self.objective]

    @property
    def asked(self) -> tuple[Bound, ...]:
        """The limits that the question says."""
        return tuple(each for each in self.bounds if not self.assumed or each.measure != LOST)

    @property
    def base(self) -> str:
        """What its measure is a share of."""
        return "the useful time's cost" if self.objective == "cost" else "the useful time"

    @property
    def accepted(self) -> float | None:
        """The share of learning that may be lost, of samples or updates, if that is bounded."""
        return next((e.most for e in self.bounds if e.measure in _LEARNING.values()), None)

    def too_rare(self, plan: Plan, useful_s: float) -> str | None:
        """Return why saves are too far apart, or None."""
        saves = plan.schedules
        interval_s = saves[-1].interval_s if saves else math.inf
        if min(interval_s, useful_s) <= self.max_interval_s * (1 + 1e-9):
            return None
        apart = f"saves every {format_duration(interval_s)}" if interval_s < useful_s else "no save"
        return f"{apart}; the limit is a save every {format_duration(self.max_interval_s)}"

    def limited(self, settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
        """The settings, with intervals no longer than allowed."""
        return tuple(
            DurationSpan(each.key, *(min(seconds, self.max_interval_s) for seconds in each[1:]))
            if isinstance(each, DurationSpan) and each.key.endswith("interval")
            else each
            for each in settings
        )

    def why_not(self, plan: Plan, scenario: Scenario, system: str) -> str | None:
        """Return why a plan takes more than the cluster has or the question allows, or None."""
        lacks = memory_fault(plan, scenario.cost_model)
        if lacks is None and self.deployable:
            lacks = deployment_fault(plan)
        if lacks is not None:
            return lacks
        spares = plan.machines_ready(scenario.cluster.spares)
        if plan.memory_overhead > self.max_memory:
            limit = f"your limit is {100 * self.max_memory:g} %"
            return f"needs {100 * plan.memory_overhead:g} % more table memory; {limit}"
        if spares > self.max_spares:
            return f"needs {spares} spare machines; your limit is {self.max_spares:g}"
        if self._is_unknown(plan, scenario, system):
            return f"its drop of AUC is not known: [accuracy] has no slope of {system}"
        if spares and scenario.prices is not None and scenario.prices.lacks_spare:
            return f"needs {spares} spare machines, which have no price: give prices.spare"
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
    max_restarts: int | None = None,
    max_memory: float | None = None,
    max_spares: int | None = None,
    deployable: bool = False,
    target_pls: float | None = None,
    quality: Quality = "pls",
    confidence: float = 0.95,
    within: float = 0.001,
    max_interval: str | float | None = MAX_INTERVAL,
    **limits: float | None,
) -> Aim:
    """The aim that options ask for, as of `advise`; `limits`: those on lost learning, by name.

    Where they bound no loss of learning, and the objective doesn't count it, `ALLOWED` is assumed.

    Raises
    ------
    UsageError
        For a value out of its range, or one that the scenario says too little for.
    """
    if objective == "cost" and not useful_cost_of(scenario):
        raise UsageError(
            'objective "cost" needs prices of machines: give [prices], e.g. trainer = "2.5 USD/h"'
        )
    for name, share, example in (
        ("sure", confidence, "0.95 for 95 %"),
        ("within", within, "0.001 for 0.1 %"),
    ):
        if not 0 < share < 1:
            raise UsageError(f"{name} {share:g} is out of range: > 0 and < 1, e.g. {example}")
    for name, most in limits.items():
        check_bound(name, most)
    _check_least("max_memory", max_memory, "0.5 for half of the rows")
    _check_least("max_spares", max_spares, "2")
    if max_restarts is not None:
        check_most(max_restarts)
    given = {k.removeprefix("max_"): most for k, most in limits.items() if most is not None}
    bounds = tuple(Bound(measure, most) for measure, most in given.items())
    if "auc_drop" in given:
        if scenario.accuracy is None:
            raise UsageError(
                "max_auc_drop: what accuracy falls by is not known; give [accuracy] "
                "(docs/accuracy.md)"
            )
        bounds += tuple(_ranges(scenario.accuracy, given))
    if quality not in _LEARNING:
        raise UsageError(f"quality {quality!r} is not known; known: {', '.join(_LEARNING)}")
    if target_pls is not None and "pls" not in given:
        bounds += (Bound(_LEARNING[quality], accepted_pls(scenario, target_pls)),)
    assumed = not bounds and objective != "retrained"
    budget = () if max_restarts is None else (Bound(RESTARTS, max_restarts),)
    if objective not in MEASURED:
        raise UsageError(f"objective {objective!r} is not known; known: {', '.join(MEASURED)}")
    return Aim(
        objective,  # type: ignore[arg-type]
        ((ALLOWED,) if assumed else bounds) + budget,
        assumed,
        math.inf if max_memory is None else max_memory,
        math.inf if max_spares is None else max_spares,
        deployable,
        confidence,
        within,
        _longest_s(max_interval),
    )


def _longest_s(text: str | float | None) -> float:
    """Return the longest interval in seconds; infinite for None, `"none"` and `"never"`."""
    if text is None or text in {"never", "none"}:
        return math.inf
    try:
        seconds = parse_duration(text) if isinstance(text, str) else float(text)
    except ValueError as error:
        raise UsageError(f'max_interval: {error}; or "never" for no limit') from None
    if not seconds > 0:
        raise UsageError(f"max_interval {text} is out of range: it must be > 0, e.g. 12 h")
    return seconds


def _ranges(accuracy: Accuracy, given: Mapping[str, float]) -> Iterator[Bound]:
    """Bounds that keep a drop of AUC within what was measured: nothing is predicted beyond."""
    per_pls, per_learning = accuracy.pls_up_to, accuracy.learning_lost_up_to
    if per_pls is not None and "pls" not in given:
        yield Bound("pls", per_pls)
    if "learning_lost" not in given:
        yield Bound("learning_lost", max(per_pls or 0.0, per_learning or 0.0))


def useful_cost_of(job: Scenario) -> float:
    """What the machines of a job cost in its useful time; 0 where they have no price."""
    prices, cluster = job.prices, job.cluster
    if prices is None:
        return 0.0
    per_s = cluster.trainers * prices.amount("trainer")
    per_s += cluster.parameter_servers * prices.amount("parameter_server")
    return per_s * job.job.useful_time_s


def _check_least(name: str, value: Any, example: str) -> None:
    if value is not None and not 0 <= value < math.inf:
        raise UsageError(f"{name} {value:g} is out of range: it must be >= 0, e.g. {example}")
