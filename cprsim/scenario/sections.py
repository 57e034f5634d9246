"""Tables of a scenario made into frozen sections; every fault of every one in one error."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from pydantic import ValidationError

from cprsim.basics import units
from cprsim.basics.schema import OF_SCENARIO, VARIANTS, Section, closest, faults, meant, nearest
from cprsim.basics.toml import check_values
from cprsim.contract import Policy
from cprsim.contract.registry import policy_class, systems
from cprsim.errors import ScenarioError
from cprsim.failures.model import FailureModel
from cprsim.failures.spec import Failures
from cprsim.job.accuracy import Accuracy
from cprsim.job.costs import Costs
from cprsim.job.platform import Cluster, Storage
from cprsim.job.prices import Prices
from cprsim.job.workload import Job, Model

SECTIONS: dict[str, tuple[type[Section], bool]] = {  # class, and whether a file must have it
    "job": (Job, True),
    "model": (Model, False),
    "cluster": (Cluster, True),
    "storage": (Storage, False),
    "costs": (Costs, False),
    "failures": (Failures, True),
    "accuracy": (Accuracy, False),
    "prices": (Prices, False),
}
_KEYS = ("title", *SECTIONS, "policies")
#: Each is planned and played, and has a row in tables and pictures.
_MOST_POLICIES = 1_000


def build(mapping: dict[str, Any]) -> dict[str, Any]:
    """Validated parts of a scenario, no plan tried; every fault of every part in one error."""
    check_values(mapping)
    if isinstance(mapping.get("jobs"), list):
        raise ScenarioError(
            "jobs: this is a cluster file, which cprsim cluster plays; a scenario has one [job]"
        )
    from cprsim.scenario.drawn import tables  # noqa: PLC0415  (of fleets)

    drawn = [".".join(path) for path, _ in tables(mapping)]
    if drawn:
        raise ScenarioError(
            f"{', '.join(drawn)}: drawn for each job of a fleet, which `cprsim run` and "
            "cprsim.load_fleet take; give one value here"
        )
    found = [f"{key}: unknown key; {_known(key)}" for key in mapping if key not in _KEYS]
    title = mapping.get("title", "")
    if not isinstance(title, str):
        found.append(f"title: {title!r} is not a string")
    parts: dict[str, Any] = {"title": title}
    for name, (section, required) in SECTIONS.items():
        parts[name], new = _section(name, section, required, mapping.get(name))
        found += new
    parts["policies"], new = _policies(mapping.get("policies", {}))
    found += new + _network_faults(parts["job"], parts["cluster"]) + _spare_faults(parts["cluster"])
    found += _outage_faults(parts["job"], parts["storage"])
    found += _table_faults(parts["model"], parts["cluster"])
    if mapping.get("model") is None:  # else its faults are listed already
        found += _price_faults(parts["prices"]) + _memory_faults(parts["cluster"])
    parts["failure_model"], new = _failure_model(parts)
    found += new + _restart_faults(parts["costs"], parts["cluster"], parts["failure_model"])
    if found:
        raise ScenarioError(*found)
    return parts


def _known(key: str) -> str:
    """Return the section or the key of one that is meant by a key of none, or the sections."""
    if closest(key, _KEYS) is None:
        for name, (section, _) in SECTIONS.items():
            fields = section.model_fields.items()
            inner = meant(key, [field.alias or each for each, field in fields])
            if inner is not None:
                return f"did you mean '{name}.{inner}'?"
    return nearest(key, _KEYS)


def validated(mapping: dict[str, Any]) -> dict[str, Any]:
    """Sections and policies in place of their tables, but for those with faults.

    `build` takes them as they are: so what many scenarios share is validated once.
    """
    parts = dict(mapping)
    for name, (section, required) in SECTIONS.items():
        if name in mapping:
            found, wrong = _section(name, section, required, mapping[name])
            parts[name] = mapping[name] if wrong else found
    if isinstance(mapping.get("policies"), dict):
        sound, _ = _policies(mapping["policies"])
        parts["policies"] = mapping["policies"] | sound
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
        return section.model_validate(table, context=OF_SCENARIO), []
    except ValidationError as error:
        return _but_for_unknown_keys(section, table, error), faults(error, section, name)


def _but_for_unknown_keys(
    section: type[Section], table: dict[str, Any], error: ValidationError
) -> Section | None:
    """Return a table without keys that nobody knows; None where anything else is wrong.

    So combinations that don't fit are reported with them: a misspelt key hides no other fault.
    """
    known = deepcopy(table)
    try:
        for each in error.errors(include_url=False):
            if each["type"] != "extra_forbidden":
                return None
            *above, key = (part for part in each["loc"] if part not in VARIANTS)
            inner: Any = known
            for part in above:
                inner = inner[part]
            del inner[key]
        return section.model_validate(known, context=OF_SCENARIO)
    except (ValidationError, LookupError):
        return None


def _policies(tables: object) -> tuple[dict[str, Policy], list[str]]:
    if not isinstance(tables, dict):
        return {}, [f"policies: {tables!r} is not a table; write [policies.NAME]"]
    if len(tables) > _MOST_POLICIES:
        return {}, [
            f"policies: {len(tables):,} are given; the most are {_MOST_POLICIES:,}: divide them "
            "among several files"
        ]
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
            policies[name] = policy.model_validate(table, context=OF_SCENARIO)
        except ValidationError as error:
            found += faults(error, policy, path)
    if not tables:
        found.append(
            'policies: there are none; write e.g. [policies.full] with system = "full", '
            "or let cprsim advise ask all systems"
        )
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
    network, nic = map(_as_given, (job.network, cluster.nic))
    for kind, nodes in (
        ("parameter_servers", cluster.parameter_servers),
        ("trainers", cluster.trainers),
    ):
        if nodes and job.network / nodes > cluster.nic * (1 + 1e-9):
            found.append(
                f"job.network: {network} over {nodes} {kind} is more than cluster.nic = {nic} "
                "each; useful_time is at full speed, so the demand must fit"
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


def _table_faults(model: Model | None, cluster: Cluster | None) -> list[str]:
    if model is None or cluster is None:
        return []
    servers = cluster.parameter_servers
    given = [(place, it.updates) for place, it in enumerate(model.tables or ()) if it.updates]
    if given and cluster.updates is None:
        return [
            f"model.tables.{given[0][0]}: updates goes with cluster.updates, of all tables; give "
            "both, or leave it out"
        ]
    return [
        f"model.tables.{place}: updates has {len(updates)} numbers for {servers} "
        "parameter_servers; give one for each, or leave it out"
        for place, updates in given
        if len(updates) != servers
    ]


#: Of one job: more would take long to draw, and no store is away so often.
_MOST_OUTAGES = 1_000_000


def _outage_faults(job: Job | None, storage: Storage | None) -> list[str]:
    if job is None or storage is None or storage.outages is None:
        return []
    outages = job.useful_time_s / storage.outages.every_s
    if outages <= _MOST_OUTAGES:
        return []
    return [
        f"storage.outages.every: that makes {outages:.2g} of them in the job; give one that makes "
        f"at most {_MOST_OUTAGES:,}"
    ]


def _restart_faults(
    costs: Costs | None, cluster: Cluster | None, model: FailureModel | None
) -> list[str]:
    """Restarts in place that nothing leads to, or that lives of nodes have no way to play."""
    if costs is None or cluster is None or model is None:
        return []
    failures = model.spec
    if costs.restart is None:
        given = {
            "costs.restart_fails": costs.restart_fails,
            "cluster.restarts_in_place": cluster.restarts_in_place,
        }
        return [
            f"{key}: goes with costs.restart; give that, or leave this out"
            for key, value in given.items()
            if value is not None
        ]
    in_place = cluster.cured_in_place
    if not any(model.process.severity_shares.get(each) for each in in_place):
        which = " or ".join(in_place)
        return [
            f"costs.restart: no failure is of severity {which}; give failures.severity, e.g. "
            "{ process = 0.6, node = 0.4 }, or causes with a severity, or leave it out"
        ]
    if failures.per == "node" and failures.distribution != "exponential":
        return [
            f"costs.restart: a node that restarts keeps its age, which lives of distribution = "
            f"{failures.distribution!r} with per = 'node' do not play; take 'exponential', or "
            "per = 'job'"
        ]
    if failures.frailty_of == "machine":
        return [
            "costs.restart: a node that restarts keeps its pace, which frailty_of = 'machine' "
            "draws again; take 'place'"
        ]
    return []


def _memory_faults(cluster: Cluster | None) -> list[str]:
    return [
        f"cluster.{key}: has no effect without [model], whose bytes must fit; give that, or leave "
        "this out"
        for key in ("memory", "trainer_memory")
        if cluster is not None and getattr(cluster, key) is not None
    ]


def _price_faults(prices: Prices | None) -> list[str]:
    return [
        f"prices.{key}: is of bytes, which [model] gives; give that, or leave this out"
        for key in (prices.of_bytes if prices else ())
    ]


def _as_given(bytes_per_s: float) -> str:
    """A rate as a user wrote it, where it is known."""
    if isinstance(bytes_per_s, units.AsWritten):
        return bytes_per_s.text
    return units.format_exact(bytes_per_s, units.BYTES_PER_SECOND)
