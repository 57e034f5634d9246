"""Refresh the tables of docs/fleets.md: the known facts of CPR's fleet, and what ours gives.

Run `python -m tools.pages.fleets`, or `make validation`; it plays 17,000 jobs, which takes minutes.
Tests hold the page to the scenario as it is, and to fewer jobs played anew.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from cprsim.basics.units import SECONDS
from cprsim.fleets.fleet import Fleet, load_fleet
from cprsim.fleets.play import run_fleet
from cprsim.fleets.result import FleetResult, at_percentiles
from cprsim.scenario.mapping import load_mapping
from tools.paths import DOCS, SCENARIOS

PAGE: Final = DOCS / "fleets.md"
SCENARIO: Final = SCENARIOS / "production-fleet.toml"
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
        """How far a value lies outside; 0 within."""
        return min(value - self.low, 0.0) + max(value - self.high, 0.0)

    def row(self, value: float) -> str:
        """The line of the table, given what the fleet has."""
        places = 0 if value >= 1000 else 2
        off = self.off(value)
        shown = "within" if off == 0 else f"{off:+.{places}f}"
        cells = (self.words, self.reported, self.source, f"{value:,.{places}f}", shown)
        return f"| {' | '.join(cells)} |"


FACTS: Final = (
    Fact("mean", "mean overhead, %", "12 to 13", 12.0, 13.0, "12 stated, 13 recalled"),
    Fact("p90", "overhead at P90, %", "over 30", 30.0, np.inf, "recalled"),
    Fact("p95", "overhead at P95, %", "up to 43 (worst 5 %)", 43.0, 43.0, "stated"),
    Fact("save at 75", "saving at P75, %", "8.8", 8.8, 8.8, "recalled"),
    Fact("lost at 90", "lost computation at P90, %", "13.2", 13.2, 13.2, "recalled"),
    Fact("reschedule at 95", "rescheduling at P95, %", "23.3", 23.3, 23.3, "recalled"),
    Fact("years", "machine-years beyond useful", "1,156", 1156.0, 1156.0, "stated"),
)
#: The largest part of the overhead of the jobs around a percentile.
DOMINANT: Final = {75: "saving", 90: "lost computation", 95: "rescheduling"}


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


def dominant(found: dict[str, float], percentile: int) -> str:
    """The cause that takes most of the jobs around a percentile."""
    return _CAUSES[max(_CAUSES, key=lambda cause: found[f"{cause} at {percentile}"])]


def scenario_hash() -> str:
    """Of the scenario but for its comments and title."""
    mapping = load_mapping(SCENARIO)
    del mapping["title"]
    return hashlib.sha256(json.dumps(mapping, sort_keys=True).encode()).hexdigest()[:16]


def facts_table(found: dict[str, float]) -> str:
    """A row a fact: what is reported, what the fleet gives, by how much that is off."""
    rows = ["| fact | reported | source | the fleet | off by |", "|---|---|---|---|---|"]
    rows += [fact.row(found[fact.key]) for fact in FACTS]
    for percentile, cause in DOMINANT.items():
        ours = dominant(found, percentile)
        off = "within" if ours == cause else "another"
        rows.append(f"| what dominates at P{percentile} | {cause} | recalled | {ours} | {off} |")
    return "\n".join(rows) + "\n"


def laws_table(fleet: Fleet) -> str:
    """MTBFs and medians at both ends of the fleet's law."""
    rows = ["| of the times between failures | reported | the fleet |", "|---|---|---|"]
    law = fleet.drawn["failures", "mean"]
    ends = [law.ends[end] / SECONDS["h"] for end in ("min", "max")]
    shape = fleet.example.failures.shape
    assert shape is not None
    medians = [_gamma_median(shape) * mean for mean in ends]
    rows.append(f"| mean, h | 14 to 30 | {ends[0]:.1f} to {ends[1]:.1f} |")
    rows.append(f"| median, h | 8 to 17 | {medians[0]:.1f} to {medians[1]:.1f} |")
    return "\n".join(rows) + "\n"


def _gamma_median(shape: float) -> float:
    """Of a gamma law of mean 1."""
    from scipy.special import gammaincinv  # noqa: PLC0415

    return float(gammaincinv(shape, 0.5)) / shape


def predictions_table(result: FleetResult) -> str:
    """What was fitted to nothing: a row a policy."""
    heads = (
        "policy",
        "overhead, %",
        "by machine time, %",
        *(f"P{p}" for p in (50, 75, 90, 95, 99)),
    )
    heads += ("PLS, %", "machine-years", "given back")
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, row in result.summary.iterrows():
        shares = ["overhead", "machine_overhead", *(f"overhead_p{p}" for p in (50, 75, 90, 95, 99))]
        cells = [f"{100 * row[key]:.2f}" for key in (*shares, "pls")]
        cells += [f"{row[key] / YEAR_S:,.0f}" for key in ("machine_s", "given_back_s")]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def refreshed(text: str, result: FleetResult) -> str:
    """The page with its tables made anew."""
    found = measured(result.of("full"))
    made = {
        "facts": facts_table(found),
        "laws": laws_table(result.fleet),
        "predictions": predictions_table(result),
        "scenario": f"scenarios/production-fleet.toml as of hash `{scenario_hash()}`, seed 0.\n",
    }
    for name, table in made.items():
        before, marker, rest = text.partition(f"<!-- {name} -->\n")
        after = rest[rest.index("<!-- end -->") :]
        text = f"{before}{marker}\n{table}\n{after}"
    return text


if __name__ == "__main__":
    played = run_fleet(load_fleet(SCENARIO), replications=JOBS, workers=2)
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), played), encoding="utf-8")
