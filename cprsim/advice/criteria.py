"""The objective, and the bounds on candidates."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.decision import Quality, accepted_pls
from cprsim.basics.units import format_duration, parse_duration, parse_share
from cprsim.contract import DurationSpan, Plan, Setting
from cprsim.contract.expected import expected
from cprsim.contract.needs import deployment_fault
from cprsim.errors import UnitError, UsageError
from cprsim.runs.memory import memory_fault
from cprsim.runs.restarts import check_most
from cprsim.runs.selection.bounds import RESTARTS, Bound, check_bound
from cprsim.scenario import Scenario

#: A share, or a percentage such as `"2%"`; None for no limit.
Share = float | str | None
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
class Criteria:
    """The objective and its constraints.

    `bounds`: upper limits on means and percentiles, met with confidence. `assumed`: the question
    says nothing of lost learning: the answer is the best policy that loses none, and `ALLOWED`,
    among `bounds`, bounds the loss of the second answer. `max_memory`: as in
    `Plan.memory_overhead`; `max_spares`: machines kept ready. `deployable`: only plans that common
    trainers carry out (see `deployment_fault`). `max_interval_s`: the longest time between saves of
    everything. `confidence`: of the verdict; `within`: differences of that much, as a share of the
    useful time (or of its cost), do not matter.
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
        """The measure that is minimised."""
        return MEASURED[self.objective]

    @property
    def asked(self) -> tuple[Bound, ...]:
        """The limits that the question says."""
        return tuple(each for each in self.bounds if not self.assumed or each.measure != LOST)

    @property
    def base(self) -> str:
        """Return the noun that its measure is a share of."""
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
        spares, accuracy = plan.machines_ready(scenario.cluster.spares), scenario.accuracy
        if plan.memory_overhead > self.max_memory:
            limit = f"your limit is {100 * self.max_memory:g} %"
            return f"needs {100 * plan.memory_overhead:g} % more table memory; {limit}"
        if spares > self.max_spares:
            return f"needs {spares} spare machines; your limit is {self.max_spares:g}"
        bounds_auc = any(each.measure == "auc_drop" for each in self.bounds)
        if bounds_auc and accuracy is not None and system not in accuracy.systems:
            found = expected(replace(plan, on_notice=None), scenario.context)
            if max(found.pls, found.updates_lost) > 0:
                return f"its drop of AUC is not known: [accuracy] has no slope of {system}"
        if spares and scenario.prices is not None and scenario.prices.lacks_spare:
            return f"needs {spares} spare machines, which have no price: give prices.spare"
        return None

    def bounded(
        self, scenario: Scenario, system: str, measures: Mapping[str, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return the bounded measures of each replication, shape (bounds, replications).

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


def criteria_of(
    scenario: Scenario,
    objective: str = "time",
    *,
    max_memory: Share = None,
    max_spares: int | None = None,
    max_restarts: int | None = None,
    deployable: bool = False,
    max_interval: str | float | None = MAX_INTERVAL,
    sure: float = 0.95,
    within: float = 0.001,
    target_pls: float | None = None,
    quality: Quality = "pls",
    **limits: Share,
) -> Criteria:
    """Return the criteria of options of `advise`; `limits`: those on lost learning, by name.

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
        ("sure", sure, "0.95 for 95 %"),
        ("within", within, "0.001 for 0.1 %"),
    ):
        if not 0 < share < 1:
            raise UsageError(f"{name} {share:g} is out of range: > 0 and < 1, e.g. {example}")
    memory = _share("max_memory", max_memory)
    for name, limit, example in (
        ("max_memory", memory, "0.5 for half of the rows"),
        ("max_spares", max_spares, "2"),
    ):
        if limit is not None and not 0 <= limit < math.inf:
            raise UsageError(f"{name} {limit:g} is out of range: it must be >= 0, e.g. {example}")
    for name, value, known in (
        ("objective", objective, MEASURED),
        ("quality", quality, _LEARNING),
    ):
        if value not in known:
            raise UsageError(f"{name} {value!r} is not known; known: {', '.join(known)}")
    given = {name.removeprefix("max_"): _share(name, value) for name, value in limits.items()}
    bounds = list(_bounds(scenario, {k: most for k, most in given.items() if most is not None}))
    if target_pls is not None and given.get("pls") is None:
        bounds.append(Bound(_LEARNING[quality], accepted_pls(scenario, target_pls)))
    assumed = not bounds and objective != "retrained"
    if assumed:
        bounds.append(ALLOWED)
    if max_restarts is not None:
        check_most(max_restarts)
        bounds.append(Bound(RESTARTS, max_restarts))
    return Criteria(
        objective,  # type: ignore[arg-type]
        tuple(bounds),
        assumed,
        math.inf if memory is None else memory,
        math.inf if max_spares is None else max_spares,
        deployable,
        sure,
        within,
        _longest_s(max_interval),
    )


def _bounds(scenario: Scenario, given: Mapping[str, float]) -> Iterator[Bound]:
    """The limits on lost learning that are given, by measure, and what they take."""
    for measure, most in given.items():
        check_bound(f"max_{measure}", most)
        yield Bound(measure, most)
    if "auc_drop" not in given:
        return
    if scenario.accuracy is None:
        raise UsageError(
            "max_auc_drop: what accuracy falls by is not known; give [accuracy] (docs/accuracy.md)"
        )
    # Nothing is predicted beyond the range that was measured.
    per_pls, per_learning = scenario.accuracy.pls_up_to, scenario.accuracy.learning_lost_up_to
    if per_pls is not None and "pls" not in given:
        yield Bound("pls", per_pls)
    if LOST not in given:
        yield Bound(LOST, max(per_pls or 0.0, per_learning or 0.0))


def _share(name: str, value: Share) -> float | None:
    try:
        return parse_share(value) if isinstance(value, str) else value
    except UnitError as error:
        raise UsageError(f"{name}: {error}") from None


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


def useful_cost_of(job: Scenario) -> float:
    """Return the cost of a job's machines in its useful time; 0 where they have no price."""
    prices, cluster = job.prices, job.cluster
    if prices is None:
        return 0.0
    per_s = cluster.trainers * prices.amount("trainer")
    per_s += cluster.parameter_servers * prices.amount("parameter_server")
    return per_s * job.job.useful_time_s
