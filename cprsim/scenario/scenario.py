"""A scenario: the tables of a file as frozen sections, and the plans of its policies."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, InstanceOf

from cprsim.basics import units
from cprsim.basics.schema import Section, nearest
from cprsim.contract import Context, Plan, Policy, rules
from cprsim.errors import LogError, PlanError, ScenarioError
from cprsim.failures.model import FailureModel
from cprsim.failures.spec import Failures
from cprsim.job.accuracy import Accuracy
from cprsim.job.costs import CostModel, Costs
from cprsim.job.platform import Cluster, Storage
from cprsim.job.prices import Prices
from cprsim.job.start import mean_start
from cprsim.job.tiers import Tier
from cprsim.job.workload import Job, Model
from cprsim.scenario.mapping import load_mapping, parts_of, scenario_tables, set_value
from cprsim.scenario.sections import SECTIONS, build

#: What is no table of a file but follows from them.
_WORKED_OUT = ("failure_model", "cost_model", "context", "plans")


class PlanFault(NamedTuple):
    """Why a policy can't be played, and the error that said so, if one did."""

    texts: list[str]
    error: Exception | None = None


class Scenario(BaseModel, frozen=True, extra="forbid"):
    """A training job, the cluster it runs on, what fails, and the policies to compare.

    `Scenario(**mapping)` takes the tables of a scenario file, quantities as strings with units.
    Raises `ScenarioError` with every fault.

    Examples
    --------
    >>> job = cprsim.load_scenario("quickstart")
    >>> job.with_values({"failures.mean": "8 h"}).failures.mean_s
    28800.0
    """

    title: str
    job: Job
    model: Model | None
    cluster: Cluster
    storage: Storage | None
    costs: Costs
    failures: Failures
    accuracy: Accuracy | None = None
    prices: Prices | None = None
    policies: dict[str, InstanceOf[Policy]]

    def __init__(self, **mapping: Any) -> None:
        self._fill(mapping)
        found = [text for each in self.plan_faults().values() for text in each.texts]
        if found:
            raise PlanError(*dict.fromkeys(found))

    @classmethod
    def read(cls, mapping: dict[str, Any]) -> "Scenario":
        """A scenario whose policies are still to be planned, which can take long and can fail.

        Raises `ScenarioError` with every fault of the values.
        """
        found = cls.__new__(cls)
        found._fill(mapping)
        return found

    def _fill(self, mapping: dict[str, Any]) -> None:
        parts = build(mapping)  # each is validated; for the failure model a log was read
        fields = parts.keys() - {"failure_model"}
        state = {"__dict__": parts, "__pydantic_fields_set__": set(fields)}
        super().__setstate__(state | {"__pydantic_extra__": None, "__pydantic_private__": None})

    @cached_property
    def cost_model(self) -> CostModel:
        """The costs of saves, loads and training."""
        return CostModel(self.costs, self.job, self.model, self.cluster, self.storage)

    @cached_property
    def failure_model(self) -> FailureModel:
        """Timelines and their means."""
        return FailureModel(self.failures, self.cluster, self.job)

    @cached_property
    def context(self) -> Context:
        """The knowledge that policies plan with."""
        failures, hit = self.failure_model, self.failure_model.mean_hit
        return Context(
            useful_time_s=self.job.useful_time_s,
            servers=self.cluster.parameter_servers,
            trainers=self.cluster.trainers,
            costs=self.cost_model,
            mtbf_s=failures.mtbf_s,
            servers_hit=hit.servers,
            server_failure_share=hit.server_share,
            trainers_hit=hit.trainers,
            samples=self.job.samples,
            rows=None if self.model is None else self.model.rows,
            silent_mtbf_s=failures.silent_mtbf_s,
            notices=self.failures.notice,
            severities=failures.process.severity_shares,
            causes=failures.process.causes,
            detect_s=failures.mean_time_s("detect", self.costs.detect_s),
            reschedule_s=failures.mean_time_s(
                "repair",
                self.cost_model.reschedule_mean_s,
                self.cost_model.restarts_in_place,
                self.costs.restart_fails or 0.0,
            ),
            failures_per_recovery=failures.per_recovery,
        )

    @cached_property
    def plans(self) -> dict[str, Plan]:
        """The plans made so far, by the names of their policies."""
        return {}

    def plan(self, policy: str) -> Plan:
        """The plan of the policy of that name, which is resolved once in a process."""
        if policy not in self.plans:
            self.plans[policy] = self.policies[policy].planned(self.context)
        return self.plans[policy]

    @property
    def currency(self) -> str | None:
        """Return the currency of its prices; None where nothing has a price."""
        return None if self.prices is None else self.prices.currency

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy as any pydantic model does; values that follow from the tables are made again."""
        copied = super().model_copy(update=update, deep=deep)
        for name in _WORKED_OUT:
            vars(copied).pop(name, None)
        return copied

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        # Plans of others may hold functions that can't be pickled; whoever needs one plans again.
        planned = ("plans", "context")
        kept = {name: value for name, value in state["__dict__"].items() if name not in planned}
        return state | {"__dict__": kept}

    def check(self, policy: str) -> Plan:
        """The plan of the policy of that name, if it can be played.

        Raises
        ------
        ScenarioError
            If it needs a cost that is neither measured nor derivable, or a file that can't be read.
        ValueError
            If it doesn't fit the job.
        """
        from cprsim.contract.expected import expected  # noqa: PLC0415  (formulas)

        plan = self.plan(policy)
        expected(plan, self.context)
        _check_schedules(plan, self)
        if self.job.allocation_s is not None:
            _check_allocation(plan, self.cost_model, self.job.allocation_s)
        return plan

    def plan_faults(self) -> dict[str, PlanFault]:
        """Return why policies can't be played: no plan, or costs that are missing."""
        found: dict[str, PlanFault] = {}
        holding = []
        for name in self.policies:
            try:
                if self.check(name).machines_ready(self.cluster.spares):
                    holding.append(name)
            except LogError as error:  # a curve of popularity
                found[name] = PlanFault([f"model: {error}"], error)
            except ScenarioError as error:  # it needs a cost that is missing: list all of them
                missing = self.cost_model.missing() or list(map(str, error.args))
                found[name] = PlanFault(missing, error)
            except ValueError as error:
                found[name] = PlanFault([f"policies.{name}: {error}"], error)
        if self.prices is not None and self.prices.lacks_spare:
            lacks = (
                "prices.spare: is missing, but machines have prices and spares are ready under "
                f'{", ".join(holding)}; write e.g. spare = "2.5 USD/h"'
            )
            found |= {name: PlanFault([lacks]) for name in holding}
        return found

    def __repr__(self) -> str:
        policies = f"policies {', '.join(self.policies)}" if self.policies else "no policies"
        return f"<Scenario {self.title!r}: {policies}>"

    def with_policies(self, policies: Mapping[str, Policy]) -> Self:
        """The same job under other policies, which are still to be planned."""
        copied = super().model_copy(update={"policies": dict(policies)})
        vars(copied)["plans"] = {}
        return copied

    def with_values(self, values: Mapping[str, Any]) -> "Scenario":
        """Return the scenario with other values, by dotted key, as `--set` sets them.

        Raises `ScenarioError` with every fault of the values.

        >>> cprsim.load_scenario("quickstart").with_values({"failures.mean": "8 h"})
        """
        mapping = self.mapping()
        for key, value in values.items():
            set_value(mapping, parts_of(key), value, key)
        return Scenario(**mapping)

    def plans_of(self, names: Iterable[str] | None = None) -> dict[str, Plan]:
        """The plans of the policies of these names, all by default."""
        return {name: self.plan(name) for name in self.select(names)}

    def select(self, names: Iterable[str] | None) -> list[str]:
        """The policies of these names, all by default; raise `ScenarioError` for unknown ones."""
        if names is None:
            return list(self.policies)
        chosen = list(dict.fromkeys([names] if isinstance(names, str) else names))
        if not chosen:
            raise ScenarioError(f"no policy is chosen; the scenario has {', '.join(self.policies)}")
        unknown = [
            f"policy {name!r}: the scenario has none of that name; {nearest(name, self.policies)}"
            for name in chosen
            if name not in self.policies
        ]
        if unknown:
            raise ScenarioError(*unknown)
        return chosen

    def mapping(self) -> dict[str, Any]:
        """The tables of a scenario file that gives this scenario back, defaults included."""
        return self._tables(Section.mapping)

    def as_given(self) -> dict[str, Any]:
        """The tables of a scenario file that gives this scenario back; sections have no defaults.

        Policies do: a class of somebody's own may have a `system` by default.
        """
        return self._tables(
            lambda part: part.mapping() if isinstance(part, Policy) else part.as_given()
        )

    def to_toml(self) -> str:
        """The scenario as a file, defaults included, quantities in the units they were given in."""
        import tomli_w  # noqa: PLC0415  (only those who write need it)

        return tomli_w.dumps(self._tables(Section.as_written))

    def _tables(self, table: Callable[[Section], dict[str, Any]]) -> dict[str, Any]:
        sections = {name: getattr(self, name) for name in SECTIONS}
        return {
            "title": self.title,
            **{name: table(section) for name, section in sections.items() if section},
            "policies": {name: table(policy) for name, policy in self.policies.items()},
        }


