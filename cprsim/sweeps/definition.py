"""The identity of a sweep: the second of two equal ones resumes the first."""

import hashlib
import inspect
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from cprsim.contract import Plan, Policy
from cprsim.errors import CprsimError, UsageError
from cprsim.scenario import Scenario

#: Entries whose two values an error shows, each with the words before them.
_TOLD = {
    "policies": "policies are",
    "seed": "seed is",
    "replications": "replications are",
    "half_width": "half-width is",
    "engine": "engine is",
}
#: Entries that are hashes, and what an error says of them.
_HASHED = {"scenario": "its scenario is another", "points": "its points are others"}
#: Where an object lies in memory, which says nothing of it.
_PLACE = re.compile(r" at 0x[0-9a-f]+")
#: What a set holds, which each process has in another order.
_SET = re.compile(r"\{([^{}]*)\}")


def check_same(folder: Path, was: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise `UsageError` where `folder` holds a sweep that differs, and say in what.

    `was`, `now`: the definitions of the stored sweep and of the new one.
    """
    theirs, ours = was["model_version"], now["model_version"]
    if theirs != ours:
        age = "a newer" if theirs > ours else "an older"
        raise UsageError(
            f"--out {folder}: holds a sweep of {age} cprsim (model version {theirs}, this one "
            f"has {ours}), whose numbers don't go with these; install that one, or choose "
            "another folder"
        )
    difference = _difference(was | was["rule"], now | now["rule"])
    if difference:
        raise UsageError(
            f"--out {folder}: holds another sweep: {difference}; choose another folder"
        )


def _difference(was: dict[str, Any], now: dict[str, Any]) -> str:
    for key, words in _TOLD.items():
        old, new = (", ".join(each[key]) if key == "policies" else each[key] for each in (was, now))
        if old != new:
            return f"its {words} {old}, not {new}"
    for key, words in _HASHED.items():
        if was[key] != now[key]:
            return words
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
    of = {each.name: (getattr(plan, each.name), each.default) for each in fields(plan)}
    return " ".join(f"{name}={own!r}" for name, (own, default) in of.items() if own != default)


def _in_order(found: re.Match[str]) -> str:
    return f"{{{', '.join(sorted(found[1].split(', ')))}}}"
