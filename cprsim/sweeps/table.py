"""The table of a sweep, a row a point and policy: as a whole, or in pieces of so many points."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.runs.measures import PLANNED, measured, measures_of
from cprsim.runs.summaries import statistics
from cprsim.sim.engine import COLUMNS
from cprsim.sweeps.columns import si_column
from cprsim.sweeps.plans import PointPlan
from cprsim.sweeps.store import StoredPoint, reading, results_of

_PLAN = ("system", "recovery", "interval_s")
_SUFFIXES = ("", "_low", "_high", "_p50", "_p95")


def tables(
    folder: str | Path,
    definition: Mapping[str, Any],
    points: Sequence[StoredPoint],
    size: int,
) -> Iterator[pd.DataFrame]:
    """Tables of so many points each, which are the whole one if they are put together.

    `points`: all of them. What a column is does not depend on the piece, so that its numbers are
    written in the same way in all of them.
    """
    varied = [si_column(key, [each.values[key] for each in points]) for key in definition["keys"]]
    # What failed has no number there, and a whole number can't be none.
    whole = "float64" if any(point.error or point.errors for point in points) else "int64"
    measures = _measures(folder, points, definition["policies"])
    numbers = [f"{measure}{suffix}" for measure in measures for suffix in _SUFFIXES]
    numbers += [*OVERHEAD_CAUSES, *PLANNED]
    columns = ["point", "policy", *_PLAN, "replications", *numbers, "error"]
    kinds = dict.fromkeys(("interval_s", *numbers), "float64")
    kinds |= dict.fromkeys(("policy", "system", "recovery", "error"), "object")
    kinds |= {"point": "int64", "replications": "Int64", "spares": whole}
    for start in range(0, max(len(points), 1), size):
        # A piece's own connection: whoever writes is held up no longer than that is read.
        with reading(folder) as connection:
            rows = [
                row
                for point in points[start : start + size]
                for row in _rows(connection, point, definition["policies"])
            ]
        table = pd.DataFrame(rows, columns=columns).astype(kinds)
        for place, (name, values) in enumerate(varied):
            # A whole section may be varied that is called like a measure.
            own = f"{name} (varied)" if name in columns else name
            table.insert(1 + place, own, values[table["point"].to_numpy()])
        yield table


def _measures(
    folder: str | Path, points: Sequence[StoredPoint], policies: Sequence[str]
) -> list[str]:
    """Those that the sweep has: all its points have prices, or none has."""
    for point in points:
        if point.finished:
            with reading(folder) as connection:
                plans, _ = results_of(connection, point, policies)
            return measures_of(plans[point.with_results(policies)[0]].basis)
    return measures_of()


def _rows(
    connection: sqlite3.Connection, point: StoredPoint, policies: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """A row a policy; none for a point that is still to be done."""
    if point.finished:
        plans, found = results_of(connection, point, policies)
        for name, plan in plans.items():
            planned = {each: getattr(plan, each) for each in _PLAN}
            told = _told(plan, found[name]) if name in found else {"error": point.errors[name]}
            yield {"point": point.number, "policy": name, **planned, **told}
    elif point.error:
        for policy in policies:
            error = point.errors.get(policy, point.error)
            yield {"point": point.number, "policy": policy, "error": error}


def _told(plan: PointPlan, values: NDArray[np.float64]) -> dict[str, Any]:
    """Return columns of a row, from replications of shape (len(COLUMNS), replications)."""
    of, basis = dict(zip(COLUMNS, values, strict=True)), plan.basis
    found, measures = measured(of, basis), measures_of(basis)
    return {
        "replications": values.shape[1],
        **statistics(np.stack([found[name] for name in measures]), measures),
        **{cause: float(of[cause].mean()) / basis.useful_s for cause in OVERHEAD_CAUSES},
        **{each: getattr(basis, each) for each in PLANNED},
        "error": "",
    }
