"""Pictures of runs of a scenario or a fleet, and of the advice on one."""

from functools import partial

from cprsim.advice.advice import Advice
from cprsim.advice.advising import advise
from cprsim.advice.robustness import robustness
from cprsim.advice.row_loss import RowLosses, row_losses
from cprsim.errors import UsageError
from cprsim.report.gallery.picture import Drawing, PictureSource, Titled, register
from cprsim.report.gallery.tables import of_systems
from cprsim.report.run_folder import of_folder
from cprsim.runs.fleet import Fleet, load
from cprsim.runs.fleet_play import run_fleet
from cprsim.runs.fleet_result import FleetResult
from cprsim.runs.result import Result
from cprsim.runs.runner import run
from cprsim.scenario import Scenario, load_scenario


@register("policy-breakdown", "run", "criteo-kaggle.toml")
def breakdown(source: PictureSource, replications: int = 400) -> Result:
    """Where the time goes under each policy, by cause, and the updates that it loses."""
    if source.path.is_dir():
        return of_folder(*source)
    return run(load_scenario(source.path), source.policies or None, replications)


@register("production", "run", "production.toml")
def production(source: PictureSource, replications: int = 400) -> Result:
    """Full recovery against CPR, by cause."""
    if not (source.path.is_dir() or source.policies):
        scenario = load_scenario(source.path)
        policies = of_systems(scenario, ("full", "cpr-vanilla"), "production")
        source = source._replace(policies=tuple(policies))
    return breakdown(source, replications)


@register("fleet-breakdown", "file", "production-fleet.toml")
def fleet(source: PictureSource, jobs: int = 1000) -> FleetResult:
    """Overhead by cause over the percentiles of a fleet's jobs, under its first policy."""
    loaded = load(source.path)
    if not isinstance(loaded, Fleet):
        raise UsageError(
            f"figure fleet-breakdown: {source.path} is of one job; give a fleet, in which values "
            'are drawn, e.g. useful_time = { distribution = "lognormal", mean = "20 h", cv = 1 }'
        )
    return run_fleet(
        loaded, list(loaded.select(source.policies or None))[: len(source.policies) or 1], jobs
    )


@register("failure-causes", "run", "causes.toml", one_axes=True)
def causes(source: PictureSource) -> Titled:
    """Costs of failures by cause: until noticed, in waiting, loads and lost training."""
    result = breakdown(source)
    return Titled(result.about, result.causes, "breakdown:failures_by_cause")


@register("answer", "file", "quickstart.toml")
def advice(source: PictureSource) -> Advice:
    """Costs of each candidate of `advise`, and the learning and machines that it takes.

    For the least time, with the default limits. Where policies are chosen, other systems than
    theirs are no candidates.
    """
    scenario = source.scenario()
    systems = [each.system for each in scenario.policies.values()] if source.policies else None
    return advise(scenario, systems=systems)


@register("pareto", "file", "quickstart.toml")
def pareto(source: PictureSource) -> Drawing:
    """Time against learning lost, machine time or cost of each candidate of `advise`."""
    return Drawing(partial(advice(source).figure, "pareto"))


@register("robust", "file", "quickstart.toml", one_axes=True)
def elsewhere(source: PictureSource) -> Drawing:
    """The loss of `advise`'s choice where the job is another, and the best policy there."""
    found = advice(source)
    held = robustness(found)
    if held is None:
        raise UsageError(f"figure robust: no policy is within the limits for {source.path}")
    return Drawing(partial(held.figure, found.scenario.title))


@register("rows", "scenario", "criteo-kaggle.toml")
def rows(scenario: Scenario) -> RowLosses:
    """Updates lost against the share of rows that a save takes, under several skews."""
    return row_losses(scenario)
