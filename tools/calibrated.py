"""Write what saves and recoveries take on this machine into scenarios/train-quick.toml.

Run `python -m tools.calibrated` on a quiet machine (half a minute), then `make pages`. Replaced are
the block `[costs]`, and what is known of saves of chosen rows in the policies that have them.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

from cprsim.basics.files import write_all
from cprsim.basics.machine import cores
from cprsim.basics.units import parse_duration
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.trainer.lab import forking
from cprsim.trainer.section import trainer_section
from cprsim.trainer.validation.calibration import ONE_SERVER, Rehearsal
from cprsim.trainer.validation.predicted import calibrated
from tools.paths import SCENARIOS

CONFIG = SCENARIOS / "train-quick.toml"
#: Keys of a policy that are measured.
_OF_POLICY = ("writes", "select")
#: Others of whole saves have the same costs.
_POLICIES = ("full", "partial", "cpr-mfu", "cpr-ssu", "cpr-scar")
_REHEARSED = 3


def rewritten(text: str, modelled: Mapping[str, Any], how: str) -> str:
    """Return a scenario file with the costs of another, and its policies' keys of chosen rows.

    `how`: a comment above them on how they were measured.
    """
    head, rest = re.split(r"(?<=\n)(?=\[costs\])", text, maxsplit=1)
    title, _, rest = rest.partition("\n")
    _, _, rest = rest.partition("\n\n")
    costs = [_line(key, value) for key, value in modelled["costs"].items() if parse_duration(value)]
    text = "\n".join([head + title, f"# {how}", *costs, "", rest])
    for name, policy in modelled["policies"].items():
        if "writes" in policy:
            text = _with_keys(text, name, {key: policy[key] for key in _OF_POLICY})
    return text


def _with_keys(text: str, policy: str, keys: Mapping[str, Any]) -> str:
    start = text.index(f"[policies.{policy}]\n")
    end = text.find("\n\n", start) % (len(text) + 1)
    lines = [line for line in text[start:end].splitlines() if line.split(" ")[0] not in keys]
    lines += [_line(key, value) for key, value in keys.items()]
    return "\n".join([text[:start] + lines[0], *lines[1:]]) + (text[end:] or "\n")


def _line(key: str, value: Any) -> str:
    """Three digits are more than a machine repeats."""
    if isinstance(value, str):
        return f'{key} = "{float(f"{1e3 * parse_duration(value):.3g}"):g} ms"'
    return f"{key} = {value if isinstance(value, int) else f'{value:.3g}'}"


def main() -> None:
    """Rehearse, and write."""
    forking.context()
    mapping = load_mapping(CONFIG, ())
    scenario, section = Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"])
    plans, data = scenario.plans_of(_POLICIES), section.data(scenario, 0)
    before = os.getloadavg()[0]
    asked = {
        name: Rehearsal(scenario, section, name, plan, [ONE_SERVER]) for name, plan in plans.items()
    }
    for _ in range(_REHEARSED):
        for each in asked.values():
            each.carry_out()
    found = {name: each.measured() for name, each in asked.items()}
    load = max(before, os.getloadavg()[0])
    how = (
        f"Measured by `python -m tools.calibrated`: medians, {_REHEARSED} rehearsals of "
        f"each policy,\n# {cores()} cores, load at most {load:.1f}."
    )
    modelled = calibrated(scenario, plans, data, found).mapping()
    text = rewritten(CONFIG.read_text(encoding="utf-8"), modelled, how)
    write_all(SCENARIOS, {CONFIG.name: text.encode()})


if __name__ == "__main__":
    main()
