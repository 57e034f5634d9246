"""Policies by the name that scenario files give as `system`."""

from typing import get_args

from cprsim.contract import Policy
from cprsim.policies.asynchronous import Async
from cprsim.policies.cpr import CprVanilla
from cprsim.policies.full import Full
from cprsim.policies.partial import Partial
from cprsim.policies.priority import CprMfu, CprScar, CprSsu
from cprsim.policies.replication import Replication

_CLASSES: dict[str, type[Policy]] = {}


def register(policy: type[Policy]) -> type[Policy]:
    """Make `policy` known under the `Literal` of its `system` field; usable as a decorator."""
    (name,) = get_args(policy.model_fields["system"].annotation)
    known = _CLASSES.setdefault(name, policy)
    if known is not policy:
        raise ValueError(f"system {name!r} is registered already, by {known.__qualname__}")
    return policy


def policy_class(system: str) -> type[Policy] | None:
    """The policy of that name, or None."""
    return _CLASSES.get(system)


def systems() -> tuple[str, ...]:
    """All known names, in order of registration."""
    return tuple(_CLASSES)


for _policy in (Full, Partial, CprVanilla, CprScar, CprMfu, CprSsu, Async, Replication):
    register(_policy)
