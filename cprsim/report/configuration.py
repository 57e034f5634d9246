"""What to copy: the recommended policy as a block of a scenario, and its interval alone."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tomli_w

from cprsim.errors import RunError, UsageError
from cprsim.scenario.mapping import leaves

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice


def configuration(advice: "Advice") -> str:
    """The TOML block of the recommended policy, to copy into a scenario.

    Of a policy of the scenario the keys that change.
    """
    best = advice.best
    if best is None:
        return ""
    policy, origin = best.candidate.policy, best.candidate.origin
    if origin is None:
        keys = policy.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        pairs = _pairs({"system": policy.system} | keys)
        taken = policy.system in advice.scenario.policies
        name = f"{policy.system}-advised" if taken else policy.system
        return "\n".join([f"[policies.{name}]", *pairs])
    own, new = (
        dict(leaves(each.model_dump(mode="json", by_alias=True)))
        for each in (advice.scenario.policies[origin], policy)
    )
    changed = {".".join(p): new.get(p) for p in own | new if new.get(p) != own.get(p)}
    lines = [
        f"# remove {key}" if value is None else f"{key} = {_toml(value)}"
        for key, value in changed.items()
    ]
    heading = f"[policies.{origin}]   # " + ("these keys change" if lines else "as it is")
    return "\n".join([heading, *lines])


def _toml(value: Any) -> str:
    return tomli_w.dumps({"it": value}).strip().removeprefix("it = ")


def interval(advice: "Advice", steps: bool = False) -> str:
    """The recommended interval alone, for a shell script: whole seconds, or steps of training.

    That of the nearest tier, in useful time; `"never"` where nothing is saved.

    Raises
    ------
    UsageError
        If the scenario doesn't say how many samples a step has, and steps are asked for.
    RunError
        If no policy meets the limits.
    """
    best, job, model = advice.best, advice.scenario.job, advice.scenario.model
    if best is None:
        raise RunError("no policy meets the limits, so there is no interval")
    every_s = best.saves_every_s
    if math.isinf(every_s):
        return "never"
    if not steps:
        return f"{max(every_s, 1.0):.0f}"
    batch = None if model is None else model.batch
    if job.samples is None or batch is None:
        raise UsageError("--steps needs job.samples and model.batch, samples of a step")
    return f"{max(every_s / job.useful_time_s * job.samples / batch, 1.0):.0f}"


def _pairs(table: Mapping[str, Any]) -> list[str]:
    """Return lines of `key = value`, a table within as an inline table."""
    found = []
    for key, value in table.items():
        if isinstance(value, dict):
            found.append(f"{key} = {{ {', '.join(_pairs(value))} }}")
        elif value is not None:
            found.append(f"{key} = {_toml(value)}")
    return found
