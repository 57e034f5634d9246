"""Systems explained: what each does, what it needs of the scenario and the trainer, its source."""

from typing import NamedTuple

from cprsim.advice.candidates import Refused, first_tried
from cprsim.basics.schema import nearest
from cprsim.basics.shipped import named
from cprsim.contract import Policy
from cprsim.contract.needs import TRAINER_NEEDS, trainer_need
from cprsim.errors import UsageError
from cprsim.policies.registry import policy_class, systems
from cprsim.scenario import Scenario, load_scenario

#: A job that gives no more than jobs have to, and one that gives what most systems need.
_PLAIN, _RICH = "quickstart", "all-systems"


class Explained(NamedTuple):
    """A system in words; `needs`: of a scenario, `trainer`: of the training loop."""

    name: str
    does: str
    keys: list[str]
    needs: str
    trainer: str
    assumes: str
    source: str


def explained(system: str) -> Explained:
    """Explain a system.

    Raises
    ------
    UsageError
        If there is no such system.
    """
    kind = policy_class(system) if system in systems() else None
    if kind is None:
        raise UsageError(f"unknown policy {system!r}; {nearest(system, systems())}")
    own = kind.model_fields.keys() - Policy.model_fields.keys()
    keys = [each.alias or name for name, each in kind.model_fields.items() if name in own]
    tried = first_tried(load_scenario(named(_PLAIN)), system)
    needs = tried.why if isinstance(tried, Refused) else "nothing but the job and its costs"
    needs = needs.removeprefix(f"system {system!r} ").removeprefix("needs ")
    return Explained(
        system, kind.does(), keys, needs, _trainer(system), kind.unpriced, kind.source()
    )


def _trainer(system: str) -> str:
    """The kind of trainer that the plan of a system needs, in words; empty where it isn't known."""
    job: Scenario = load_scenario(named(_RICH))
    own = next((name for name, each in job.policies.items() if each.system == system), None)
    if own is not None:
        return TRAINER_NEEDS[trainer_need(job.plan(own))]
    tried = first_tried(job, system)
    if isinstance(tried, Refused):
        return ""
    return TRAINER_NEEDS[trainer_need(tried.planned(job.context))]
