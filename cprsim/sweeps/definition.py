"""The identity of a sweep: the second of two equal ones resumes the first."""

import hashlib
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.contract import Plan, Policy
from cprsim.errors import CprsimError, UsageError
from cprsim.runs.summaries import half_width
from cprsim.scenario import Scenario
from cprsim.sim.engine import MODEL_VERSION

#: Where an object lies in memory, which says nothing of it.
_PLACE = re.compile(r" at 0x[0-9a-f]+")
#: What a set holds, which each process has in another order.
_SET = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Rule:
    """So many replications, or until the mean overheads are known well enough.

    Parameters
    ----------
    replications
        At each point; with `half_width`, at most.
    half_width
        Relative half-width that the 95 % interval of every policy's mean overhead must reach. It
        is looked at after each block, in order, so that it says the same whoever computed them.
    block
        Replications of one task.
    """

    replications: int
    half_width: float | None
    block: int

    def blocks(self) -> Iterator[range]:
        """Yield the numbers of the replications of each block."""
        return map(self._from, range(0, self.replications, self.block))

    def next_block(self, done: Sequence[NDArray[np.float64]]) -> range | None:
        """Return the block after those whose overheads are given, or None if they are enough.

        Overheads have the shape (policies, replications). Those of a policy that failed, where some
        are not a number, are always enough.
        """
        if self.half_width is not None and done:
            overheads = np.concatenate(done, axis=1)
            played = overheads[~np.isnan(overheads).any(axis=1)]
            width = self.half_width * np.abs(played.mean(axis=1))
            if np.all(half_width(played) <= width):
                return None
        start = len(done) * self.block
        return self._from(start) if start < self.replications else None

    def _from(self, start: int) -> range:
        return range(start, min(start + self.block, self.replications))


@dataclass(frozen=True)
class Definition:
    """All that the numbers of a sweep depend on.

    Parameters
    ----------
    title
        Of the scenario; no part of what is compared.
    scenario, points
        Hashes of the scenario without what is varied, and of all points in order.
    keys
        What is varied, in order.
    policies, seed, rule, engine
        What is played at each point, how often, and by what.
    model_version
        Of the code that plays it.
    currency
        Of the scenario's prices, None where it has none; no part of what is compared.
    zipped
        Those of the keys whose values go together; no part of what is compared.
    code
        Of policies that aren't shipped, by name (`own_code`).
    """

    title: str
    scenario: str
    points: str
    keys: tuple[str, ...]
    policies: tuple[str, ...]
    seed: int
    rule: Rule
    engine: str = "auto"
    model_version: int = MODEL_VERSION
    currency: str | None = None
    zipped: tuple[str, ...] = ()
    code: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> str:
        """Return the definition as it is stored."""
        return json.dumps(asdict(self))

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
        difference = self._difference(stored)
        if difference:
            raise UsageError(
                f"--out {folder}: holds another sweep: {difference}; choose another folder"
            )

    def _difference(self, stored: dict[str, Any]) -> str:
        new = json.loads(self.document())
        for name, was, now in (
            ("policies are", ", ".join(stored["policies"]), ", ".join(new["policies"])),
            ("seed is", stored["seed"], new["seed"]),
            ("replications are", stored["rule"]["replications"], new["rule"]["replications"]),
            ("half-width is", stored["rule"]["half_width"], new["rule"]["half_width"]),
            ("engine is", stored["engine"], new["engine"]),
            ("blocks are of", stored["rule"]["block"], new["rule"]["block"]),
        ):
            if was != now:
                return f"its {name} {was}, not {now}"
        if stored["scenario"] != new["scenario"]:
            return "its scenario is another"
        if stored["points"] != new["points"]:
            return "its points are others"
        for name, was in stored.get("code", {}).items():  # an older cprsim didn't write it
            if self.code.get(name) != was:
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
