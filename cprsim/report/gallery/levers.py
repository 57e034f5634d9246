"""`[levers]` of a scenario file: what may be changed of a job, by name, and the job with that."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from cprsim.basics.shipped import located
from cprsim.errors import ScenarioError
from cprsim.scenario.mapping import (
    leaves,
    load_mapping,
    resolve_files,
    scenario_tables,
    set_value,
)
from cprsim.scenario.scenario import Scenario

_EXAMPLE = 'costs.shutdown = "5 min"'


class Levers(NamedTuple):
    """A job, and what each lever sets of it: tables of a scenario file.

    A lever sets its keys and leaves all others, but a policy that it gives a `system` is a new one
    in the place of the old.
    """

    job: Mapping[str, Any]
    sets: Mapping[str, Mapping[str, Any]]

    def scenario(self, names: Iterable[str] = ()) -> Scenario:
        """The job with these levers, one after the other.

        Raises `ScenarioError` with every fault, and with the lever that it came with.
        """
        names = list(names)
        tables = deepcopy(dict(self.job))
        try:
            for name in names:
                _pull(tables, name, self.sets[name])
            return Scenario(**tables)
        except ScenarioError as error:
            if not names:
                raise
            last = f"with levers.{names[-1]}"
            raise ScenarioError(*(f"{last}: {fault}" for fault in error.args)) from None


def load_levers(path: str | Path) -> Levers:
    """A scenario file with a block `[levers]`; `ScenarioError` for every fault of the block."""
    mapping = load_mapping(path)
    found = mapping.get("levers", {})
    if not found or not isinstance(found, Mapping):
        raise ScenarioError(
            f"{path}: has no [levers]; give each a name and what it sets, e.g. [levers.publishing] "
            f"and in it {_EXAMPLE}"
        )
    faults = [
        f"levers.{name}: {lever!r} is not a table; write what it sets, e.g. {_EXAMPLE}"
        if not isinstance(lever, Mapping)
        else f"levers.{name}: sets nothing; write e.g. {_EXAMPLE}, or leave it out"
        for name, lever in found.items()
        if not isinstance(lever, Mapping) or not any(leaves(lever))
    ]
    if faults:
        raise ScenarioError(*faults)
    for lever in found.values():
        resolve_files(lever, located(path).parent)
    return Levers(scenario_tables(mapping), found)


def _pull(tables: dict[str, Any], name: str, lever: Mapping[str, Any]) -> None:
    old, new = tables.get("policies"), lever.get("policies")
    if isinstance(old, dict) and isinstance(new, Mapping):
        renewed = (each for each, t in new.items() if isinstance(t, Mapping) and "system" in t)
        old |= {each: {} for each in renewed}
    for parts, value in leaves(lever):
        set_value(tables, parts, deepcopy(value), f"levers.{name}.{'.'.join(parts)}")
