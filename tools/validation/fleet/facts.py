"""Known facts on the jobs of CPR's production fleet, and the distance of our jobs from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from cprsim.basics.units import SECONDS
from cprsim.runs.fleet_result import at_percentiles

JOBS: Final = 17_000
YEAR_S: Final = 365.25 * SECONDS["d"]
_CAUSES: Final = {"save": "saving", "lost": "lost computation", "reschedule": "rescheduling"}


@dataclass(frozen=True)
class Fact:
    """Something known of the jobs of the paper.

    Parameters
    ----------
    key
        Of what `measured` gives.
    words
        What it is.
    reported
        As the sources have it.
    low, high
        Within which it holds, in percent, or in the unit of the words.
    source
        `stated`: in texts about the paper that were read; `recalled`: remembered, not checked.
    """

    key: str
    words: str
    reported: str
    low: float
    high: float
    source: str

    def off(self, value: float) -> float:
        """Return the distance of a value from the range; 0 within."""
        return min(value - self.low, 0.0) + max(value - self.high, 0.0)

    def row(self, value: float) -> tuple[str, ...]:
        """Return the cells of the table, given the fleet's value."""
        places = 0 if value >= 1000 else 2
        off = self.off(value)
        shown = "within" if off == 0 else f"{off:+.{places}f}"
        return self.words, self.reported, self.source, f"{value:,.{places}f}", shown


#: Of the jobs' overhead, in percent.
SHARES: Final = (
    Fact("mean", "mean overhead, %", "12 to 13", 12.0, 13.0, "12 stated, 13 recalled"),
    Fact("p90", "overhead at P90, %", "over 30", 30.0, np.inf, "recalled"),
    Fact("p95", "overhead at P95, %", "up to 43 (worst 5 %)", 43.0, 43.0, "stated"),
    Fact("save at 75", "saving at P75, %", "8.8", 8.8, 8.8, "recalled"),
    Fact("lost at 90", "lost computation at P90, %", "13.2", 13.2, 13.2, "recalled"),
    Fact("reschedule at 95", "rescheduling at P95, %", "23.3", 23.3, 23.3, "recalled"),
)
#: What the mean number of trainers alone decides.
YEARS: Final = Fact("years", "machine-years beyond useful", "1,156", 1156.0, 1156.0, "stated")
#: How far the fit may be from it, 5 %.
YEARS_WITHIN: Final = 60.0
FACTS: Final = (*SHARES, YEARS)
#: The largest part of the overhead of the jobs around a percentile.
DOMINANT: Final = {75: "saving", 90: "lost computation", 95: "rescheduling"}
#: How many numbers `misses` gives.
MISSES: Final = len(SHARES) + len(DOMINANT)


def measured(table: pd.DataFrame) -> dict[str, float]:
    """The facts as jobs under one policy have them, in percent and machine-years of 17,000 jobs."""
    overhead = 100 * table["overhead"]
    beyond_s = table["nodes"] * (table["wall_s"] - table["useful_s"])
    at = at_percentiles(table)
    return {
        "mean": float(overhead.mean()),
        **{f"p{p}": float(np.percentile(overhead, p)) for p in (50, 75, 90, 95, 99)},
        **{f"{cause} at {row['percentile']}": 100 * row[cause] for row in at for cause in _CAUSES},
        "years": float(beyond_s.mean()) * JOBS / YEAR_S,
    }


def dominant(found: Mapping[str, float], percentile: int) -> str:
    """The cause that takes most of the jobs around a percentile."""
    return _CAUSES[max(_CAUSES, key=lambda cause: found[f"{cause} at {percentile}"])]


def misses(found: Mapping[str, float]) -> list[float]:
    """By how many percentage points each fact is missed, those of what dominates last.

    Of those: by how much the largest cause exceeds the one that is reported to be.
    """
    shares = [fact.off(found[fact.key]) for fact in SHARES]
    for percentile, words in DOMINANT.items():
        parts = {name: found[f"{cause} at {percentile}"] for cause, name in _CAUSES.items()}
        shares.append(max(parts.values()) - parts[words])
    return shares


def distance(found: Mapping[str, float]) -> float:
    """Return the distance of jobs from the facts: the root of the sum of squared `misses`."""
    return math.hypot(*misses(found))
