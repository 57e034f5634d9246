"""What is drawn of runs of a scenario or a fleet, and of the advice on one."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from cprsim.advice.advice import Advice
from cprsim.advice.advising import advise
from cprsim.advice.robustness import Robustness, robustness
from cprsim.basics.manifest import read_manifest
from cprsim.contract.ledger import RARE_CAUSES
from cprsim.errors import UsageError
from cprsim.gallery.picture import PictureSource, Titled
from cprsim.gallery.points import of_systems
from cprsim.runs.fleet import Fleet, load
from cprsim.runs.fleet_play import run_fleet
from cprsim.runs.fleet_result import FleetResult
from cprsim.runs.measures import Basis, measures_of
from cprsim.runs.replications import ReplicationTable
from cprsim.runs.result import Result
from cprsim.runs.runner import run
from cprsim.scenario import load_scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COMPARED = ("full", "cpr-vanilla")
_FILES = ("scenario.toml", "manifest.json", "results.csv")


def of_folder(folder: Path, policies: Sequence[str] = ()) -> Result:
    """Return the result that `cprsim run --out` left there; `policies`: those alone."""
    for name in _FILES:
        if not (folder / name).is_file():
            raise UsageError(f"{folder} has no {name}; give a scenario, or the folder of a run")
    scenario = load_scenario(folder / "scenario.toml")
    manifest = read_manifest(folder, _FILES)
    PictureSource(folder, tuple(policies)).check(manifest["policies"])
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


def breakdown(source: PictureSource, replications: int = 400) -> Result:
    """Return the result of the policies of a scenario, or of the run in a folder."""
    if source.path.is_dir():
        return of_folder(*source)
    return run(load_scenario(source.path), source.policies or None, replications)


def production(source: PictureSource, replications: int = 400) -> Result:
    """Return the result of full recovery and CPR in a scenario, or of the run in a folder."""
    if source.path.is_dir() or source.policies:
        return breakdown(source, replications)
    scenario = load_scenario(source.path)
    policies = of_systems(scenario, _COMPARED, "production")
    if len(policies) < len(_COMPARED):
        raise UsageError("figure production: compares full and cpr-vanilla; give policies of both")
    return run(scenario, list(policies), replications)


def fleet(source: PictureSource, jobs: int = 1000) -> FleetResult:
    """Return the result of a fleet under its first policy, or those that are chosen."""
    loaded = load(source.path)
    if not isinstance(loaded, Fleet):
        raise UsageError(
            f"figure fleet-breakdown: {source.path} is of one job; give a fleet, in which values "
            'are drawn, e.g. useful_time = { distribution = "lognormal", mean = "20 h", cv = 1 }'
        )
    return run_fleet(
        loaded, list(loaded.select(source.policies or None))[: len(source.policies) or 1], jobs
    )


def causes(source: PictureSource) -> Titled:
    """Return what failures of each cause cost, of a scenario or of the run in a folder."""
    result = breakdown(source)
    return Titled(result.about, result.causes)


def advice(source: PictureSource) -> Advice:
    """Return the advice on a scenario: least time, with the default limits.

    Where policies are chosen, other systems than theirs are no candidates.
    """
    scenario = source.scenario()
    systems = [each.system for each in scenario.policies.values()] if source.policies else None
    return advise(scenario, systems=systems)


def elsewhere(source: PictureSource) -> tuple[str, Robustness]:
    """Return the scenario's title, and the choice for it where inputs are others."""
    found = advice(source)
    held = robustness(found)
    if held is None:
        raise UsageError(f"figure robust: no policy is within the limits for {source.path}")
    return found.scenario.title, held


def draw_elsewhere(found: tuple[str, Robustness], **on: Any) -> "Figure":
    """Draw what the choice loses where inputs are others."""
    from cprsim.figures.robust import robust  # noqa: PLC0415  (matplotlib is slow to import)

    title, of = found
    return robust(of.table, of.choice, of.within, of.systems, title, of.base, **on)
