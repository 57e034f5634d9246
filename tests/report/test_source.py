"""What follows from a scenario, as the report lists it."""

from pathlib import Path

from cprsim.report.basis import ScenarioSource, derived, inputs
from cprsim.runs.runner import run
from cprsim.scenario import load_scenario
from tests.report.reading import Page

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_the_file_stands_as_it_is_with_what_was_set_and_what_follows() -> None:
    path, override = SCENARIOS / "quickstart.toml", "failures.mean=10 h"
    found = run(load_scenario(path, [override]), ["full", "replication"], replications=2)
    told = {each.name: each for each in derived(found.scenario, found.plans)}
    source = ScenarioSource(path.read_text(), (override,))
    page = Page(inputs(found.scenario, found.plans, source))

    # 2.4 TB at 8 GB/s, and read at 16 GB/s.
    assert (told["one save"].value, told["one save"].origin) == ("5 min", "derived")
    assert told["one load of everything"].value == "2.5 min"
    assert told["replication: saves every"].value == "never"
    assert told["replication: slowdown"].origin in ("derived", "assumed", "unknown")
    assert page.texts["code"][0].strip() == source.text.strip()
    assert "Set by --set: failures.mean=10 h." in page.texts["p"]
    assert "10 h" in page.texts["table"][0]


def test_a_measured_cost_is_not_derived() -> None:
    scenario = load_scenario(SCENARIOS / "criteo-kaggle.toml")
    told = {each.name for each in derived(scenario, scenario.plans_of(["full"]))}

    assert not {"one save", "one load of everything"} & told
