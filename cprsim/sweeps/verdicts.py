"""Verdicts of a sweep as a tidy table, and as entries of a JSON document."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from cprsim.runs.summaries import Mean, finite
from cprsim.sweeps.best import TOLD, SweepVerdict, circumstances, policy_and_rest
from cprsim.sweeps.values import si_column

_PLAN = ("policy", "system", "recovery", "interval_s")
_COLUMNS = (
    *_PLAN,
    "replications",
    *(f"{measure}{end}" for measure in TOLD for end in ("", "_low", "_high")),
    *("runner_up", "margin", "margin_low", "margin_high"),
    *("verdict", "why", "told", "tied_with", "same_as", "rivals"),
    *("candidates", "failed", "left_out", "error"),
)


def tabulated(verdicts: Sequence[SweepVerdict], points: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return a row a verdict; `points`: the values of all points of the sweep."""
    table = pd.DataFrame([_row(each) for each in verdicts], columns=["point", *_COLUMNS])
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


def _row(verdict: SweepVerdict) -> dict[str, Any]:
    certificate, best, labels = verdict.certificate, verdict.best, verdict.labels
    rivals = dict.fromkeys(each.plan.policy for each in verdict.tied)
    row: dict[str, Any] = {
        "point": verdict.point,
        "verdict": verdict.verdict,
        "why": certificate.why,
        "told": verdict.told,
        "tied_with": tuple(each.label for each in verdict.tied),
        "same_as": tuple(labels[i] for i in certificate.same),
        # Empty where the policy is clear, if not its choices.
        "rivals": tuple(each for each in rivals if best and each != best.plan.policy),
        "candidates": sum(each is not False for each in certificate.kept),
        "failed": verdict.failed,
        "left_out": verdict.left_out,
        "error": verdict.error,
    }
    if best is not None:
        row |= {name: getattr(best.plan, name) for name in _PLAN} | verdict.statistics
        row["replications"] = certificate.replications
    rival = certificate.runner_up
    if rival is not None:
        row["runner_up"], row["margin"] = labels[rival.candidate], rival.margin
        # Infinite where too few failures were met.
        row["margin_low"] = rival.low if math.isfinite(rival.low) else math.nan
        row["margin_high"] = rival.high if math.isfinite(rival.high) else math.nan
    return row


def entries(verdicts: Sequence[SweepVerdict]) -> list[dict[str, Any]]:
    """Return a list for JSON; numbers that are not finite are null."""
    return [_entry(verdict, _row(verdict)) for verdict in verdicts]


def _entry(verdict: SweepVerdict, row: dict[str, Any]) -> dict[str, Any]:
    found = {
        "point": verdict.point,
        "values": verdict.values,
        **{name: row[name] for name in ("verdict", "why", "told", "candidates", "failed")},
        "left_out": list(verdict.left_out),
        "error": verdict.error or None,
    }
    if verdict.best is None:
        return found
    return found | {
        "policy": row["policy"],
        "choices": verdict.best.choices,
        "corrupt": verdict.best.corrupt,
        **{name: row[name] for name in ("system", "recovery", "replications")},
        "interval_s": finite(row["interval_s"]),
        **{name: _interval(row, name) for name in TOLD},
        "runner_up": row.get("runner_up"),
        "margin": _interval(row, "margin"),
        **{name: list(row[name]) for name in ("tied_with", "same_as", "rivals")},
    }


def _interval(row: dict[str, Any], name: str) -> dict[str, Any]:
    ends = (row.get(f"{name}{end}", math.nan) for end in ("", "_low", "_high"))
    return Mean(*ends).document()
