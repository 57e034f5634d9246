"""docs/fleets.md: its numbers are the scenario's, and as near to the facts as they should be."""

import math
import re

import numpy as np
import pytest

from cprsim.runs.fleet import load_fleet
from cprsim.runs.fleet_play import run_fleet
from tools.pages.fleets import PAGE, laws_table, scenario_hash
from tools.validation.fleet.facts import DOMINANT, FACTS, JOBS, YEARS_WITHIN, measured
from tools.validation.fleet.sets import SCENARIO

HINT = "docs/fleets.md is out of date; run `make validation`, judge its facts, commit the page"
TEXT = PAGE.read_text(encoding="utf-8")
FEW = 1000
#: How far from a fact the fit may be: percentage points, or machine-years.
ALLOWED = {"years": YEARS_WITHIN}


def on_the_page(words: str) -> float:
    """What the fleet gives for a fact, from its row of the table."""
    facts = TEXT.partition("<!-- facts -->")[2].partition("<!-- end -->")[0]
    (cell,) = re.findall(
        rf"^\| {re.escape(words)} \|.*\| ([\d.,]+) \|[^|]*\|$", facts, re.MULTILINE
    )
    return float(cell.replace(",", ""))


@pytest.fixture(scope="module")
def jobs():
    return run_fleet(load_fleet(SCENARIO), ["full"], replications=FEW, seed=1).replications


def test_the_page_is_of_the_scenario_as_it_is():
    assert f"`{scenario_hash()}`" in TEXT, HINT
    assert laws_table(load_fleet(SCENARIO)) in TEXT, HINT


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.key)
def test_the_fleet_is_near_the_fact(fact):
    value = on_the_page(fact.words)

    assert f"| {' | '.join(fact.row(value))} |" in TEXT, HINT
    assert abs(fact.off(value)) <= ALLOWED.get(fact.key, 1.0)


@pytest.mark.parametrize(("percentile", "cause"), DOMINANT.items())
def test_the_cause_that_dominates_is_the_reported_one(percentile, cause):
    assert f"| what dominates at P{percentile} | {cause} | recalled | {cause} | within |" in TEXT


@pytest.mark.slow
def test_fewer_jobs_played_anew_give_what_the_page_says(jobs):
    found, rng = measured(jobs), np.random.default_rng(0)
    again = [measured(jobs.iloc[rng.integers(FEW, size=FEW)]) for _ in range(60)]

    for fact in FACTS:
        few = float(np.std([each[fact.key] for each in again], ddof=1))
        error = few * math.sqrt(1 + FEW / JOBS)  # the page's own jobs are a sample as well
        assert abs(found[fact.key] - on_the_page(fact.words)) < 3 * error, (fact.key, HINT)


def test_every_job_is_over_ten_hours_and_within_thirty_days(jobs):
    assert jobs["useful_s"].min() >= 10 * 3600
    assert jobs["wall_s"].max() <= 30 * 86_400
