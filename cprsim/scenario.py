"""Scenario files: TOML in, frozen sections in SI units out, and back.

All faults of a file are found and reported at once, each as `dotted.path: what is wrong; the way
out`.
"""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, InstanceOf, ValidationError

from cprsim import units
from cprsim.accuracy import Accuracy
from cprsim.analytic.expected import expected
from cprsim.contract import Context, Plan, Policy
from cprsim.costs import CostModel, Costs
from cprsim.distributions import SPREAD
from cprsim.drawn import tables
from cprsim.errors import LogError, PlanError, ScenarioError
from cprsim.failures.model import FailureModel
from cprsim.failures.spec import SOURCES, Failures
from cprsim.platform import Cluster, Storage
from cprsim.policies.registry import policy_class, systems
from cprsim.schema import Section, faults, nearest
from cprsim.workload import Job, Model

_SECTIONS: dict[str, tuple[type[Section], bool]] = {  # class, and whether a file must have it
    "job": (Job, True),
    "model": (Model, False),
    "cluster": (Cluster, True),
    "storage": (Storage, False),
    "costs": (Costs, False),
    "failures": (Failures, True),
    "accuracy": (Accuracy, False),
}
#: Tables of a file that are no part of a scenario.
_BLOCKS = ("sweep", "trainer", "study")


class Scenario(BaseModel, frozen=True, extra="forbid"):
    """A training job, the cluster it runs on, what fails, and the policies to compare.

    `Scenario(**mapping)` takes the tables of a scenario file, quantities as strings with units.
    Raises `ScenarioError` with every fault.
    """

    title: str
    job: Job
    model: Model | None
    cluster: Cluster
    storage: Storage | None
    costs: Costs
    failures: Failures
    accuracy: Accuracy | None = None
    policies: dict[str, InstanceOf[Policy]]

    def __init__(self, **mapping: Any) -> None:
        parts = _build(mapping)
        found = _plan_faults(Scenario.model_construct(**parts))
        if found:
            raise PlanError(*found)
        failure_model = parts.pop("failure_model")
        super().__init__(**parts)
        vars(self)["failure_model"] = failure_model  # a log was read for it

    @classmethod
    def read(cls, mapping: dict[str, Any]) -> "Scenario":
        """A scenario whose policies are still to be planned, which can take long and can fail.

        Raises `ScenarioError` with every fault of the values.
        """
        return cls.model_construct(**_build(mapping))

    @cached_property
    def cost_model(self) -> CostModel:
        """What saves, loads and training draw on and take."""
        return CostModel(self.costs, self.job, self.model, self.cluster, self.storage)

    @cached_property
    def failure_model(self) -> FailureModel:
        """Timelines and their means."""
        return FailureModel(self.failures, self.cluster, self.job)

    @cached_property
    def context(self) -> Context:
        """What policies may plan with."""
        failures = self.failure_model
        return Context(
            useful_time_s=self.job.useful_time_s,
            servers=self.cluster.parameter_servers,
            trainers=self.cluster.trainers,
            costs=self.cost_model,
            mtbf_s=failures.mtbf_s,
            servers_hit=failures.servers_hit,
            server_failure_share=failures.server_failure_share,
            trainers_hit=failures.trainers_hit,
            samples=self.job.samples,
            rows=None if self.model is None else self.model.rows,
            severities=failures.severity_shares,
        )

    def plan(self, policy: str) -> Plan:
        """The plan of the policy of that name."""
        return self.policies[policy].plan(self.context)

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
        sections = {name: getattr(self, name) for name in _SECTIONS}
        return {
            "title": self.title,
            **{name: section.mapping() for name, section in sections.items() if section},
            "policies": {name: policy.mapping() for name, policy in self.policies.items()},
        }

    def to_toml(self) -> str:
        """The scenario as a file, defaults included."""
        import tomli_w  # noqa: PLC0415  (only those who write need it)

        return tomli_w.dumps(self.mapping())


def load_scenario(path: str | Path, overrides: Iterable[str] = ()) -> Scenario:
    """Read a scenario file; `overrides` are `dotted.key=value` as in `--set`.

    A relative path in the file, of a trace or a curve, is taken from its folder, one in an override
    from the current folder. Blocks `[sweep]`, `[trainer]` and `[study]` are left to the commands
    `sweep`, `train` and `study`. Raises `ScenarioError` for a file that is missing or is no TOML,
    and for every fault.
    """
    return Scenario(**scenario_tables(load_mapping(path, overrides)))


def scenario_tables(mapping: dict[str, Any]) -> dict[str, Any]:
    """The tables of a file without the blocks that only one command reads."""
    return {name: table for name, table in mapping.items() if name not in _BLOCKS}


