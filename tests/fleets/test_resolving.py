"""Resolving a job quickly gives what resolving it from scratch gives, refusals included."""

import copy
import pickle
from pathlib import Path

import pytest

from cprsim.contract.expected import expected
from cprsim.contract.failure_kinds import kinds
from cprsim.errors import ScenarioError
from cprsim.runs.fleet import Fleet, load_fleet
from cprsim.runs.measures import Basis
from cprsim.scenario import Scenario
from cprsim.scenario.scenario import load_scenario
from cprsim.sim.tables import Tables
from tests.fleets.test_fleet import mapping

SCENARIOS = Path("scenarios")


def put(tables: dict, values: dict) -> dict:
    """Fresh tables with other values, all the way down."""
    tables = copy.deepcopy(tables)
    for path, value in values.items():
        inner = tables
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    return tables


def rows(scenario, policy):
    """All that the engines read of a plan."""
    tables = Tables()
    tables.add(scenario, policy, 0)
    of_rows = [row.numbers() for _, rows in tables.of_rows for row in rows]
    return of_rows, tables.whole, tables.real


@pytest.mark.slow
def test_jobs_are_those_that_are_built_from_scratch():
    fleet = load_fleet(SCENARIOS / "production-fleet.toml")
    jobs = range(150, 350)  # of two cohorts
    drawn = zip(fleet.draws(8, jobs), fleet.jobs(8, jobs), strict=True)
    for values, quick in drawn:
        slow = Scenario(**put(fleet.mapping, values))

        assert quick == slow
        assert quick.mapping() == slow.mapping()
        assert quick.model_fields_set == slow.model_fields_set
        for name in fleet.select(None):
            assert repr(quick.plan(name)) == repr(slow.plan(name))
            assert repr(Basis.of(quick, name)) == repr(Basis.of(slow, name))
            assert rows(quick, name) == rows(slow, name)


#: By key a value that can be, and one that can't.
REFUSED = {
    "cluster__trainers": (4, 0.5),
    "cluster__parameter_servers": (8, 0),
    "cluster__spares": (0, 100),
    "job__useful_time": ("20 h", "0 h"),
    "failures__mean": ("8 h", "-3 h"),
    "failures__shape": (0.7, "2 h"),
    "failures__hits": ({"parameter_servers": 1}, {"parameter_servers": 9}),
    "costs__save": ("5 min", 5),
    "costs__load": ("5 min", "-1 min"),
    "policies__cpr__target_pls": (0.1, 1.5),
    "policies__full__interval": ("1 h", "1 us"),
    "policies__full__system": ("full", "fulll"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_job_is_refused_in_the_words_for_a_scenario(name):
    good, bad = REFUSED[name]
    with pytest.raises(ScenarioError) as alone:
        Scenario(**mapping(**{name: bad}))
    with pytest.raises(ScenarioError) as drawn:
        Fleet.of(mapping(**{name: {"distribution": "empirical", "values": [good, bad]}}))

    key = name.replace("__", ".")
    told = [fault.removeprefix(f"{key}.values.1: ") for fault in drawn.value.args]
    assert told == [fault.removeprefix(f"{key}: ") for fault in alone.value.args]


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_what_is_kept_of_a_scenario_is_no_part_of_it(path):
    try:
        scenario = load_scenario(path)
    except ScenarioError:  # a fleet
        return
    fresh = load_scenario(path)
    for name in scenario.policies:
        expected(scenario.plan(name), scenario.context)
    copied = pickle.loads(pickle.dumps(scenario))

    assert copied == scenario == fresh
    assert all(copied.plan(name) == fresh.plan(name) for name in fresh.policies)
    assert scenario.failures.model_copy(update={"mean_s": 1.0}).law.mean_s == 1.0


def test_servers_that_fail_together_lie_apart_however_rarely_they_do():
    hits = {"parameter_servers": 4, "trainers": 1}
    weights = {"parameter_servers": 1, "trainers": 9}  # so that 0.4 of them fail in the mean
    for servers in (8, 12, 16):
        scenario = Scenario(
            **mapping(
                cluster__parameter_servers=servers, failures__hits=hits | {"weights": weights}
            )
        )
        (loss, *_) = (each.loss for each in kinds(scenario.context))

        assert loss.servers == {0, servers // 4, servers // 2, 3 * servers // 4}


def test_a_rule_without_a_hash_is_expected_all_the_same():
    scenario = Scenario(**mapping())
    plan = scenario.plan("full")

    class Rule:
        __hash__ = None

        def __call__(self, loss):
            return plan.recover(loss)

    same = type(plan)(plan.recovery, plan.schedules, Rule())
    assert expected(same, scenario.context) == expected(plan, scenario.context)
