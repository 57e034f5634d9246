"""The results of a study: accuracy at each of its points, slopes, which policies differ, and why.

All functions take a table of runs: `seed`, `policy`, its `system`, `failures`, `servers_hit` by
each of them out of `servers`, `auc`, `pls`, `updates_lost`; `learning_lost` and `change_lost` where
these are known: runs of before have the second in place of the first.
Only seeds of which all runs are there count, so a study that isn't done yet can be looked at.
"""

import math
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from cprsim.errors import UsageError
from cprsim.runs.summaries import Mean
from cprsim.trainer.studies.paired import PairedDifference, compare, compare_all
from cprsim.trainer.studies.predictors import Contest, contest
from cprsim.trainer.studies.slope import Floats, Slope, fit_slopes, measured_ranges, seed_slopes

#: The columns that identify a point of a study.
POINT: Final = ["policy", "system", "failures", "servers_hit", "servers"]
#: A line is fitted to points whose mean PLS is at most that. Chosen: far above what CPR accepts by
#: default (0.1), and drops are nearly in proportion up to there.
LINEAR_UP_TO: Final = 1.5
#: Measures that may foretell how much accuracy is lost, in the order of tables.
PREDICTORS: Final = ("pls", "updates_lost", "learning_lost", "change_lost")
#: Points with which measures are held against each other, at least: a line goes through fewer.
_FEWEST_POINTS: Final = 3
_TAKEN: Final = [*POINT, "seed", "auc", "pls", "updates_lost"]
_MEASURES: Final = ("pls", "updates_lost", "auc", "auc_drop")


class Bend(NamedTuple):
    """The line of one system, range by range, and whether it bends.

    `difference`: of the slope of the first range less that of the last, paired by seed; none where
    points lie in one range alone.
    """

    ranges: list[Slope]
    difference: PairedDifference | None

    @property
    def applies(self) -> str:
        """The slope to use, in a few words."""
        if self.difference is None:
            return "the line: all points lie in one range"
        if self.difference.verdict == "different":
            return "that of the range: the line bends"
        if self.difference.is_equal:
            return "the line: the ranges agree within the margin"
        return "undecided: neither a bend nor a straight line is shown"


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
            row |= Mean.of(runs[measure].to_numpy(dtype=np.float64)).columns(measure)
        rows.append(row | {"seeds": len(runs)})
    found = pd.DataFrame(rows)
    return found.sort_values(["servers_hit", "failures"], kind="stable").reset_index(drop=True)


def slopes(table: pd.DataFrame) -> dict[str, Slope]:
    """The slope of each system that loses samples: see `by_system`."""
    return {system: fit_slopes(*by_seed)[0] for system, by_seed in by_system(table).items()}


def bends(table: pd.DataFrame) -> dict[str, Bend]:
    """The slopes of each system that loses samples by range of PLS; of all points, however large.

    Whether the first and the last differ is adjusted for the number of systems.
    """
    found, compared = {}, {}
    for system, (pls, drops) in by_system(table, np.inf).items():
        starts = measured_ranges(pls)
        found[system] = ranges = fit_slopes(pls, drops, starts)
        if len(starts) > 1:
            by_seed = seed_slopes(pls, drops, starts)
            compared[system] = ranges[0].name, ranges[-1].name, by_seed[:, 0] - by_seed[:, -1]
    differences = dict(zip(compared, compare([*compared.values()]), strict=True))
    return {system: Bend(ranges, differences.get(system)) for system, ranges in found.items()}


def by_system(table: pd.DataFrame, up_to: float = LINEAR_UP_TO) -> dict[str, tuple[Floats, Floats]]:
    """PLS and drops, shape (seeds, points), of each system that loses samples, seeds ascending.

    Of points that hit one server a failure, and whose mean PLS is at most `up_to`.
    """
    return _by_seed(table[table["servers_hit"] == 1], "system", up_to)


