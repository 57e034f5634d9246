"""What a study found: accuracy at each of its points, slopes, and which policies differ.

All functions take a table of runs: `seed`, `policy`, its `system`, `failures`, `servers_hit` by
each of them out of `servers`, `auc`, `pls`, `updates_lost`. Only seeds of which all runs are there
count, so a study that isn't done yet can be looked at.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.runs.summaries import half_width
from cprsim.studies.paired import PairedDifference, compare_all
from cprsim.studies.slope import Slope, fit_slope, seed_slopes

#: What tells the points of a study apart.
POINT: Final = ["policy", "system", "failures", "servers_hit", "servers"]
Floats = NDArray[np.float64]
#: A line is fitted to points whose mean PLS is at most that, where nobody says otherwise. Chosen:
#: far above what CPR accepts by default (0.1), and drops are nearly in proportion up to there.
LINEAR_UP_TO: Final = 1.5
_TAKEN: Final = [*POINT, "seed", "auc", "pls", "updates_lost"]
_MEASURES: Final = ("pls", "updates_lost", "auc", "auc_drop")


def read_runs(path: Path) -> pd.DataFrame:
    """The table of runs that `cprsim study` left, `auc_drop` added; seeds that are whole alone.

    Raises
    ------
    UsageError
        Where it is no such table, or holds no two whole seeds.
    """
    try:
        table = pd.read_csv(path, dtype={"policy": object, "system": object})
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; give the folder of `cprsim study`") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None
    missing = [column for column in _TAKEN if column not in table]
    if missing:
        raise UsageError(f"{path}: no column {missing[0]!r}; give the runs.csv of `cprsim study`")
    return with_drops(table, str(path))


def with_drops(table: pd.DataFrame, what: str) -> pd.DataFrame:
    """Whole seeds, and by how much their runs are less accurate than the one without failures."""
    kinds = table.groupby("seed").size()
    whole = kinds.index[kinds == table.groupby(POINT).ngroups]
    table = table[table["seed"].isin(whole)].sort_values([*POINT, "seed"], kind="stable")
    unharmed = table[table["failures"] == 0].set_index("seed")["auc"]
    if len(unharmed) < max(2, len(whole)):
        raise UsageError(
            f"{what}: {len(unharmed)} seeds have all their runs and one without failures; two are "
            "needed at least"
        )
    drops = table["seed"].map(unharmed).to_numpy() - table["auc"].to_numpy()
    return table.assign(auc_drop=drops).reset_index(drop=True)


def points(table: pd.DataFrame) -> pd.DataFrame:
    """A row a point: means over the seeds, with 95 % intervals, `_low` to `_high`."""
    rows = []
    for key, runs in table[table["failures"] > 0].groupby(POINT, sort=False):
        row: dict[str, Any] = dict(zip(POINT, key, strict=True))
        for measure in _MEASURES:
            values = runs[measure].to_numpy(dtype=np.float64)
            mean, half = values.mean(), float(half_width(values))
            row |= {measure: mean, f"{measure}_low": mean - half, f"{measure}_high": mean + half}
        rows.append(row | {"seeds": len(runs)})
    found = pd.DataFrame(rows)
    return found.sort_values(["servers_hit", "failures"], kind="stable").reset_index(drop=True)


def slopes(table: pd.DataFrame, linear_up_to: float = LINEAR_UP_TO) -> dict[str, Slope]:
    """The slope of each system that loses samples, of points that hit one server a failure.

    Those whose mean PLS is at most `linear_up_to`.
    """
    found = {}
    one = table[table["servers_hit"] == 1]
    for system, runs in one.groupby("system", sort=False):
        pls, drops = _by_seed(runs, linear_up_to)
        if pls.size:
            found[str(system)] = fit_slope(pls, drops)
    return found


def _by_seed(runs: pd.DataFrame, linear_up_to: float) -> tuple[Floats, Floats]:
    """PLS and drops, shape (seeds, points), of the points that a line is fitted to."""
    runs = runs[runs["failures"] > 0]
    columns = ["policy", "failures", "servers_hit"]
    pls, drops = (
        runs.pivot_table(values=values, index="seed", columns=columns).to_numpy(np.float64)
        for values in ("pls", "auc_drop")
    )
    mean = pls.mean(axis=0)
    within = (mean > 0) & (mean <= linear_up_to)
    return pls[:, within], drops[:, within]


def compared_at(table: pd.DataFrame) -> pd.DataFrame:
    """The runs of the point at which there are the most policies; of such, with the most loss."""
    struck = table[table["failures"] > 0]
    at = ["failures", "servers_hit"]
    counts = struck.groupby(at)["policy"].nunique().reset_index()
    best = counts.sort_values(["policy", *at]).iloc[-1]
    return struck[(struck[at] == best[at]).all(axis=1)]


def policy_differences(table: pd.DataFrame) -> list[PairedDifference]:
    """AUC of each policy less that of each less accurate one, at `compared_at`, paired by seed."""
    aucs = compared_at(table).pivot_table(values="auc", index="seed", columns="policy")
    order = aucs.mean(axis=0).sort_values(ascending=False, kind="stable").index
    return compare_all({str(name): aucs[name].to_numpy(dtype=np.float64) for name in order})


def share_differences(
    table: pd.DataFrame, linear_up_to: float = LINEAR_UP_TO
) -> list[PairedDifference]:
    """How much AUC a unit of PLS costs where more servers fail at once, less that of fewer.

    Paired by seed, under the policy that has such points; empty if none has. Slopes and not AUCs,
    since as many failures don't lose the same number of samples each time.
    """
    several = table[table["servers_hit"] > 1]
    runs = table[table["policy"].isin(several["policy"].head(1))]
    servers = table["servers"].iloc[0]
    found = {}
    for hit, those in runs.groupby("servers_hit"):
        pls, drops = _by_seed(those, linear_up_to)
        if pls.size:
            found[f"{hit} of {servers}"] = seed_slopes(pls, drops)
    return compare_all(dict(reversed(found.items())))