def load_scenario(path: str | Path, overrides: Iterable[str] = ()) -> Scenario:
    """Read a scenario file; `overrides` are `dotted.key=value` as in `--set`.

    A relative path in the file, of a trace or a curve, is taken from its folder, one in an override
    from the current folder. Blocks `[sweep]`, `[trainer]` and `[study]` are left to the commands
    `sweep`, `train` and `study`. Raises `ScenarioError` for a file that is missing or is no TOML,
    and for every fault.

    Returns
    -------
    Scenario
        The job, frozen and validated, in SI units.

    Examples
    --------
    >>> cprsim.load_scenario("quickstart", ["failures.mean=8 h"]).failures.mean_s
    28800.0
    """
    return Scenario(**scenario_tables(load_mapping(path, overrides)))


def scenario_of(given: Scenario | str | Path) -> Scenario:
    """Return a scenario as it is, or that of a file or of a shipped scenario's name."""
    return given if isinstance(given, Scenario) else load_scenario(given)


#: Of one schedule in a job: more would take hours to simulate, and no interval is meant so short.
_MOST_SAVES = 10_000_000


def _check_schedules(plan: Plan, scenario: Scenario) -> None:
    """Raise `ValueError` where saves are too many, `ScenarioError` where one has no cost."""
    for schedule in plan.schedules:
        plan.transfer(schedule.save, scenario.cost_model)
        saves = schedule.saves_in(scenario.job.useful_time_s)
        if saves > _MOST_SAVES:
            period = units.format_duration(schedule.period_s)
            raise ValueError(
                f"a save every {period} makes {saves:.2g} of them in the job; give an interval "
                f"that makes at most {_MOST_SAVES:,}"
            )


def check_hands_over(plan: Plan, where: str) -> Tier:
    """The tier that a planned stop saves to; raise `ValueError` where that goes with the nodes."""
    tier = plan.tier(plan.last_save.tier)
    if not plan.schedules or tier.medium != "store":
        place = f"to {tier.name}, which goes with its nodes" if plan.schedules else "nothing"
        raise ValueError(f"it saves {place} {where}; save to the store as well")
    return tier


def _check_allocation(plan: Plan, costs: CostModel, allocation_s: float) -> None:
    """Raise `ValueError` where nothing is handed over, or nothing is trained."""
    tier = check_hands_over(plan, "at the end of job.allocation")
    parts = mean_start(costs.costs)
    start_s = rules.launch_s(0.0, parts.cold_s, parts.warm_s, first=True, warm=False)
    load_s = costs.seconds(costs.load(tier, "all", 0))
    stop_s = plan.stop_s(costs)
    if start_s + load_s + stop_s >= allocation_s:
        held, start, load, stop = map(
            units.format_duration, (allocation_s, start_s, load_s, stop_s)
        )
        raise ValueError(
            f"in job.allocation = {held} nothing is trained: a start takes {start} of it, a load "
            f"{load}, and a last save and a shutdown {stop}; give a longer one"
        )
