"""Pictures of runs of a scenario or a fleet, of the advice on one, and of sweeps."""

from typing import Final

from cprsim.advice.advice import Advice
from cprsim.advice.advising import advise
from cprsim.advice.robustness import robustness
from cprsim.advice.row_loss import RowLosses, row_losses
from cprsim.basics.files import locked_tempdir
from cprsim.errors import RunError, UsageError
from cprsim.report.gallery import tables
from cprsim.report.gallery.picture import Drawing, PictureSource, register
from cprsim.report.run_folder import check_names, of_folder
from cprsim.runs.fleet import Fleet, load
from cprsim.runs.fleet_play import run_fleet
from cprsim.runs.fleet_result import FleetResult
from cprsim.runs.result import Result
from cprsim.runs.runner import run
from cprsim.scenario import Scenario, load_scenario
from cprsim.sweeps.best import circumstances
from cprsim.sweeps.stored import Sweep
from cprsim.sweeps.sweep import sweep
from cprsim.sweeps.values import told_apart


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
        policies = tables.of_systems(scenario, ("full", "cpr-vanilla"), "production")
        source = source._replace(policies=tuple(policies))
    return breakdown(source, replications)


@register("fleet-breakdown", "file", "production-fleet.toml")
def fleet(source: PictureSource) -> FleetResult:
    """Overhead by cause over the percentiles of a fleet's jobs, under its first policy."""
    loaded = load(source.path)
    if not isinstance(loaded, Fleet):
        raise UsageError(
            f"figure fleet-breakdown: {source.path} is of one job; give a fleet, in which values "
            'are drawn, e.g. useful_time = { distribution = "lognormal", mean = "20 h", cv = 1 }'
        )
    policies = list(loaded.select(source.policies or None))[: len(source.policies) or 1]
    return run_fleet(loaded, policies)


@register("failure-causes", "run", "causes.toml", one_axes=True)
def causes(source: PictureSource) -> Drawing:
    """Costs of failures by cause: until noticed, in waiting, loads and lost training."""
    result = breakdown(source)
    return Drawing("bars:failures_by_cause", result.causes, result.about)


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
    return Drawing(advice(source).figure, "pareto")


@register("robust", "file", "quickstart.toml", one_axes=True)
def elsewhere(source: PictureSource) -> Drawing:
    """The loss of `advise`'s choice where the job is another, and the best policy there."""
    found = advice(source)
    held = robustness(found)
    if held is None:
        raise UsageError(f"figure robust: no policy is within the limits for {source.path}")
    return Drawing(held.figure, found.scenario.title)


@register("rows", "scenario", "criteo-kaggle.toml")
def rows(scenario: Scenario) -> RowLosses:
    """Updates lost against the share of rows that a save takes, under several skews."""
    return row_losses(scenario)


#: What is varied of a scenario, as shares of what it is there.
_SHARES: Final = (1 / 4, 1 / 2, 1, 2, 4)
_REPLICATIONS: Final = 10000


@register("phase", "sweep", "quickstart.toml")
def phase(source: PictureSource) -> Drawing:
    """The policy that costs least, by the MTBF and the bandwidth of the store."""
    if source.path.is_dir():
        if source.policies:
            raise UsageError("figure phase: --policy is for a scenario; sweep those policies alone")
        return _map(Sweep(source.path))
    scenario = source.scenario()
    mean_s = scenario.failures.mean_s
    write = None if scenario.storage is None else scenario.storage.write
    if mean_s is None or write is None:
        raise UsageError(
            "figure phase: varies failures.mean and storage.write, and the scenario lacks one of "
            "them; give the folder of a sweep"
        )
    varied = {
        "failures.mean": [f"{mean_s * share!r} s" for share in _SHARES],
        "storage.write": [f"{write * share!r} B/s" for share in _SHARES],
    }
    with locked_tempdir() as folder:
        return _map(sweep(scenario, folder, varied, replications=_REPLICATIONS))


def _map(found: Sweep) -> Drawing:
    failed = found.failures
    if len(failed) == len(found.points):
        raise RunError(f"figure phase: every point failed, the first with: {failed[0].error}")
    drawn = found.figure("phase")  # while its folder is there
    return Drawing(lambda: drawn)


@register("tradeoff", "sweep", "criteo-kaggle.toml")
def tradeoff(source: PictureSource) -> Drawing:
    """Overhead against updates lost, a curve a policy, under each of a sweep's circumstances.

    Of a scenario: under several targets. Keys of a sweep that are no choice of a policy are
    circumstances.
    """
    if not source.path.is_dir():
        return tables.tradeoff(source.scenario())
    found = Sweep(source.path)
    rows = found.table[found.table["error"] == ""]
    check_names(source.policies, rows["policy"].unique(), source.path)
    if source.policies:
        rows = rows[rows["policy"].isin(source.policies)]
    if rows.empty:
        raise UsageError(f"figure tradeoff: no point of the sweep in {source.path} is finished")
    varied = circumstances(found.definition["keys"])
    if varied:
        told = [told_apart([point.values[key] for point in found.points]) for key in varied]
        names = [", ".join(each) for each in zip(*told, strict=True)]
        rows = rows.assign(
            varied=", ".join(varied), circumstances=[names[point] for point in rows["point"]]
        )
    return Drawing("curves:tradeoff", rows, str(found.definition["title"]))
