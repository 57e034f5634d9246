"""Answers of a sweep as a tidy table, and as entries of a JSON document."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from cprsim.runs.result import finite
from cprsim.sweeps.best import TOLD, Answer, circumstances, policy_and_rest
from cprsim.sweeps.columns import si_column

_PLAN = ("policy", "system", "recovery", "interval_s")
_COLUMNS = (
    *_PLAN,
    "replications",
    *(f"{measure}{end}" for measure in TOLD for end in ("", "_low", "_high")),
    "runner_up",
    "margin",
    "margin_low",
    "margin_high",
    "verdict",
    "tied_with",
    "same_as",
    "rivals",
    "candidates",
    "failed",
    "error",
)


def tabulated(answers: Sequence[Answer], points: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """A row an answer; `points`: the values of all points of the sweep."""
    table = pd.DataFrame([_row(each) for each in answers], columns=["point", *_COLUMNS])
    table = table.astype({"point": "int64", "replications": "Int64"})
    asked = circumstances(list(points[0]))
    for key in points[0]:
        name, column = si_column(key, [values[key] for values in points])
        cells = pd.Series(column[table["point"].to_numpy()])
        if key in asked:
            place = "policy"
        else:
            place, cells = "system", cells.where(table["policy"] == policy_and_rest(key)[0])
        table.insert(table.columns.tolist().index(place), name, cells)
    return table


def entries(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """As a list for JSON; numbers that are not finite are null."""
    return [_entry(each) for each in answers]


def _row(answer: Answer) -> dict[str, Any]:
    row = {
        "point": answer.point,
        "verdict": answer.verdict,
        "tied_with": tuple(each.label for each in answer.tied),
        "same_as": tuple(each.label for each in answer.same),
        "rivals": tuple(answer.rivals),
        "candidates": len(answer.candidates),
        "failed": answer.failed,
        "error": answer.error,
    }
    if answer.best is None or answer.comparison is None:
        return row
    return row | {
        **{name: getattr(answer.best, name) for name in _PLAN},
        "replications": answer.replications,
        **answer.statistics,
        "runner_up": answer.runner_up.label if answer.runner_up else None,
        "margin": answer.comparison.margin,
        "margin_low": answer.comparison.low,
        "margin_high": answer.comparison.high,
    }


def _entry(answer: Answer) -> dict[str, Any]:
    row = _row(answer)
    found = {
        "point": answer.point,
        "values": answer.values,
        "verdict": answer.verdict,
        "candidates": len(answer.candidates),
        "failed": answer.failed,
        "error": answer.error or None,
    }
    if answer.best is None:
        return found
    return found | {
        "policy": answer.best.policy,
        "choices": answer.best.choices,
        **{name: row[name] for name in ("system", "recovery", "replications")},
        "interval_s": finite(row["interval_s"]),
        **{name: _interval(row, name) for name in TOLD},
        "runner_up": row["runner_up"],
        "margin": _interval(row, "margin"),
        **{name: list(row[name]) for name in ("tied_with", "same_as", "rivals")},
    }


def _interval(row: dict[str, Any], name: str) -> dict[str, Any]:
    ends = [finite(row[f"{name}{end}"]) for end in ("_low", "_high")]
    return {"mean": finite(row[name]), "ci95": ends}
