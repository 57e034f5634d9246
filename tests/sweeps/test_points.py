"""Points of a sweep: their scenarios, and their keys."""

import copy
import json

from cprsim.sweeps.points import VariedScenario, scenario_key, to_json
from tests.sweeps.cases import SCENARIO, at

POLICIES = ("partial", "full")


def test_a_point_is_its_scenario():
    found = VariedScenario(SCENARIO, POLICIES, ["failures.mean"]).at({"failures.mean": "10 h"})
    read = at("10 h").mapping()

    assert json.loads(to_json(found.mapping())) == read
    assert list(found.policies) == ["partial", "full"]  # in the order that was asked for


def test_files_count_by_content_wherever_they_are_named(tmp_path):
    for name, hour in (("one.csv", 1), ("same.csv", 1), ("two.csv", 2)):
        (tmp_path / name).write_text(f"time_s,node\n{3600 * hour},0\n", encoding="utf-8")
    tables = SCENARIO | {"failures": {"trace": str(tmp_path / "one.csv")}}
    varied = VariedScenario(tables, POLICIES, ["failures.trace", "costs.save"])
    keys = {
        name: varied.key(varied.at({"failures.trace": str(tmp_path / name)}))
        for name in ("one.csv", "same.csv", "two.csv")
    }

    assert keys["one.csv"] == keys["same.csv"] != keys["two.csv"]
    fresh = varied.at({"costs.save": "5 min"})
    assert varied.key(fresh) == scenario_key(fresh) == keys["one.csv"]


def test_what_a_point_changes_is_no_other_points():
    values = {"model": {"embedding": "1 TB"}, "policies.full.interval": "1 h"}
    tables = copy.deepcopy(SCENARIO)
    varied = VariedScenario(tables, POLICIES, [*values])
    first = varied.at(values)
    varied.at(values | {"policies.full.interval": "2 h"})

    assert varied.at(values) == first
    assert tables == SCENARIO
