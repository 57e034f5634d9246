"""The result in a folder that `cprsim run --out` wrote."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from cprsim.basics.manifest import read_manifest
from cprsim.basics.schema import nearest
from cprsim.contract.ledger import RARE_CAUSES
from cprsim.errors import UsageError
from cprsim.runs.digest import ReplicationTable
from cprsim.runs.measures import Basis, measures_of
from cprsim.runs.result import Result
from cprsim.scenario import load_scenario

_FILES = ("scenario.toml", "manifest.json", "results.csv")


def of_folder(folder: Path, policies: Sequence[str] = ()) -> Result:
    """Return the result that `cprsim run --out` left there; `policies`: those alone."""
    for name in _FILES:
        if not (folder / name).is_file():
            raise UsageError(f"{folder} has no {name}; give a scenario, or the folder of a run")
    scenario = load_scenario(folder / "scenario.toml")
    manifest = read_manifest(folder, _FILES)
    check_names(policies, manifest["policies"], folder)
    plans = scenario.plans_of([*policies] or manifest["policies"])
    table = pd.read_csv(folder / "results.csv", dtype={"policy": object})
    table = table.assign(**{f"{c}_s": 0.0 for c in RARE_CAUSES if f"{c}_s" not in table})
    measures = measures_of(Basis.of(scenario, next(iter(plans))))
    if missing := [name for name in measures if name not in table]:
        raise UsageError(
            f"{folder}: results.csv has no {missing[0]}: an older cprsim made it; run that again"
        )
    table = table[table["policy"].isin([*plans])]
    return Result(scenario, manifest["seed"], manifest["engines"], plans, ReplicationTable(table))


def check_names(policies: Iterable[str], known: Iterable[str], where: Path) -> None:
    """Raise `UsageError` where one of the policies isn't known."""
    there = [*known]
    for name in policies:
        if name not in there:
            raise UsageError(
                f"policy {name!r}: {where} has none of that name; {nearest(name, there)}"
            )
