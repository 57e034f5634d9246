"""`tradeoff` and `rows`: the learning lost, against overhead and the share of rows saved."""

import pandas as pd

from cprsim.errors import UsageError
from cprsim.estimates.row_loss import RowLosses, row_losses
from cprsim.gallery.picture import Picture, PictureSource, Titled, drawn_by, of_scenario
from cprsim.gallery.points import at, measured, tidy
from cprsim.policies.cpr import Cpr
from cprsim.scenario import Scenario
from cprsim.sweeps.best import circumstances
from cprsim.sweeps.columns import told_apart
from cprsim.sweeps.stored import Sweep

#: Targets on the portion of lost samples.
_TARGETS = (0.005, 0.01, 0.02, 0.05, 0.1)


def table(scenario: Scenario, replications: int = 100) -> pd.DataFrame:
    """A row a target and CPR policy, and one for full recovery, as `tradeoff` draws them."""
    cpr = {name: p for name, p in scenario.policies.items() if isinstance(p, Cpr)}
    if not cpr:
        raise UsageError(
            "figure tradeoff: the scenario has no CPR policy whose target could be varied; add "
            'one, e.g. system = "cpr-vanilla"'
        )
    full = {name: p for name, p in scenario.policies.items() if p.system == "full"}
    points = []
    if full:
        points.append(measured(at(scenario, {"policies": full}), replications, target=0.0))
    for target in _TARGETS:
        # An interval of their own would be stronger than the target.
        update = {"target_pls": target, "interval": None}
        policies = {name: policy.model_copy(update=update) for name, policy in cpr.items()}
        there = at(scenario, {"policies": policies})
        points.append(measured(there, replications, target=target))
    return tidy(points)


def of_sweep(source: PictureSource) -> Titled:
    """Return all points of a sweep; keys that are no choice of a policy are circumstances."""
    sweep = Sweep(source.path)
    rows = sweep.table[sweep.table["error"] == ""]
    source.check(rows["policy"].unique())
    if source.policies:
        rows = rows[rows["policy"].isin(source.policies)]
    if rows.empty:
        raise UsageError(f"figure tradeoff: no point of the sweep in {source.path} is finished")
    varied = circumstances(sweep.definition["keys"])
    if varied:
        told = [told_apart([point.values[key] for point in sweep.points]) for key in varied]
        names = [", ".join(each) for each in zip(*told, strict=True)]
        rows = rows.assign(
            varied=", ".join(varied), circumstances=[names[point] for point in rows["point"]]
        )
    return Titled(str(sweep.definition["title"]), rows)


TRADEOFF = Picture(
    "tradeoff",
    "overhead against PLS and updates lost, a curve a policy, and under each of a sweep's "
    "circumstances",
    "sweep",
    "criteo-kaggle.toml",
    lambda source: of_sweep(source) if source.path.is_dir() else of_scenario(table)(source),
    drawn_by("tradeoff:tradeoff"),
)
ROWS = Picture(
    "rows",
    "updates lost against the share of rows that a save takes, under several skews",
    "scenario",
    "criteo-kaggle.toml",
    lambda source: row_losses(source.scenario()),
    RowLosses.figure,
)