def load_mapping(path: str | Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """The tables of a scenario file, overridden but not yet checked; as `load_scenario` else."""
    path = Path(path)
    try:
        mapping = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ScenarioError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: can't be read: {_reason(error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path}: is not TOML: {error}") from None
    resolve_files(mapping, path.parent)
    for override in overrides:
        apply_override(mapping, override)
    resolve_files(mapping, Path.cwd())  # what the command line gives is relative to where it is
    return mapping


def apply_override(mapping: dict[str, Any], override: str) -> None:
    """Set `a.b=value` in nested tables; the value is TOML where it parses, else a string."""
    key, equals, text = override.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not equals or not all(parts):
        raise ScenarioError(f'--set {override!r}: write KEY=VALUE, e.g. failures.mean="14 h"')
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        parsed = {"value": text.strip()}
    value = parsed.pop("value")
    if parsed:
        raise ScenarioError(f'--set {override!r}: write KEY=VALUE, e.g. failures.mean="14 h"')
    set_value(mapping, parts, value, f"--set {override!r}")


def set_value(mapping: dict[str, Any], parts: Sequence[str], value: object, what: str) -> None:
    """Set the value that `parts` lead to in nested tables; `what` does so, for its fault."""
    table = mapping
    for part in parts[:-1]:
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ScenarioError(f"{what}: {part!r} is a value, not a table")
        table = inner
    table[parts[-1]] = value
    if list(parts[:-1]) == ["failures"]:
        _drop_replaced(table, parts[-1], value)


def _drop_replaced(failures: dict[str, Any], key: str, value: object) -> None:
    """One source of failures takes the place of another, one law that of another with its spread.

    So `failures.exactly=2` works where the file gives a distribution.
    """
    stale: set[str | None] = set()
    if key in SOURCES:
        for other in SOURCES.keys() - {key}:
            stale |= {other, *SOURCES[other]}
    if key == "distribution" and value in SPREAD:
        stale |= set(SPREAD.values()) - {SPREAD[str(value)]}
    if value == "empirical":
        stale.add("mean")
    if key == "per" and value == "job":
        stale |= {"bursts", "ages"}
    if key == "trace" or value == "node":
        stale.add("hits")
    for each in stale - {None}:
        failures.pop(str(each), None)


def resolve_files(mapping: Mapping[str, Any], folder: Path) -> None:
    """Take the paths of logs, curves and samples that are relative from `folder`."""
    failures, model = mapping.get("failures"), mapping.get("model")
    _resolve(failures, "trace", folder)
    trainer = mapping.get("trainer")
    samples = trainer.get("data") if isinstance(trainer, dict) else None
    for source in ("criteo", "movielens"):
        _resolve(samples, source, folder)
    if isinstance(model, dict):
        tables = model.get("tables")
        for part in (model, *(tables if isinstance(tables, list) else ())):
            if isinstance(part, dict):
                _resolve(part.get("skew"), "curve", folder)


def _resolve(table: object, key: str, folder: Path) -> None:
    value = table.get(key) if isinstance(table, dict) else None
    if isinstance(table, dict) and isinstance(value, str):
        table[key] = os.path.normpath(folder.absolute() / value)
    elif isinstance(value, dict) and isinstance(value.get("values"), list):  # drawn for each job
        for place, each in enumerate(value["values"]):
            value["values"][place] = (
                os.path.normpath(folder.absolute() / each) if isinstance(each, str) else each
            )


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else "is not UTF-8 text"


def _build(mapping: dict[str, Any]) -> dict[str, Any]:
    """Validated parts of a scenario, no plan tried; every fault of every part in one error."""
    drawn = [".".join(path) for path, _ in tables(mapping)]
    if drawn:
        raise ScenarioError(
            f"{', '.join(drawn)}: drawn for each job of a fleet, which `cprsim run` and "
            "cprsim.load_fleet take; give one value here"
        )
    found = [
        f"{key}: unknown key; {nearest(key, ['title', *_SECTIONS, 'policies'])}"
        for key in mapping
        if key not in {"title", *_SECTIONS, "policies"}
    ]
    title = mapping.get("title", "")
    if not isinstance(title, str):
        found.append(f"title: {title!r} is not a string")
    parts: dict[str, Any] = {"title": title}
    for name, (section, required) in _SECTIONS.items():
        parts[name], new = _section(name, section, required, mapping.get(name))
        found += new
    parts["policies"], new = _policies(mapping.get("policies", {}))
    found += new + _network_faults(parts["job"], parts["cluster"]) + _spare_faults(parts["cluster"])
    parts["failure_model"], new = _failure_model(parts)
    found += new
    if found:
        raise ScenarioError(*found)
    return parts


def _section(
    name: str, section: type[Section], required: bool, table: object
) -> tuple[Section | None, list[str]]:
    if isinstance(table, section):
        return table, []
    if table is None:
        if required:
            return None, [f"{name}: the table [{name}] is missing"]
        return (Costs() if section is Costs else None), []
    if not isinstance(table, dict):
        return None, [f"{name}: {table!r} is not a table; write [{name}]"]
    try:
        return section.model_validate(table), []
    except ValidationError as error:
        return None, faults(error, section, name)


def _policies(tables: object) -> tuple[dict[str, Policy], list[str]]:
    if not isinstance(tables, dict):
        return {}, [f"policies: {tables!r} is not a table; write [policies.NAME]"]
    policies, found = {}, []
    for name, table in tables.items():
        path = f"policies.{name}"
        if isinstance(table, Policy):
            policies[name] = table
            continue
        if not isinstance(table, dict):
            found.append(f"{path}: {table!r} is not a table; write [{path}]")
            continue
        if not isinstance(table.get("system"), str):
            given = f"{table['system']!r} is not a string" if "system" in table else "is missing"
            found.append(f'{path}.system: {given}; write e.g. system = "full"')
            continue
        try:
            policy = policy_class(table["system"])
        except ScenarioError as error:  # one of another distribution that is broken
            found.append(f"{path}.system: {error}")
            continue
        if policy is None:
            hint = nearest(table["system"], systems())
            found.append(f"{path}.system: unknown system {table['system']!r}; {hint}")
            continue
        try:
            policies[name] = policy.model_validate(table)
        except ValidationError as error:
            found += faults(error, policy, path)
    if not tables:
        found.append('policies: there are none; write e.g. [policies.full] with system = "full"')
    return policies, found


def _failure_model(parts: Mapping[str, Any]) -> tuple[FailureModel | None, list[str]]:
    """The failure model, checked, where all that it needs is sound."""
    if not (parts["failures"] and parts["cluster"] and parts["job"]):
        return None, []
    model = FailureModel(parts["failures"], parts["cluster"], parts["job"])
    try:
        model.check()
    except ScenarioError as error:
        return None, list(error.args)
    return model, []


def _network_faults(job: Job | None, cluster: Cluster | None) -> list[str]:
    if job is None or cluster is None or job.network is None or cluster.nic is None:
        return []
    found = []
    for kind, nodes in (
        ("parameter_servers", cluster.parameter_servers),
        ("trainers", cluster.trainers),
    ):
        if nodes and job.network / nodes > cluster.nic * (1 + 1e-9):
            found.append(
                f"job.network: {_rate(job.network)} over {nodes} {kind} is more than cluster.nic = "
                f"{_rate(cluster.nic)} each; useful_time is at full speed, so the demand must fit"
            )
    return found


def _spare_faults(cluster: Cluster | None) -> list[str]:
    if cluster is None:
        return []
    nodes = cluster.parameter_servers + cluster.trainers
    if cluster.spares <= nodes:
        return []
    return [
        f"cluster.spares: {cluster.spares} is more than the {nodes} nodes of the job; one for each "
        "is the most that can be of use"
    ]


def _rate(bytes_per_s: float) -> str:
    return units.format_exact(bytes_per_s, units.BYTES_PER_SECOND)


#: Of one schedule in a job: more would take hours to simulate, and no interval is meant so short.
_MOST_SAVES = 10_000_000


def _schedule_faults(plan: Plan, scenario: Scenario) -> Iterator[str]:
    """Saves that are too many; raise `ScenarioError` where one has no cost."""
    for schedule in plan.schedules:
        plan.transfer(schedule.save, scenario.cost_model)
        saves = scenario.job.useful_time_s / schedule.period_s
        if saves > _MOST_SAVES:
            period = units.format_duration(schedule.period_s)
            yield (
                f"a save every {period} makes {saves:.2g} of them in the job; give an interval "
                f"that makes at most {_MOST_SAVES:,}"
            )


def _plan_faults(scenario: Scenario) -> list[str]:
    """Faults of plans, and costs that they need and that are neither measured nor derivable."""
    found: dict[str, None] = {}
    for name, policy in scenario.policies.items():
        try:
            plan = policy.plan(scenario.context)
            expected(plan, scenario.context)
            for fault in _schedule_faults(plan, scenario):
                found[f"policies.{name}: {fault}"] = None
        except LogError as error:  # a curve of popularity
            found[f"model: {error}"] = None
        except ScenarioError:  # some policy needs a cost that there isn't: tell all of them
            found |= dict.fromkeys(scenario.cost_model.missing())
        except ValueError as error:
            found[f"policies.{name}: {error}"] = None
    return list(found)
