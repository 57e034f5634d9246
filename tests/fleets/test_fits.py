"""The fleets that fit as well as the shipped one: the table, the page, the search."""

import numpy as np
import pytest

from cprsim.runs.fleet import load_fleet
from cprsim.runs.fleet_play import run_fleet
from tools.pages.fleets import NUMBERS, PAGE, of_fits
from tools.tables import csv_line
from tools.validation.fleet import facts
from tools.validation.fleet.fits import SETS, few_overheads, read
from tools.validation.fleet.ranges import numbers as ranges_of_numbers
from tools.validation.fleet.renewals import AsSimulated
from tools.validation.fleet.search import Search
from tools.validation.fleet.sets import FITTED, SCENARIO, SHIPPED, SOUGHT, fleet_of

HINT = "scenarios/production-fleet-fits.csv is out of date; run `make validation`, judge, commit"
TABLE = read()
FEW = 200


def numbers(number: int) -> dict[str, float]:
    """The fitted numbers of a set of the table."""
    row = TABLE[TABLE["set"] == number].iloc[0]
    return {each.name: float(row[each.name]) for each in FITTED}


@pytest.fixture(scope="module")
def search() -> Search:
    return Search()


@pytest.mark.parametrize("marker", of_fits(TABLE))
def test_the_page_has_what_the_table_says(marker: str) -> None:
    assert of_fits(TABLE)[marker] in PAGE.read_text(encoding="utf-8"), HINT


def test_the_first_set_is_the_shipped_scenario() -> None:
    assert numbers(0) == SHIPPED
    shipped = load_fleet(SCENARIO)
    for mine, other in zip(
        shipped.jobs(0, range(20)), fleet_of(SHIPPED).jobs(0, range(20)), strict=True
    ):
        assert mine.job == other.job
        assert mine.costs == other.costs
        assert mine.plan("full") == other.plan("full")
        assert mine.context == other.context


@pytest.mark.parametrize("number", [0, 1, SETS])
def test_a_few_jobs_of_a_set_are_played_again_as_in_the_table(number: int) -> None:
    rows = TABLE[TABLE["set"] == number]
    shown = dict(zip(rows["policy"], rows["few_overhead"], strict=True))
    assert few_overheads(numbers(number)) == pytest.approx(shown, rel=1e-5), HINT


@pytest.mark.parametrize("number", [0, 1])
def test_jobs_in_numpy_are_those_of_the_simulator(number: int) -> None:
    fleet = fleet_of(numbers(number))
    simulated = run_fleet(fleet, ["full"], replications=FEW).of("full")
    jobs = AsSimulated(fleet.example.failures.law, FEW).jobs(fleet).played(fleet)
    for column in jobs:
        assert np.allclose(jobs[column], simulated[column], rtol=1e-9, atol=1e-6), column


def test_every_set_fits_as_well_and_lies_where_sets_were_drawn() -> None:
    assert sorted(TABLE["set"].unique()) == [*range(SETS + 1)]
    assert (TABLE["distance"] <= TABLE["near"]).all()
    for each in SOUGHT:
        assert TABLE[each.name].between(each.low, each.high).all()


def test_distance_is_of_all_facts_and_of_what_dominates() -> None:
    met = {fact.key: max(fact.low, 0.0) for fact in facts.FACTS}
    parts = {75: (8.8, 4.0, 3.0), 90: (5.0, 13.2, 12.0), 95: (5.0, 15.0, 23.3)}
    causes = "save", "lost", "reschedule"
    for percentile, shares in parts.items():
        keys = (f"{cause} at {percentile}" for cause in causes)
        met |= dict(zip(keys, shares, strict=True))
    assert facts.distance(met) == 0
    assert facts.distance(met | {"mean": 16.0, "p95": 39.0}) == pytest.approx(5.0)
    assert facts.distance(met | {"p90": 60.0}) == 0  # over 30
    assert facts.distance(met | {"reschedule at 90": 15.2}) == pytest.approx(2.0)


@pytest.mark.slow
def test_distances_in_the_table_are_measured_again(search: Search) -> None:
    for number in (0, 1, SETS):
        row = TABLE[TABLE["set"] == number].iloc[0]
        found = search.measured(numbers(number))
        assert facts.distance(found) == pytest.approx(row["distance"], rel=1e-5), HINT
        assert search.near == pytest.approx(row["near"], rel=1e-5), HINT
        assert number == 0 or search.fits(found)


@pytest.mark.slow
def test_a_search_finds_the_same_first_set_again(search: Search) -> None:
    assert next(Search().found()) == numbers(1), HINT


def test_the_scenario_names_the_conventions_it_was_fitted_under() -> None:
    failures = load_fleet(SCENARIO).mapping["failures"]
    assert failures["ages"] == "new"
    assert failures["while_waiting"] is False


def test_the_numbers_beside_the_page_are_those_of_the_table() -> None:
    made = "".join(f"{csv_line(cells)}\n" for cells in ranges_of_numbers(TABLE))
    assert NUMBERS.read_text(encoding="utf-8") == made, HINT
