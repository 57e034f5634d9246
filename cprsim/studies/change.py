"""How much of the movement of rows a run loses, to first order: a guess that takes no training."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.advice.row_loss import row_losses
from cprsim.basics.owned import owned_folder
from cprsim.contract.expected import expected
from cprsim.policies.cpr import Cpr
from cprsim.rows.readers import CURVE_HEADER
from cprsim.scenario import Scenario
from cprsim.trainer.data import Data
from cprsim.trainer.section import TrainerSection

#: Points of the curve of a table whose accesses are counted. Chosen: a class of rows of the row
#: model is about as wide.
_CURVE_POINTS = 200


def with_change(runs: pd.DataFrame, per_pls: Mapping[str, float]) -> pd.DataFrame:
    """The table of runs with a column `change_lost`: PLS times `change_per_pls` of the policy.

    As PLS, it counts what is lost twice as often, and so may be above 1. Not a number for policies
    of which it isn't known, unless they lose nothing. This form was chosen with the planted study's
    runs at hand, so how well it does on these is no test of it.
    """
    lost = runs["pls"] * runs["policy"].map(dict(per_pls)).astype(float)
    return runs.assign(change_lost=lost.where(runs["pls"] > 0, 0.0))


def change_per_pls(scenario: Scenario, section: TrainerSection) -> dict[str, float]:
    """Share of all movement of rows that a unit of PLS loses, by name of CPR's policies.

    By the mean field of `cprsim rows`, under Adagrad, since that is what the trainer trains with.
    Samples that come from files have their accesses counted for it.
    """
    names = [name for name, each in scenario.policies.items() if isinstance(each, Cpr)]
    if not names:
        return {}
    with owned_folder() as folder:
        mapping = scenario.mapping()
        model: dict[str, Any] = mapping["model"] | {"optimizer_rule": "adagrad"}
        if section.recorded is not None:
            model["tables"] = [
                table | {"skew": {"curve": str(_written(folder / str(number), accesses))}}
                for number, (table, accesses) in enumerate(
                    zip(model["tables"], _accesses(section.recorded), strict=True)
                )
            ]
        rows = Scenario(**mapping | {"model": model})
        losses = row_losses(rows, names).policies
    found = {}
    for name, each in losses.items():
        pls = expected(rows.plan(name), rows.context).pls
        if pls > 0 and math.isfinite(pls):
            found[name] = each.change_lost / pls
    return found


def _accesses(data: Data) -> list[NDArray[np.int64]]:
    """Of each table how often each row is accessed in training, shape (rows,)."""
    counts = [np.zeros(table.rows, dtype=np.int64) for table in data.tables]
    for step in range(data.steps):
        for table, ids in enumerate(data.batch(step).sparse.T):
            counts[table] += np.bincount(ids, minlength=counts[table].size)
    return counts


def _written(path: Path, accesses: NDArray[np.int64]) -> Path:
    """A file with the curve of a table: what share of its rows gets what share of the accesses."""
    ranked = np.sort(accesses)[::-1]
    shares = np.cumsum(ranked) / ranked.sum()
    ranks = np.unique(np.geomspace(1, ranked.size, _CURVE_POINTS).astype(np.int64))
    points = [f"{rank / ranked.size!r},{float(shares[rank - 1])!r}" for rank in ranks.tolist()]
    path.write_text("\n".join([",".join(CURVE_HEADER), *points, ""]), encoding="utf-8")
    return path
