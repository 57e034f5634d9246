"""What policies of other packages are by their code, which a scenario doesn't tell."""

import hashlib
import inspect
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields

from cprsim.contract import Plan, Policy
from cprsim.errors import CprsimError
from cprsim.scenario import Scenario

#: Where an object lies in memory, which says nothing of it.
_PLACE = re.compile(r" at 0x[0-9a-f]+")
#: What a set holds, which each process has in another order.
_SET = re.compile(r"\{([^{}]*)\}")


def own_code(scenario: Scenario, policies: Iterable[str]) -> dict[str, str]:
    """A hash for each of these policies that isn't shipped: of its class's source, and its plan.

    Source that can't be had (a class that was typed at a prompt) counts as none, and what the
    source calls elsewhere as far as the plan shows it.
    """
    return {name: _hash(scenario, name) for name in policies if _own(scenario.policies[name])}


def _own(policy: Policy) -> list[type]:
    """Classes that it is of and that cprsim hasn't."""
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
    """What it says that isn't said by default: a later cprsim may have more to say."""
    found = {each.name: getattr(plan, each.name) for each in fields(plan)}
    defaults = {each.name: each.default for each in fields(plan)}
    return " ".join(f"{name}={each!r}" for name, each in found.items() if each != defaults[name])


def _in_order(found: re.Match[str]) -> str:
    return f"{{{', '.join(sorted(found[1].split(', ')))}}}"
