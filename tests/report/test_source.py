"""Oracles: comments as they stand in files."""

from pathlib import Path

from cprsim.report.basis import Assumption, ScenarioSource, assumptions
from cprsim.runs.runner import run
from cprsim.scenario import load_scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FILE = """\
# First paragraph,
# two lines.
#
# Second.
title = "no # comment"    # of the title
[costs]   # measured
save = "6 min"            # begins here
load = "3 min"            #   and goes on
reschedule = { mean = "1 # min" }
[policies.it] # a policy
system = 'full'
"""


def test_comments_by_their_keys():
    source = ScenarioSource(FILE, ("costs.save=5 min", "job.useful_time = 2 h"))

    assert source.head == ["First paragraph, two lines.", "Second."]
    assert source.comments == {
        "title": "of the title",
        "costs": "measured",
        "costs.save": "begins here and goes on",
        "policies.it": "a policy",
    }
    assert source.overridden == {"costs.save", "job.useful_time"}


def test_a_file_without_comments_has_none():
    assert ScenarioSource("[job]\nuseful_time = '1 h'\n").head == []
    assert ScenarioSource("").comments == {}


def test_what_is_given_and_what_is_derived():
    path = SCENARIOS / "quickstart.toml"
    override = "failures.mean=10 h"
    scenario = load_scenario(path, [override])
    found = run(scenario, ["full", "replication"], replications=2)
    told = {
        a.name: a
        for a in assumptions(
            found.scenario, found.plans, ScenarioSource(path.read_text(), (override,))
        )
    }

    assert told["costs.detect"] == Assumption(
        "costs.detect", "30 s", "given", "from a failure until somebody notices"
    )
    # The comment may not fit the new value any more.
    assert told["failures.mean"] == Assumption("failures.mean", "10 h", "set by --set", "")
    # 2.4 TB at 8 GB/s, and read at 16 GB/s.
    assert (told["one save"].value, told["one save"].origin) == ("5 min", "derived")
    assert told["one load of everything"].value == "2.5 min"
    assert told["replication: saves every"].value == "never"
    assert not any(name.startswith("policies.cpr") for name in told)
    assert "costs.select" not in told  # at its default


def test_a_measured_cost_is_not_derived():
    scenario = load_scenario(SCENARIOS / "criteo-kaggle.toml")
    told = {a.name: a for a in assumptions(scenario, scenario.plans_of(["full"]), None)}

    assert told["costs.save"].value == "5.62 min"
    assert "one save" not in told
    assert "one load of everything" not in told
