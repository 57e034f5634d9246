"""Candidates: the policies of the scenario as they are, and every system with its settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from cprsim.basics.schema import faults, nearest
from cprsim.basics.units import SECONDS, format_duration, format_exact
from cprsim.contract import DurationSpan, Policy
from cprsim.contract.registry import policy_class, systems
from cprsim.errors import CprsimError, UsageError
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import parts_of


@dataclass(frozen=True)
class Candidate:
    """A policy that takes part, by the name that the answer calls it.

    `origin`: the policy of the scenario that it is, or that its settings were searched of; None
    where the scenario has none of its system, and all but its settings are defaults. `tuned`: its
    settings were searched. `ranges`: by key, the ends in seconds of the durations that are as good.
    """

    name: str
    policy: Policy
    origin: str | None
    tuned: bool
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """System of its policy."""
        return self.policy.system

    @property
    def given(self) -> bool:
        """Return whether it is an unchanged policy of the scenario."""
        return self.origin is not None and not self.tuned


#: Ends the name of a candidate whose settings are searched.
TUNED: Final = " (tuned)"


class Refused(NamedTuple):
    """A system, or a policy of the scenario, that can't take part, and why.

    `policy`: where this job has no plan for it, but another may, with more memory for example.
    """

    name: str
    system: str
    why: str
    policy: Policy | None = None


def asked(
    scenario: Scenario, only: Sequence[str] | None = None
) -> tuple[list[Candidate], list[Candidate], list[Refused]]:
    """Return policies as they are, policies whose settings are searched, and what can't take part.

    Of the scenario, and of each system with what is known of it; names of those that are searched
    are those of the best that is found. `only`: names of systems, all by default. Raises
    `UsageError` if there is no such system.
    """
    names = systems() if only is None else tuple(dict.fromkeys(only))
    for name in names:
        if name not in systems():
            raise UsageError(f"system {name!r} is not known; {nearest(name, systems())}")
    given = [
        Candidate(name, policy, name, tuned=False)
        for name, policy in scenario.policies.items()
        if policy.system in names
    ]
    searched = [
        Candidate(f"{each.name}{TUNED}", each.policy, each.name, tuned=True) for each in given
    ]
    refused: list[Refused] = []
    for system in names:
        if any(each.system == system for each in given):
            continue
        tried = first_tried(scenario, system)
        if isinstance(tried, Refused):
            refused.append(tried)
        else:
            taken = system in scenario.policies  # by a policy of another system
            name = f"{system} (default)" if taken else system
            searched.append(Candidate(name, tried, None, tuned=True))
    return given, searched, refused


def first_tried(scenario: Scenario, system: str) -> Policy | Refused:
    """A system that the scenario names no policy of, as it is tried first."""
    kind: type[Policy] | None = None
    try:
        kind = policy_class(system)
        assert kind is not None
        keys = kind.first_tried(scenario.context)
        policy = kind.model_validate({"system": system, **keys})
        scenario.with_policies({"it": policy}).check("it")
    except ValidationError as error:
        assert kind is not None
        found = faults(error, kind, "")
        missing = [fault.removesuffix(": is missing") for fault in found]
        if all(fault.endswith(": is missing") for fault in found):
            why = f"needs {' and '.join(missing)}: give it in a [policies.NAME]"
        else:
            why = "; ".join(found)
        return Refused(system, system, why)
    except (CprsimError, ValueError) as error:
        return Refused(system, system, str(error).removeprefix(f"policies.{system}: "))
    return policy


def chosen(candidate: Candidate, scenario: Scenario) -> dict[str, Any]:
    """The settings of a candidate as scenario files have them; a rule by its value in that job."""
    found, policy = dict[str, Any](), candidate.policy
    for setting in policy.settings(scenario.context):
        if isinstance(setting, DurationSpan):
            found[setting.key] = format_duration(setting.start_s)
            if setting.start_s >= setting.most_s and with_value(policy, setting.key, "never"):
                found[setting.key] = "never"  # which scenario files take
        else:
            found[setting.key] = value_of(policy, setting.key)
    return found


def frozen(policy: Policy, scenario: Scenario) -> Policy:
    """With each rule of its settings resolved to its value in that job."""
    for setting in policy.settings(scenario.context):
        if isinstance(setting, DurationSpan):
            value = format_exact(setting.start_s, SECONDS)
            policy = with_value(policy, setting.key, value) or policy
    return policy


def value_of(policy: Policy, key: str) -> Any:
    """The value of a key, as scenario files have it."""
    return value_at(policy.mapping(), key)


def value_at(tables: Mapping[str, Any], key: str) -> Any:
    """Return the value at a dotted key of nested tables; None where there is none."""
    found: Any = tables
    for part in parts_of(key):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def with_value(policy: Policy, key: str, value: Any) -> Policy | None:
    """The same policy with another value of a key, as scenario files have it; None if it can't."""
    mapping = policy.mapping()
    table, (*path, last) = mapping, key.split(".")
    for part in path:
        table = table.setdefault(part, {})
    table[last] = value
    try:
        return type(policy).model_validate(mapping)
    except ValidationError:
        return None
