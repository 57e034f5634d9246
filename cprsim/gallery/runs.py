"""`policy-breakdown`, `production`, `fleet-breakdown`: where the time of jobs goes."""

from pathlib import Path

import pandas as pd

from cprsim.basics.manifest import read_manifest
from cprsim.contract.ledger import RARE_CAUSES
from cprsim.errors import UsageError
from cprsim.fleets.fleet import Fleet, load
from cprsim.fleets.play import run_fleet
from cprsim.fleets.result import FleetResult
from cprsim.gallery.picture import Picture
from cprsim.gallery.points import of_systems
from cprsim.runs.measures import Basis, measures_of
from cprsim.runs.replications import ReplicationTable
from cprsim.runs.result import Result
from cprsim.runs.runner import run
from cprsim.scenario import load_scenario

_COMPARED = ("full", "cpr-vanilla")
_FILES = ("scenario.toml", "manifest.json", "results.csv")


def of_folder(folder: Path) -> Result:
    """The result that `cprsim run --out` left there."""
    for name in _FILES:
        if not (folder / name).is_file():
            raise UsageError(f"{folder} has no {name}; give a scenario, or the folder of a run")
    scenario = load_scenario(folder / "scenario.toml")
    manifest = read_manifest(folder, _FILES)
    plans = scenario.plans_of(manifest["policies"])
    table = pd.read_csv(folder / "results.csv", dtype={"policy": object})
    table = table.assign(**{f"{c}_s": 0.0 for c in RARE_CAUSES if f"{c}_s" not in table})
    measures = measures_of(Basis.of(scenario, next(iter(plans))))
    if missing := [name for name in measures if name not in table]:
        raise UsageError(
            f"{folder}: results.csv has no {missing[0]}: an older cprsim made it; run that again"
        )
    return Result(scenario, manifest["seed"], manifest["engines"], plans, ReplicationTable(table))


def breakdown(source: Path, replications: int = 400) -> Result:
    """All policies of a scenario, or of the run in a folder."""
    if source.is_dir():
        return of_folder(source)
    return run(load_scenario(source), replications=replications)


def production(source: Path, replications: int = 400) -> Result:
    """Full recovery against CPR in a scenario, or all policies of the run in a folder."""
    if source.is_dir():
        return of_folder(source)
    scenario = load_scenario(source)
    policies = of_systems(scenario, _COMPARED, "production")
    if len(policies) < len(_COMPARED):
        raise UsageError("figure production: compares full and cpr-vanilla; give policies of both")
    return run(scenario, list(policies), replications)


def fleet(source: Path, jobs: int = 1000) -> FleetResult:
    """A fleet under its first policy."""
    loaded = load(source)
    if not isinstance(loaded, Fleet):
        raise UsageError(
            f"figure fleet-breakdown: {source} is of one job; give a fleet, in which values are "
            'drawn, e.g. useful_time = { distribution = "lognormal", mean = "20 h", cv = 1 }'
        )
    return run_fleet(loaded, [next(iter(loaded.select(None)))], jobs)


BREAKDOWN = Picture(
    "policy-breakdown",
    "where the time goes under each policy, by cause, beside the updates that it loses and what "
    "training these again would take",
    "run",
    "criteo-kaggle.toml",
    breakdown,
    Result.figure,
)
CAUSES = Picture(
    "failure-causes",
    "what failures of each cause cost: until they are noticed, in waiting, loads and lost training",
    "run",
    "causes.toml",
    breakdown,
    lambda result: result.figure("causes"),
)
PRODUCTION = Picture(
    "production",
    "full recovery against CPR, by cause",
    "run",
    "production.toml",
    production,
    Result.figure,
)
FLEET = Picture(
    "fleet-breakdown",
    "overhead by cause over the percentiles of a fleet's jobs, under its first policy",
    "scenario",
    "production-fleet.toml",
    fleet,
    FleetResult.figure,
)
