"""`fleet-breakdown`: where the jobs around some percentiles of a fleet lose their time."""

from pathlib import Path

from cprsim.errors import UsageError
from cprsim.fleets.fleet import Fleet, load
from cprsim.fleets.play import run_fleet
from cprsim.fleets.result import FleetResult
from cprsim.gallery.picture import Picture


def _prepare(source: Path, jobs: int = 1000) -> FleetResult:
    fleet = load(source)
    if not isinstance(fleet, Fleet):
        raise UsageError(
            f"figure fleet-breakdown: {source} is of one job; give a fleet, in which values are "
            'drawn, e.g. useful_time = { distribution = "lognormal", mean = "20 h", cv = 1 }'
        )
    return run_fleet(fleet, [next(iter(fleet.select(None)))], jobs)


PICTURE = Picture(
    "fleet-breakdown",
    "overhead by cause over the percentiles of a fleet's jobs, under its first policy",
    "scenario",
    "production-fleet.toml",
    _prepare,
    FleetResult.figure,
)
