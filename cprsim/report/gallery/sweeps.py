"""Pictures of sweeps: maps of the best policy, and time against learning lost."""

from typing import Final

from cprsim.basics.owned import owned_folder
from cprsim.errors import RunError, UsageError
from cprsim.report.gallery import tables
from cprsim.report.gallery.picture import Drawing, PictureSource, Titled, register
from cprsim.report.run_folder import check_names
from cprsim.sweeps.best import circumstances
from cprsim.sweeps.stored import Sweep
from cprsim.sweeps.sweep import sweep
from cprsim.sweeps.values import told_apart

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
    with owned_folder() as folder:
        return _map(sweep(scenario, folder, varied, replications=_REPLICATIONS))


def _map(found: Sweep) -> Drawing:
    failed = found.failures
    if len(failed) == len(found.points):
        raise RunError(f"figure phase: every point failed, the first with: {failed[0].error}")
    drawn = found.figure("phase")  # while its folder is there
    return Drawing(lambda: drawn)


@register("tradeoff", "sweep", "criteo-kaggle.toml")
def tradeoff(source: PictureSource) -> Titled:
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
    return Titled(str(found.definition["title"]), rows, "overhead:tradeoff")
