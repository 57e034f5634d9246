"""Systems explained: what each does, what it needs of the scenario and the trainer, its source."""

from typing import NamedTuple

from cprsim.advice.candidates import Refused, first_tried
from cprsim.basics.schema import nearest
from cprsim.basics.shipped import named
from cprsim.contract import Policy
from cprsim.contract.needs import TRAINER_NEEDS, trainer_need
from cprsim.contract.registry import policy_class, systems
from cprsim.errors import UsageError
from cprsim.scenario import load_scenario

#: A job that gives no more than jobs have to, and one that gives what most systems need.
_PLAIN, _RICH = "quickstart", "all-systems"


class Explained(NamedTuple):
    """A system in words.

    `needs`: of a scenario. `trainer`: the kind of training loop; empty where it isn't known.
    """

    name: str
    does: str
    keys: list[str]
    needs: str
    trainer: str
    assumes: str
    source: str


def explained(system: str) -> Explained:
    """Explain a system; raise `UsageError` if there is no such system."""
    kind = policy_class(system) if system in systems() else None
    if kind is None:
        raise UsageError(f"unknown policy {system!r}; {nearest(system, systems())}")
    own = kind.model_fields.keys() - Policy.model_fields.keys()
    keys = [each.alias or name for name, each in kind.model_fields.items() if name in own]
    tried = first_tried(load_scenario(named(_PLAIN)), system)
    needs = tried.why if isinstance(tried, Refused) else "nothing but the job and its costs"
    needs = needs.removeprefix(f"system {system!r} ").removeprefix("needs ")
    job = load_scenario(named(_RICH))
    shown = next((each for each in job.policies.values() if each.system == system), None)
    example = shown or first_tried(job, system)
    trainer = ""
    if not isinstance(example, Refused):
        trainer = TRAINER_NEEDS[trainer_need(example.planned(job.context))]
    return Explained(system, kind.does(), keys, needs, trainer, kind.unpriced, kind.source())
