"""A sweep as it is stored, finished or not: a table, its replications, a document."""

import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import UsageError
from cprsim.runs.measures import PLANNED, Basis, measured, measures_of
from cprsim.runs.notebook import dataset, notebook_html, percent
from cprsim.runs.result import entry, in_currency
from cprsim.runs.selection.bounds import Quality
from cprsim.runs.summaries import statistics, tidy
from cprsim.sim.engine import COLUMNS
from cprsim.sweeps.best import Played, SweepVerdict, choices, sweep_verdicts, tabulated
from cprsim.sweeps.phase_map import phase_map
from cprsim.sweeps.points import Point
from cprsim.sweeps.store import reading, results_of, stored_definition, stored_points
from cprsim.sweeps.tasks import PointPlan
from cprsim.sweeps.values import si_column

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


#: Rows of its table that a notebook shows.
_SHOWN = 20
#: Points whose rows are summed up together.
_BLOCK = 64
_PLAN = ("policy", "system", "recovery", "interval_s")
#: The first columns of the table.
_HEAD = ("point", *_PLAN, "replications")


@dataclass(frozen=True, repr=False)
class Sweep:
    """The sweep in a folder.

    Examples
    --------
    >>> vary = {"failures.mean": "10 h,20 h"}
    >>> done = cprsim.sweep("quickstart", "swept", vary, ["full"], 5, engine="sim")
    >>> cprsim.Sweep("swept").table["failures.mean_s"].tolist()
    [36000.0, 72000.0]
    """

    folder: str | Path

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The request: `title`, `keys` that are varied, `policies`, `seed`, `rule`."""
        with reading(self.folder) as connection:
            return stored_definition(connection)

    @cached_property
    def points(self) -> list[Point]:
        """All points, in order."""
        with reading(self.folder) as connection:
            return stored_points(connection)

    @property
    def currency(self) -> str | None:
        """The currency of `cost`; None where nothing has a price."""
        return self.definition.get("currency")  # which an older cprsim didn't write

    @property
    def failures(self) -> list[Point]:
        """Points that failed, under all policies."""
        return [point for point in self.points if point.error]

    @property
    def failed_in_part(self) -> list[Point]:
        """Points that failed under some policies; the others have results there."""
        return [point for point in self.points if point.errors and not point.error]

    @property
    def unfinished(self) -> int:
        """Number of points that are still to be done."""
        return sum(point.to_do for point in self.points)

    @property
    def too_wide(self) -> int:
        """Number of points where replications ran out before `half_width` was reached."""
        width = self.definition["rule"]["half_width"]
        if width is None:
            return 0
        table = self.table
        most = (1 + 1e-9) * width * table["overhead"].abs()  # as it is rounded
        wide = table["overhead_high"] - table["overhead"] > most
        return int(table.loc[wide, "point"].nunique())

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a point and policy, for all points that are finished.

        `point`; what is varied, quantities in SI units, which the columns' names have (a value
        `"14 h"` of `failures.mean` is 50400.0 under `failures.mean_s`); `policy`, and of its plan
        `system`, `recovery`, `interval_s`; how many `replications`; all that
        `Result.summary` has; and `error`, which says why a point, or the policy there, failed and
        is empty else.
        """
        rows: list[dict[str, Any]] = []
        summed: list[tuple[list[int], dict[str, NDArray[np.float64]]]] = []
        with reading(self.folder) as connection:
            for start in range(0, len(self.points), _BLOCK):
                played: dict[int, list[tuple[int, NDArray[np.float64], Basis]]] = defaultdict(list)
                for point in self.points[start : start + _BLOCK]:
                    for row, own, basis in self._rows(connection, point):
                        if own is not None and basis is not None:
                            row["replications"] = own.shape[1]
                            played[own.shape[1]].append((len(rows), own, basis))
                        rows.append(row)
                for places, values, bases in (zip(*each, strict=True) for each in played.values()):
                    summed.append((list(places), _summaries(np.stack(values), bases)))
        found: dict[str, Any] = {name: [row.get(name, math.nan) for row in rows] for name in _HEAD}
        # Measures are the same at all points: all have prices, or none has.
        for name in summed[0][1] if summed else _summaries(*_NOTHING):
            found[name] = np.full(len(rows), math.nan)
            for at, columns in summed:
                found[name][at] = columns[name]
        found["error"] = [row["error"] for row in rows]
        kinds = dict.fromkeys(("policy", "system", "recovery", "error"), "object")
        kinds |= {"point": "int64", "interval_s": "float64", "replications": "Int64"}
        # What failed has no number there, and a whole number can't be none.
        failed = any(point.error or point.errors for point in self.points)
        kinds["spares"] = "float64" if failed else "int64"
        table = pd.DataFrame(found).astype(kinds)
        for place, (name, varied) in enumerate(self._varied.items()):
            # A whole section may be varied that is called like a measure.
            heading = f"{name} (varied)" if name in found else name
            table.insert(1 + place, heading, varied[table["point"].to_numpy()])
        return table

    def _rows(
        self, connection: sqlite3.Connection, point: Point
    ) -> Iterator[tuple[dict[str, Any], NDArray[np.float64] | None, Basis | None]]:
        """Yield a row a policy, with its replications; none for a point still to be done."""
        if point.error:
            for policy in self.definition["policies"]:
                error = point.errors.get(policy, point.error)
                yield {"point": point.number, "policy": policy, "error": error}, None, None
        elif point.finished:
            plans, every = results_of(connection, point.number)
            for name, plan in plans.items():
                row = {each: getattr(plan, each) for each in _PLAN}
                row |= {"point": point.number, "error": point.errors.get(name, "")}
                yield row, every.get(name), plan.basis

    def replications(self, point: int) -> pd.DataFrame:
        """Return the replications of one point, as `Result.replications` has them.

        Policies that failed there are left out. Row i of every other was played on the same
        failure timeline, also at other points with the same failures: differences between policies
        are paired.
        """
        plans, every = self._results(point)
        values = np.stack([*every.values()], axis=1).transpose(2, 1, 0)
        return tidy([*every], values, COLUMNS, [plans[name].basis for name in every])

    def played(self, point: int) -> list[Played]:
        """Return plan and measures of each policy at one point, in the order of the policies.

        Those that failed there are left out.
        """
        plans, every = self._results(point)
        return [
            Played(
                plans[name],
                point,
                choices(self.points[point], name),
                measures=measured(of, plans[name].basis),
                corrupt=float(of["corrupt"].mean()),
            )
            for name, values in every.items()
            for of in [_by_column(values)]
        ]

    def best(
        self,
        max_pls: float | None = None,
        max_updates_lost: float | None = None,
        max_learning_lost: float | None = None,
    ) -> pd.DataFrame:
        """Return the best policy, with its best choices, under all circumstances that are varied.

        What is varied under `policies.NAME` is a choice of that policy; points that differ in
        choices alone make one row. The best is the candidate (a policy with its choices) with the
        least mean overhead. Rows of points that are still to be done are left out.

        Parameters
        ----------
        max_pls, max_updates_lost, max_learning_lost
            Candidates that surely lose more than this share in the mean are left out, and the best
            is one that surely doesn't, if there is one.

        Returns
        -------
        pandas.DataFrame
            `point`, where the best was played; the circumstances, as in `table`; `policy`; its
            choices, empty where they are another policy's; of its plan `system`, `recovery`,
            `interval_s`; `replications`; `overhead`, `pls`, `updates_lost` and `learning_lost` with
            their 95 % intervals; `runner_up`, and by how much its overhead is larger: `margin`,
            `margin_low`, `margin_high`, an interval that allows for all comparisons, empty where
            too little was met for one; `verdict`: `best`, `tied` (no other is better by more than
            0.1 points), `undecided`, `none` (no candidate is within the bounds) or `failed`; `why`
            it is undecided: `failures` (too few were met), `bound` (whether one is met) or
            `margin`; the same as a sentence, `told`; the candidates that aren't surely worse,
            `tied_with`, or differ in nothing, `same_as`, and policies among the former, `rivals`;
            how many `candidates` are or may be within the bounds, how many points `failed`,
            candidates that are `left_out` since they failed where others didn't, and the `error` if
            all did.

        Raises
        ------
        UsageError
            If a bound is no share.
        """
        return tabulated(
            self.verdicts(Quality(max_pls, max_updates_lost, max_learning_lost)),
            [p.values for p in self.points],
        )

    def figure(
        self,
        name: str = "phase",
        at: Mapping[str, Any] | None = None,
        max_pls: float | None = None,
        max_updates_lost: float | None = None,
        max_learning_lost: float | None = None,
    ) -> "Figure":
        """Draw a picture of the sweep; `"phase"`: a map of which policy is best.

        Parameters
        ----------
        name
            `"phase"` is the only one.
        at
            Of the values that are varied those to keep: `{"costs.save": "30 s"}`. What is left may
            vary in one or two of the circumstances.
        max_pls, max_updates_lost, max_learning_lost
            As in `best`.

        Raises
        ------
        UsageError
            If there is no such picture, a bound is no share, or nothing or too much is left.
        """
        if name != "phase":
            raise UsageError(f"figure {name!r}: a sweep has none of that name; known: phase")
        limits = max_pls, max_updates_lost, max_learning_lost
        return phase_map(self, self.best(*limits), at or {}, str(Quality(*limits)))

    def verdicts(self, quality: Quality) -> list[SweepVerdict]:
        """Return the rows of `best`."""
        return list(sweep_verdicts(self.definition["keys"], self.points, self.played, quality))

    def _results(self, point: int) -> tuple[dict[str, PointPlan], dict[str, NDArray[np.float64]]]:
        """Return plans at a point, and replications by `COLUMNS` of policies that didn't fail."""
        point = int(point)  # of a table it is NumPy's, which SQLite takes for bytes
        stored = self.points[point] if 0 <= point < len(self.points) else None
        if stored is None or not stored.finished:
            raise UsageError(f"point {point!r} has no results; it failed, or there is none")
        with reading(self.folder) as connection:
            return results_of(connection, point)

    def to_xarray(self) -> "xarray.Dataset":
        """Return the table as labelled arrays, a variable a column.

        Where all combinations of what is varied are points, a cube: a dimension for each of them,
        in SI units, and `policy`. Else over `point` and `policy`, and what is varied are variables
        like the others. Not a number where a point is still to be done.

        Raises
        ------
        UsageError
            Where xarray is not installed.
        """
        varied = self._varied
        sides = {name: pd.unique(values) for name, values in varied.items()}
        told = {key: self.definition[key] for key in ("title", "seed")}
        policies = {"policy": self.definition["policies"]}
        points = pd.DataFrame(varied)
        if math.prod(map(len, sides.values())) == len(points) and not points.duplicated().any():
            return dataset(self.table.drop(columns="point"), sides | policies, told)
        numbers = [point.number for point in self.points]
        return dataset(self.table, {"point": numbers} | policies, told)

    @cached_property
    def _varied(self) -> dict[str, NDArray[Any]]:
        """Values at each point of what is varied, by its column in the table."""
        keys = self.definition["keys"]
        return dict(si_column(key, [each.values[key] for each in self.points]) for key in keys)

    def __repr__(self) -> str:
        title, policies = self.definition["title"], ", ".join(self.definition["policies"])
        return f"<Sweep {title!r} in {self.folder}: {self._done}; {policies}>"

    @property
    def _done(self) -> str:
        done = len(self.points) - self.unfinished
        return f"{done:,} of {len(self.points):,} points" if self.unfinished else f"{done:,} points"

    def _repr_html_(self) -> str:
        keys, shown = list(self._varied), self.table.head(_SHOWN)
        written = shown[keys].map(
            lambda cell: f"{cell:g}" if isinstance(cell, float) else f"{cell}"
        )
        half = shown["overhead_high"] - shown["overhead"]
        shares = (each.map(percent) for each in (shown["overhead"], half, shown["pls"]))
        columns = *(written[key] for key in keys), shown["policy"], *shares, shown["error"]
        rows = list(zip(*columns, strict=True))
        left = len(self.table) - len(rows)
        headings = (*keys, "policy", "overhead %", "± 95 %", "PLS %", "error")
        more = [f"and {left:,} more rows; see its table"] if left > 0 else []
        return notebook_html(self.definition["title"], self._done, headings, rows, more)

    def document(self) -> dict[str, Any]:
        """Return the sweep as one JSON document; numbers that are not finite are null."""
        entries: dict[int, dict[str, Any]] = {}
        for row in self.table.to_dict("records"):
            if not row["error"]:
                counted = {"replications": int(row["replications"]), **entry(row)}
                entries.setdefault(row["point"], {})[row["policy"]] = counted
        return {
            "scenario": self.definition["title"],
            "seed": self.definition["seed"],
            **in_currency(self.currency),
            **{key: self.definition["rule"][key] for key in ("replications", "half_width")},
            "out": str(self.folder),
            "failed": len(self.failures),
            "failed_in_part": len(self.failed_in_part),
            "points": [
                {
                    "point": each.number,
                    "values": each.values,
                    "error": each.error,
                    "errors": each.errors,
                    "policies": entries.get(each.number, {}),
                }
                for each in self.points
                if not each.to_do
            ],
        }


def _summaries(
    values: NDArray[np.float64], bases: Sequence[Basis]
) -> dict[str, NDArray[np.float64]]:
    """Return columns of rows, from replications of shape (rows, len(COLUMNS), replications)."""
    of, basis = _by_column(values.swapaxes(0, 1)), Basis(*np.array(bases).T[..., None])
    found, measures = measured(of, basis), measures_of(bases[0])
    causes = np.stack([of[cause] for cause in OVERHEAD_CAUSES]).mean(axis=-1)
    return {
        **statistics(np.stack([found[name] for name in measures]), measures),
        **dict(zip(OVERHEAD_CAUSES, causes / basis.useful_s[:, 0], strict=True)),
        **{name: getattr(basis, name)[:, 0] for name in PLANNED},
    }


def _by_column(values: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    return dict(zip(COLUMNS, values, strict=True))


#: Replications and basis of ones: what is worked out of them has the columns of any other table.
_NOTHING = np.ones((1, len(COLUMNS), 1)), [Basis.filled(1.0)]
