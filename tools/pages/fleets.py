"""Refresh the tables of docs/fleets.md: the known facts of CPR's fleet, and what ours gives.

Run `python -m tools.pages.fleets`, or `make validation`; it plays 17,000 jobs, which takes minutes.
Ranges are of the table that tools/validation/fleet/fits.py wrote. Tests hold the page to the
current scenario, to that table, and to fewer jobs that they play.
"""

import hashlib
import json
from typing import Final

import pandas as pd

from cprsim.basics.units import SECONDS
from cprsim.runs.fleet import Fleet, load_fleet
from cprsim.runs.fleet_play import run_fleet
from cprsim.runs.fleet_result import FleetResult
from cprsim.scenario.mapping import load_mapping
from tools.paths import DOCS
from tools.tables import between, markdown, write_csv
from tools.validation.fleet.facts import DOMINANT, FACTS, JOBS, YEAR_S, dominant, measured
from tools.validation.fleet.fits import read
from tools.validation.fleet.ranges import fits_text, numbers, ranges_table
from tools.validation.fleet.sets import SCENARIO

PAGE: Final = DOCS / "fleets.md"
#: CSV file of the ranges that the facts leave each fitted number; the page links it.
NUMBERS: Final = DOCS / "fleet-numbers.csv"


def scenario_hash() -> str:
    """Return a hash of the scenario without its comments and title."""
    mapping = load_mapping(SCENARIO)
    del mapping["title"]
    return hashlib.sha256(json.dumps(mapping, sort_keys=True).encode()).hexdigest()[:16]


def facts_table(found: dict[str, float]) -> str:
    """Return a table with a row a fact: the reported value, the fleet's, and their difference."""
    rows = [fact.row(found[fact.key]) for fact in FACTS]
    for percentile, cause in DOMINANT.items():
        ours = dominant(found, percentile)
        off = "within" if ours == cause else "another"
        rows.append((f"what dominates at P{percentile}", cause, "recalled", ours, off))
    return markdown(("fact", "reported", "source", "the fleet", "off by"), rows)


def laws_table(fleet: Fleet) -> str:
    """MTBFs and medians at both ends of the fleet's law."""
    law = fleet.drawn["failures", "mean"]
    ends = [law.ends[end] / SECONDS["h"] for end in ("min", "max")]
    shape = fleet.example.failures.shape
    assert shape is not None
    medians = [_gamma_median(shape) * mean for mean in ends]
    rows = [
        (f"{what}, h", reported, f"{least:.1f} to {most:.1f}")
        for what, reported, (least, most) in (
            ("mean", "14 to 30", ends),
            ("median", "8 to 17", medians),
        )
    ]
    return markdown(("of the times between failures", "reported", "the fleet"), rows)


def _gamma_median(shape: float) -> float:
    """Return the median of a gamma law of mean 1."""
    from scipy.special import gammaincinv  # noqa: PLC0415

    return float(gammaincinv(shape, 0.5)) / shape


def predictions_table(result: FleetResult) -> str:
    """Return the table of predictions, a row a policy: nothing was fitted to these."""
    heads = (
        "policy",
        "overhead, %",
        "by machine time, %",
        *(f"P{p}" for p in (50, 75, 90, 95, 99)),
    )
    heads += ("PLS, %", "machine-years", "given back")
    rows = []
    for name, row in result.summary.iterrows():
        shares = ["overhead", "machine_overhead", *(f"overhead_p{p}" for p in (50, 75, 90, 95, 99))]
        cells = [f"{100 * row[key]:.2f}" for key in (*shares, "pls")]
        cells += [f"{row[key] / YEAR_S:,.0f}" for key in ("machine_s", "given_back_s")]
        rows.append((str(name), *cells))
    return markdown(heads, rows)


def of_fits(table: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page on fleets that fit, by their markers."""
    return {
        "fits": fits_text(table),
        "ranges": ranges_table(table),
    }


def refreshed(text: str, result: FleetResult, table: pd.DataFrame) -> str:
    """Return the page with fresh tables."""
    found = measured(result.of("full"))
    made = {
        "facts": facts_table(found),
        "laws": laws_table(result.fleet),
        "predictions": predictions_table(result),
        "scenario": f"scenarios/production-fleet.toml as of hash `{scenario_hash()}`, seed 0.\n",
        **of_fits(table),
    }
    for name, shown in made.items():
        text = between(text, name, shown)
    return text


if __name__ == "__main__":
    played = run_fleet(load_fleet(SCENARIO), replications=JOBS, workers=2)
    page = refreshed(PAGE.read_text(encoding="utf-8"), played, read())
    PAGE.write_text(page, encoding="utf-8")
    heads, *rows = numbers(read())
    write_csv(NUMBERS, heads, rows)
