"""A sweep as it is stored, finished or not: a table, its replications, a document."""

import json
import sqlite3
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
from cprsim.runs.measures import MEASURES, PLANNED, Basis, measured
from cprsim.runs.result import entry
from cprsim.runs.summaries import statistics, tidy
from cprsim.sim.engine import COLUMNS
from cprsim.sweeps.best import Quality, SweepVerdict, sweep_verdicts
from cprsim.sweeps.columns import si_column
from cprsim.sweeps.phase_map import phase_map
from cprsim.sweeps.played import Played, StoredPoint
from cprsim.sweeps.store import packed, reading, stored_definition
from cprsim.sweeps.tasks import unpack
from cprsim.sweeps.verdicts import tabulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PLAN = ("system", "recovery", "interval_s")
_STATISTICS = tuple(
    f"{measure}{suffix}" for measure in MEASURES for suffix in ("", "_low", "_high", "_p50", "_p95")
)


@dataclass(frozen=True)
class Sweep:
    """What is in the folder of a sweep."""

    folder: str | Path

    @cached_property
    def definition(self) -> dict[str, Any]:
        """What was asked for: `title`, `keys` that are varied, `policies`, `seed`, `rule`."""
        with reading(self.folder) as connection:
            return stored_definition(connection)

    @cached_property
    def points(self) -> list[StoredPoint]:
        """All points, in order."""
        with reading(self.folder) as connection:
            return _points(connection)

    @property
    def failures(self) -> list[StoredPoint]:
        """Points that failed."""
        return [point for point in self.points if point.error]

    @property
    def unfinished(self) -> int:
        """How many points are still to be done."""
        return sum(not (point.finished or point.error) for point in self.points)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a point and policy, for all points that are finished.

        `point`; what is varied, quantities in SI units, which the columns' names tell (a value
        `"14 h"` of `failures.mean` is 50400.0 under `failures.mean_s`); `policy`, and of its plan
        `system`, `recovery`, `interval_s`; how many `replications`; all that
        `Result.summary` has; and `error`, which says why a point failed and is empty else.
        """
        policies, keys = self.definition["policies"], self.definition["keys"]
        with reading(self.folder) as connection:
            points = _points(connection)
            rows = [row for point in points for row in _rows(connection, point, policies)]
        varied = {key: si_column(key, [point.values[key] for point in points]) for key in keys}
        columns = ["policy", *_PLAN, "replications", *_STATISTICS, *OVERHEAD_CAUSES, *PLANNED]
        table = pd.DataFrame(rows, columns=["point", *columns, "error"])
        table = table.astype({"point": "int64", "replications": "Int64"})
        for place, (name, values) in enumerate(varied.values()):
            table.insert(1 + place, name, values[table["point"].to_numpy()])
        return table

    def replications(self, point: int) -> pd.DataFrame:
        """The replications of one point, as `Result.replications` has them.

        Row i of every policy was played on the same failure timeline, also at other points with
        the same failures: differences between policies are paired.
        """
        key = self._with_results(point)
        policies = self.definition["policies"]
        with reading(self.folder) as connection:
            values = np.stack(_values(connection, key, policies), axis=1)
            bases = _bases(connection, key)
        return tidy(policies, values.transpose(2, 1, 0), COLUMNS, [bases[p] for p in policies])

    def played(self, point: int) -> list[Played]:
        """What came of each policy at one point, in the order of the policies."""
        key = self._with_results(point)
        policies = self.definition["policies"]
        with reading(self.folder) as connection:
            plans, values = _plans(connection, key), _values(connection, key, policies)
            bases = _bases(connection, key)
        return [
            Played(policy, measures=_measures(each, bases[policy]), **plans[policy])
            for policy, each in zip(policies, values, strict=True)
        ]

    def best(
        self, max_pls: float | None = None, max_updates_lost: float | None = None
    ) -> pd.DataFrame:
        """The best policy, with the best of its choices, under all circumstances that are varied.

        What is varied under `policies.NAME` is a choice of that policy; points that differ in
        choices alone make one row. The best is the candidate (a policy with its choices) with the
        least mean overhead. Rows of points that are still to be done are left out.

        Parameters
        ----------
        max_pls, max_updates_lost
            Candidates that lose more than this share in the mean are left out.

        Returns
        -------
        pandas.DataFrame
            `point`, where the best was played; the circumstances, as in `table`; `policy`; its
            choices, empty where they are another policy's; of its plan `system`, `recovery`,
            `interval_s`; `replications`; `overhead`, `pls` and `updates_lost` with their 95 %
            intervals; `runner_up`, and by how much its overhead is larger: `margin`, `margin_low`,
            `margin_high`, an interval that allows for all comparisons; `verdict`: `clear`, `tied`,
            `same` (nothing differs), `only` (one candidate), `unknown` (one replication), `none`
            (no candidate keeps to the bounds) or `failed`; the candidates it is `tied_with` or the
            `same_as`, and policies among the former, `rivals`; how many `candidates` there are, how
            many points `failed`, and the `error` if all did.

        Raises
        ------
        UsageError
            If a bound is no share.
        """
        return tabulated(
            self.verdicts(Quality(max_pls, max_updates_lost)), [p.values for p in self.points]
        )

    def figure(
        self,
        name: str = "phase",
        at: Mapping[str, Any] | None = None,
        max_pls: float | None = None,
        max_updates_lost: float | None = None,
    ) -> "Figure":
        """A picture of the sweep; `"phase"`: a map of which policy is best.

        Parameters
        ----------
        name
            `"phase"` is the only one.
        at
            Of the values that are varied those to keep: `{"costs.save": "30 s"}`. What is left may
            vary in one or two of the circumstances.
        max_pls, max_updates_lost
            As in `best`.

        Raises
        ------
        UsageError
            If there is no such picture, a bound is no share, or nothing or too much is left.
        """
        if name != "phase":
            raise UsageError(f"figure {name!r}: a sweep has none of that name; known: phase")
        best = self.best(max_pls, max_updates_lost)
        bounds = str(Quality(max_pls, max_updates_lost))
        return phase_map(self.definition, self.points, best, at or {}, bounds)

    def verdicts(self, quality: Quality) -> list[SweepVerdict]:
        """What `best` tabulates."""
        return list(sweep_verdicts(self.definition["keys"], self.points, self.played, quality))

    def _with_results(self, point: int) -> str:
        """The key of its results."""
        stored = self.points[point] if 0 <= point < len(self.points) else None
        if stored is None or stored.key is None or not stored.finished:
            raise UsageError(f"point {point!r} has no results; it failed, or there is none")
        return stored.key

    def document(self) -> dict[str, Any]:
        """The sweep as one JSON document; numbers that are not finite are null."""
        entries: dict[int, dict[str, Any]] = {}
        for row in self.table.to_dict("records"):
            if not row["error"]:
                counted = {"replications": int(row["replications"]), **entry(row)}
                entries.setdefault(row["point"], {})[row["policy"]] = counted
        return {
            "scenario": self.definition["title"],
            "seed": self.definition["seed"],
            **{key: self.definition["rule"][key] for key in ("replications", "half_width")},
            "out": str(self.folder),
            "failed": len(self.failures),
            "points": [
                {
                    "point": point.number,
                    "values": point.values,
                    "error": point.error,
                    "policies": entries.get(point.number, {}),
                }
                for point in self.points
                if point.finished or point.error
            ],
        }


def _points(connection: sqlite3.Connection) -> list[StoredPoint]:
    rows = connection.execute(
        'SELECT point, "values", points.key, useful_time_s, '
        "finished.key IS NOT NULL AND finished.error IS NULL, "
        "coalesce(points.error, finished.error) "
        "FROM points LEFT JOIN finished ON points.key = finished.key ORDER BY point"
    )
    return [
        StoredPoint(number, json.loads(values), key, useful_s, bool(finished), error)
        for number, values, key, useful_s, finished, error in rows
    ]


def _rows(
    connection: sqlite3.Connection, point: StoredPoint, policies: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """A row a policy; none for a point that is still to be done."""
    if point.error:
        for policy in policies:
            yield {"point": point.number, "policy": policy, "error": point.error}
    elif point.finished and point.key:
        plans = _plans(connection, point.key)
        bases = _bases(connection, point.key)
        everything = _values(connection, point.key, policies)
        for policy, values in zip(policies, everything, strict=True):
            yield {
                "point": point.number,
                "policy": policy,
                **plans[policy],
                "replications": values.shape[1],
                **_summary(values, bases[policy]),
                **{each: getattr(bases[policy], each) for each in PLANNED},
                "error": "",
            }


def _plans(connection: sqlite3.Connection, key: str) -> dict[str, dict[str, Any]]:
    rows = connection.execute(f"SELECT policy, {', '.join(_PLAN)} FROM plans WHERE key = ?", [key])
    return {policy: dict(zip(_PLAN, plan, strict=True)) for policy, *plan in rows}


def _bases(connection: sqlite3.Connection, key: str) -> dict[str, Basis]:
    rows = connection.execute("SELECT policy, basis FROM plans WHERE key = ?", [key])
    return {policy: Basis(**json.loads(text)) for policy, text in rows}


def _values(
    connection: sqlite3.Connection, key: str, policies: Sequence[str]
) -> list[NDArray[np.float64]]:
    """Of each policy, shape (len(COLUMNS), replications)."""
    blocks = packed(connection, key, policies).values()
    return [
        np.concatenate([unpack(block[i]) for block in blocks], axis=1) for i in range(len(policies))
    ]


def _measures(values: NDArray[np.float64], basis: Basis) -> NDArray[np.float64]:
    """Shape (len(MEASURES), replications)."""
    return np.stack([*measured(dict(zip(COLUMNS, values, strict=True)), basis).values()])


def _summary(values: NDArray[np.float64], basis: Basis) -> dict[str, float]:
    of = dict(zip(COLUMNS, values, strict=True))
    causes = {cause: float(of[cause].mean()) / basis.useful_s for cause in OVERHEAD_CAUSES}
    return statistics(_measures(values, basis)) | causes
