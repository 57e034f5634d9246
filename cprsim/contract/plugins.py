"""Policies of other distributions, found by their entry points.

A distribution names its policies in its `pyproject.toml`:

    [project.entry-points."cprsim.policies"]
    learning = "learning:Learning"

where `learning` is the `system` of the policy class `Learning` in the module `learning`.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import get_args

from cprsim.basics.errors import ScenarioError, told
from cprsim.contract import Policy

GROUP = "cprsim.policies"


def installed() -> tuple[str, ...]:
    """Names of all systems that installed distributions offer; none of them is imported."""
    return tuple(dict.fromkeys(entry.name for entry in entry_points(group=GROUP)))


def load(system: str) -> type[Policy] | None:
    """The policy class of that name, or None; `ScenarioError` says what is wrong with it."""
    found = list(entry_points(group=GROUP, name=system))
    if not found:
        return None
    if len(found) > 1:
        several = " and ".join(_named(entry) for entry in found)
        raise ScenarioError(f"system {system!r} is in {several}; uninstall all but one")
    (entry,) = found
    try:
        policy = entry.load()
    except (Exception, SystemExit) as error:
        raise ScenarioError(
            f"{_named(entry)} can't be imported: {told(error)}; repair or uninstall it"
        ) from error
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise ScenarioError(f"{_named(entry)} is no subclass of cprsim.Policy")
    names = get_args(policy.model_fields["system"].annotation)
    if names != (system,):
        raise ScenarioError(
            f'{_named(entry)} has another system; declare it as system: Literal["{system}"]'
        )
    policy.came_by = _named(entry)
    return policy


def _named(entry: EntryPoint) -> str:
    distribution = entry.dist
    of = f" of {distribution.name} {distribution.version}" if distribution is not None else ""
    return f"entry point '{entry.name} = {entry.value}'{of}"
