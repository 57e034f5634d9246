"""Inputs of the job that are other than given, and whether the answer still holds."""

import math

import pytest

import cprsim
from cprsim.advice.advice import Advice
from cprsim.advice.candidates import frozen, value_of
from cprsim.advice.robustness import Parameter, PerturbedScenario, Robustness, robustness
from cprsim.basics.units import SECONDS, format_exact
from cprsim.report.answer import robust_lines
from cprsim.runs.summaries import Mean
from tests.advice.given import FEW, answered, measured


def said(advice: Advice, found: Robustness) -> list[str]:
    return list(robust_lines(advice, found))


@pytest.mark.parametrize(
    ("loses", "keeps", "holds"),
    [
        ((0.0, 0.0, 0.0), True, True),
        ((0.002, 0.0005, 0.003), True, None),
        ((0.0, 0.0, 0.003), True, None),
        ((0.004, 0.003, 0.005), True, False),
        ((0.0, 0.0, 0.0), None, None),
        ((0.0, 0.0, 0.0), False, False),
        ((math.nan, math.nan, math.nan), True, False),
    ],
)
def test_a_choice_holds_elsewhere_surely_or_perhaps(loses, keeps, holds):
    assert PerturbedScenario(2.0, "40 h", "a", Mean(*loses), keeps).holds(0.001) is holds


def test_robustness_asks_what_if_the_job_is_another():
    advice = answered(*FEW)
    found = robustness(advice)
    values = {each.name: [world.value for world in each.worlds] for each in found.levers}

    assert values.keys() == {"MTBF", "save bandwidth", "rescheduling", "parameter servers"}
    assert values["MTBF"] == ["5 h", "10 h", "20 h", "40 h", "80 h"]
    assert values["parameter servers"] == ["2", "4", "8", "16", "32"]
    given, own = found.assumptions[:3], found.assumptions[3:]
    assert {each.name: each.value for each in given} == {
        "MTBF": "10 h",
        "save bandwidth": "a save in 12 min",
        "rescheduling": "10 min",
    }
    assert [each.name for each in own] == ["slowdown", "takeover"]  # which nobody measured
    assert all(each.more.mean > 0 for each in given)
    for lever in found.levers:
        (here,) = (world for world in lever.worlds if world.factor == 1)
        assert here.holds(found.within)
        assert abs(here.loses.mean) < 0.001
        low, high = lever.range(found.within)
        assert low.factor <= 1 <= high.factor
    assert any("becomes" in line and "with a save in" in line for line in said(advice, found))


def test_a_policy_that_lacks_memory_here_may_be_the_best_on_more_servers():
    large = {"model": {"embedding": "6 TB"}, "cluster.memory": "1 TB"}
    advice = cprsim.advise(measured().with_values(large), systems=["full", "replication"])
    found = robustness(advice)

    assert [each.name for each in advice.refused] == ["replication"]
    (servers,) = (each for each in found.levers if each.name == "parameter servers")
    least = {each.value: each.least for each in servers.worlds}
    assert least["8"] == advice.best.name
    assert least["16"] == least["32"] == "replication"
    still = said(advice, found)[-1]
    assert "servers at 8 alone" in still
    assert still.endswith("; else replication.")


@pytest.mark.parametrize(
    ("holds_at", "told"),
    [
        ((1.0,), "for MTBF at 1 h alone; else full"),
        ((0.5, 1.0), "for MTBF up to 1 h; else full"),
        ((1.0, 2.0), "for MTBF from 1 h; else full"),
        ((0.5, 1.0, 2.0), "if MTBF is 1/4 to 4 times yours"),
    ],
)
def test_the_range_over_which_the_choice_holds(holds_at, told):
    none, much = Mean(0.0, 0.0, 0.0), Mean(1.0, 1.0, 1.0)
    worlds = []
    for factor in (0.5, 1.0, 2.0):
        least, loses = ("cpr", none) if factor in holds_at else ("full", much)
        worlds.append(PerturbedScenario(factor, f"{factor:g} h", least, loses, True))
    systems = {"cpr": "cpr-vanilla", "full": "full"}
    found = Robustness("cpr", 0.001, (Parameter("MTBF", tuple(worlds)),), systems)

    assert said(answered("full"), found) == [f"Still the best {told}."]


def test_rules_of_the_choice_are_what_they_came_to_here():
    """Whoever saves by a rule was told a wrong MTBF, and goes by it elsewhere, too."""
    scenario = measured(full={"system": "full", "interval": "optimal"})
    told = frozen(scenario.policies["full"], scenario)

    assert value_of(told, "interval") == format_exact(scenario.plan("full").interval_s, SECONDS)
    assert told.planned(scenario.context) == scenario.plan("full")
