"""The identity of a sweep: the second of two equal ones resumes the first."""

import hashlib
import inspect
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from cprsim.contract import Plan, Policy
from cprsim.errors import CprsimError, UsageError
from cprsim.scenario import Scenario
from cprsim.sim.engine import MODEL_VERSION
from cprsim.sweeps.tasks import Rule

#: Where an object lies in memory, which says nothing of it.
_PLACE = re.compile(r" at 0x[0-9a-f]+")
#: What a set holds, which each process has in another order.
_SET = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Definition:
    """All that the numbers of a sweep depend on, and what it is called.

    Parameters
    ----------
    title, currency, zipped
        Of the scenario, of its prices (None without), and keys whose values go together; these are
        not compared.
    scenario, points
        Hashes of the scenario without what is varied, and of all points in order.
    count
        Number of points.
    keys
        What is varied, in order.
    policies, seed, rule, engine
        What is played at each point, how often, and by which engine.
    model_version
        Of the code that plays it.
    code
        Hashes of policies that aren't shipped, by name (`own_code`).
    """

    title: str
    scenario: str
    points: str
    count: int
    keys: tuple[str, ...]
    policies: tuple[str, ...]
    seed: int
    rule: Rule
    engine: str = "auto"
    model_version: int = MODEL_VERSION
    currency: str | None = None
    zipped: tuple[str, ...] = ()
    code: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the definition as it is stored, plain JSON."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found

    def check(self, stored: dict[str, Any], folder: Path) -> None:
        """Raise `UsageError` where `folder` holds another sweep, saying what differs."""
        theirs, ours = stored["model_version"], self.model_version
        if theirs != ours:
            age = "a newer" if theirs > ours else "an older"
            raise UsageError(
                f"--out {folder}: holds a sweep of {age} cprsim (model version {theirs}, this one "
                f"has {ours}), whose numbers don't go with these; install that one, or choose "
                "another folder"
            )
        difference = _difference(stored, self.document())
        if difference:
            raise UsageError(
                f"--out {folder}: holds another sweep: {difference}; choose another folder"
            )


def _difference(was: dict[str, Any], now: dict[str, Any]) -> str:
    for name, old, new in (
        ("policies are", ", ".join(was["policies"]), ", ".join(now["policies"])),
        ("seed is", was["seed"], now["seed"]),
        ("replications are", was["rule"]["replications"], now["rule"]["replications"]),
        ("half-width is", was["rule"]["half_width"], now["rule"]["half_width"]),
        ("engine is", was["engine"], now["engine"]),
    ):
        if old != new:
            return f"its {name} {old}, not {new}"
    if was["scenario"] != now["scenario"]:
        return "its scenario is another"
    if was["points"] != now["points"]:
        return "its points are others"
    for name, code in was["code"].items():
        if now["code"].get(name) != code:
            return f"the code of its policy {name!r} was another"
    return ""


def own_code(scenario: Scenario, policies: Iterable[str]) -> dict[str, str]:
    """Hash each of these policies that isn't shipped: the source of its class, and its plan.

    Source that can't be had (a class that was typed at a prompt) counts as none, and what the
    source calls elsewhere as far as the plan shows it.
    """
    return {name: _hash(scenario, name) for name in policies if _own(scenario.policies[name])}


def _own(policy: Policy) -> list[type]:
    """Return classes of a policy that cprsim doesn't have."""
    known = ("cprsim", "pydantic", "builtins", "abc", "typing")
    return [each for each in type(policy).__mro__ if each.__module__.split(".")[0] not in known]


def _hash(scenario: Scenario, name: str) -> str:
    texts = []
    for each in _own(scenario.policies[name]):
        with suppress(OSError, TypeError):
            texts.append(inspect.getsource(each))
    try:
        said = _said(scenario.plan(name))
    except CprsimError as error:  # other points may have a plan
        said = str(error)
    texts.append(_SET.sub(_in_order, _PLACE.sub("", said)))
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _said(plan: Plan) -> str:
    """Return fields that aren't the default's: a later cprsim may have more of them."""
    found = {each.name: getattr(plan, each.name) for each in fields(plan)}
    defaults = {each.name: each.default for each in fields(plan)}
    return " ".join(f"{name}={each!r}" for name, each in found.items() if each != defaults[name])


def _in_order(found: re.Match[str]) -> str:
    return f"{{{', '.join(sorted(found[1].split(', ')))}}}"
