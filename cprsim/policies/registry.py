"""Policies by the name that scenario files give as `system`."""

from typing import get_args

from cprsim.contract import Policy
from cprsim.policies import plugins
from cprsim.policies.accepted_loss import AcceptedLoss
from cprsim.policies.asynchronous import Async
from cprsim.policies.autopilot import Autopilot
from cprsim.policies.check_n_run import CheckNRun
from cprsim.policies.cpr import CprVanilla
from cprsim.policies.ecrm import Ecrm
from cprsim.policies.elastic import Elastic
from cprsim.policies.full import Full
from cprsim.policies.hot_swap import HotSwap
from cprsim.policies.partial import Partial
from cprsim.policies.partial_experts import PartialExperts
from cprsim.policies.peer_memory import PeerMemory
from cprsim.policies.priority import CprMfu, CprScar, CprSsu
from cprsim.policies.replication import Replication
from cprsim.policies.tiered import Tiered
from cprsim.policies.twin_groups import TwinGroups

_CLASSES: dict[str, type[Policy]] = {}


def register(policy: type[Policy]) -> type[Policy]:
    """Make `policy` known under the `Literal` of its `system` field; usable as a decorator."""
    (name,) = get_args(policy.model_fields["system"].annotation)
    known = _CLASSES.setdefault(name, policy)
    if known is not policy:
        raise ValueError(f"system {name!r} is registered already, by {known.__qualname__}")
    return policy


def policy_class(system: str) -> type[Policy] | None:
    """The policy of that name, or None.

    What isn't registered is looked for among the entry points of installed distributions (see
    `plugins`). So these can't take the name of a shipped system, and only who asks for a broken one
    hears of it, by a `ScenarioError`.
    """
    if system not in _CLASSES:
        policy = plugins.load(system)
        if policy is not None:
            register(policy)
    return _CLASSES.get(system)


def systems() -> tuple[str, ...]:
    """All known names: in order of registration, then those of installed distributions."""
    return tuple(dict.fromkeys([*_CLASSES, *plugins.installed()]))


for _policy in (
    Full,
    Partial,
    CprVanilla,
    CprScar,
    CprMfu,
    CprSsu,
    Async,
    Replication,
    PeerMemory,
    HotSwap,
    Ecrm,
    AcceptedLoss,
    CheckNRun,
    Tiered,
    PartialExperts,
    Autopilot,
    Elastic,
    TwinGroups,
):
    register(_policy)
