"""Policies by the name that scenario files give as `system`: shipped, registered, installed.

Another distribution names its policies among the entry points of its `pyproject.toml`:

    [project.entry-points."cprsim.policies"]
    learning = "learning:Learning"

where `learning` is the `system` of the policy class `Learning` in the module `learning`.
"""

from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Final, get_args

from cprsim.contract import Policy
from cprsim.errors import ScenarioError, told

#: The entry points of other distributions.
_GROUP: Final = "cprsim.policies"

#: Module in `cprsim.policies` and class of each shipped system, loaded when a scenario names it.
#: Its colour and marker are in `cprsim.figures.style`.
SHIPPED: Final = {
    "full": "full:Full",
    "partial": "partial:Partial",
    "cpr-vanilla": "cpr:CprVanilla",
    "cpr-scar": "priority:CprScar",
    "cpr-mfu": "priority:CprMfu",
    "cpr-ssu": "priority:CprSsu",
    "async": "asynchronous:Async",
    "replication": "replication:Replication",
    "peer-memory": "peer_memory:PeerMemory",
    "hot-swap": "peer_memory:HotSwap",
    "ecrm": "ecrm:Ecrm",
    "accepted-loss": "accepted_loss:AcceptedLoss",
    "check-n-run": "differential:CheckNRun",
    "delta": "differential:Delta",
    "tiered": "tiered:Tiered",
    "partial-experts": "partial_experts:PartialExperts",
    "autopilot": "autopilot:Autopilot",
    "elastic": "elastic:Elastic",
    "twin-groups": "twin_groups:TwinGroups",
}
_CLASSES: dict[str, type[Policy]] = {}


def register(policy: type[Policy]) -> type[Policy]:
    """Make `policy` known under the `Literal` of its `system` field; usable as a decorator.

    It replaces an earlier class of the same place and name: a cell of a notebook may run again.

    Returns
    -------
    type[Policy]
        The same class.

    Raises
    ------
    ValueError
        If it has no such name, or another class has it.

    Examples
    --------
    >>> from cprsim.contract import registry
    >>> from typing import Literal
    >>> from cprsim.policies.full import Full
    >>> @cprsim.register
    ... class Mine(Full):
    ...     system: Literal["mine"]
    >>> registry.policy_class("mine").__name__
    'Mine'
    """
    names = get_args(policy.model_fields["system"].annotation)
    if len(names) != 1:
        raise ValueError(f'{policy.known_as()}: declare its name as system: Literal["name"]')
    (name,) = names
    known = _shipped(name) if name in SHIPPED else _CLASSES.get(name, policy)
    if known is not policy and _place(known) != _place(policy):
        raise ValueError(f"system {name!r} is registered already, by {known.__qualname__}")
    _CLASSES[name] = policy
    return policy


def _place(policy: type[Policy]) -> tuple[str, str]:
    """Return where a class is defined; a cell or module that runs again defines it again there."""
    return policy.__module__, policy.__qualname__


def _shipped(system: str) -> type[Policy]:
    found: type[Policy] = resolve_name(f"cprsim.policies.{SHIPPED[system]}")
    return found


def policy_class(system: str) -> type[Policy] | None:
    """The policy of that name, or None.

    What isn't registered is looked for among the entry points of installed distributions. So these
    can't take the name of a shipped system, and only who asks for a broken one hears of it, by a
    `ScenarioError`.
    """
    if system in SHIPPED:
        return _shipped(system)
    if system not in _CLASSES:
        policy = _installed(system)
        if policy is not None:
            register(policy)
    return _CLASSES.get(system)


def systems() -> tuple[str, ...]:
    """Return all known names: shipped, in order of registration, then of installed packages."""
    installed = (entry.name for entry in entry_points(group=_GROUP))  # none of them is imported
    return tuple(dict.fromkeys([*SHIPPED, *_CLASSES, *installed]))


def _installed(system: str) -> type[Policy] | None:
    """The policy class of that name, or None; `ScenarioError` says what is wrong with it."""
    found = list(entry_points(group=_GROUP, name=system))
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