def _by_seed(
    runs: pd.DataFrame, column: str, up_to: float = LINEAR_UP_TO
) -> dict[Any, tuple[Floats, Floats]]:
    """The same by the values of a column."""
    found = {}
    for name, of in runs[runs["failures"] > 0].groupby(column, sort=False):
        pls, drops = _points_by_seed(of, "pls"), _points_by_seed(of, "auc_drop")
        mean = pls.mean(axis=0)
        within = (mean > 0) & (mean <= up_to)
        if within.any():
            found[name] = pls[:, within], drops[:, within]
    return found


def compared_at(table: pd.DataFrame) -> pd.DataFrame:
    """The runs of the point at which there are the most policies; of such, with the most loss."""
    struck = table[table["failures"] > 0]
    at = ["failures", "servers_hit"]
    counts = struck.groupby(at)["policy"].nunique().reset_index()
    best = counts.sort_values(["policy", *at]).iloc[-1]
    return struck[(struck[at] == best[at]).all(axis=1)]


def compared_aucs(table: pd.DataFrame) -> dict[str, Floats]:
    """AUC of each policy at `compared_at`, shape (seeds,), the most accurate policy first."""
    aucs = compared_at(table).pivot_table(values="auc", index="seed", columns="policy")
    order = aucs.mean(axis=0).sort_values(ascending=False, kind="stable").index
    return {str(name): aucs[name].to_numpy(dtype=np.float64) for name in order}


def comparisons(table: pd.DataFrame) -> list[tuple[str, int]]:
    """Return the comparisons with their numbers of differences; of planned runs as well.

    Of bends as many as there may be: only runs show which ranges have points.
    """
    several = table[table["servers_hit"] > 1]
    struck = table[table["failures"] > 0]
    shares = struck[struck["policy"].isin(several["policy"].head(1))]
    points = struck[struck["servers_hit"] == 1].groupby("system")["failures"].nunique()
    counts = {
        "differences between policies": math.comb(compared_at(table)["policy"].nunique(), 2),
        "differences by servers hit": math.comb(shares["servers_hit"].nunique(), 2),
        "bends of lines, at most": int((points > 1).sum()),
    }
    return [(what, count) for what, count in counts.items() if count]


def share_differences(table: pd.DataFrame) -> list[PairedDifference]:
    """Compare the AUC that a unit of PLS costs if more servers fail at once, and if fewer do.

    Paired by seed, under the policy that has such points; empty if none has. Slopes and not AUCs,
    since as many failures don't lose the same number of samples each time.
    """
    several = table[table["servers_hit"] > 1]
    runs = table[table["policy"].isin(several["policy"].head(1))]
    servers = table["servers"].iloc[0]
    slopes = {
        f"{hit} of {servers}": seed_slopes(*each)[:, 0]
        for hit, each in sorted(_by_seed(runs, "servers_hit").items(), reverse=True)
    }
    return compare_all(slopes)


def contests(table: pd.DataFrame) -> dict[str, Contest]:
    """Find the measure that foretells the drop of AUC: of equal failures, and of all points.

    Of points that lose samples, since all measures know that nothing is lost where none are; with
    fewer than three there is nothing to hold against each other.
    """
    found = {}
    for name, runs in (
        ("policies at the same failures", compared_at(table)),
        ("all points", table[table["failures"] > 0]),
    ):
        lossy = runs[runs.groupby(POINT)["pls"].transform("mean") > 0]
        if lossy.groupby(POINT).ngroups >= _FEWEST_POINTS:
            known = [each for each in PREDICTORS if each in lossy and lossy[each].notna().all()]
            measures = {each: _points_by_seed(lossy, each) for each in known}
            found[name] = contest(measures, _points_by_seed(lossy, "auc_drop"))
    return found


def _points_by_seed(runs: pd.DataFrame, measure: str) -> Floats:
    """Shape (seeds, points)."""
    return runs.pivot_table(values=measure, index="seed", columns=POINT).to_numpy(np.float64)
