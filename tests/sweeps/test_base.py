"""Points that share what is not varied are those of scenarios that were read one by one."""

import copy
import json

import numpy as np
import pytest

from cprsim.errors import ScenarioError
from cprsim.runs.summaries import quantile
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import set_value
from cprsim.sweeps.base import Base, scenario_key, to_json
from cprsim.sweeps.plans import _validated
from tests.sweeps.cases import SCENARIO

POLICIES = ("partial", "full")
SYSTEMS = {"partial": {"auc_drop_per_pls": 0.006, "ci95": [0.005, 0.007]}}
VARIED = [
    {"failures.mean": "10 h", "costs.save": "3 min"},
    {"failures.exactly": 3, "costs.save": "4 min"},
    {"cluster.spares": 2, "policies.full.interval": "1 h"},
    {" job . final_save ": True, "storage.write": "5 GB/s", "storage.read": "5 GB/s"},
    {"model.embedding": "2 TB", "accuracy": {"source": "a", "pls_up_to": 1.0, "systems": SYSTEMS}},
    {"cluster": {"trainers": 3, "parameter_servers": 5}},
    {"title": "another"},
]
FAULTY = [
    {"cluster.spares": True},
    {"cluster.spares": 1.0, "costs.save": "3"},
    {"costs.nothing": 1},
    {"job.useful_time.too": 1},
    {"nothing.at_all": 1},
    {"failures.hits.parameter_servers": 9},
    {"policies.full.interval": "0 h"},
    {"cluster": 3},
]


def slowly(values: dict) -> Scenario:
    """From fresh tables, all of which are validated."""
    tables = copy.deepcopy(SCENARIO)
    for key, value in values.items():
        parts = [part.strip() for part in key.split(".")]
        set_value(tables, parts, copy.deepcopy(value), f"--vary {key}")
    tables["policies"] = {name: tables["policies"][name] for name in POLICIES}
    return Scenario.read(tables)


@pytest.mark.parametrize("values", VARIED, ids=str)
def test_a_point_is_its_scenario(values):
    base = Base(SCENARIO, list(values), POLICIES)
    quick, slow = base.scenario(values), slowly(values)
    text, key = base.written(quick)

    assert quick == slow
    assert text == to_json(slow.mapping())
    assert json.loads(text) == slow.mapping()
    assert key == scenario_key(slow.mapping())


@pytest.mark.parametrize("values", FAULTY, ids=str)
def test_a_point_that_cannot_be_is_told_in_the_same_words(values):
    with pytest.raises(ScenarioError) as slow:
        slowly(values)
    with pytest.raises(ScenarioError) as quick:
        Base(SCENARIO, list(values), POLICIES).scenario(values)

    assert quick.value.args == slow.value.args


def test_files_count_by_content_wherever_they_are_named(tmp_path):
    for name, hour in (("one.csv", 1), ("same.csv", 1), ("two.csv", 2)):
        (tmp_path / name).write_text(f"time_s,node\n{3600 * hour},0\n", encoding="utf-8")
    tables = SCENARIO | {"failures": {"trace": str(tmp_path / "one.csv")}}
    base = Base(tables, ["failures.trace"], POLICIES)
    keys = {
        name: base.written(base.scenario({"failures.trace": str(tmp_path / name)}))[1]
        for name in ("one.csv", "same.csv", "two.csv")
    }

    assert keys["one.csv"] == keys["same.csv"] != keys["two.csv"]
    still = Base(tables, ["costs.save"], POLICIES)
    fresh = still.scenario({"costs.save": "5 min"})
    assert still.written(fresh)[1] == scenario_key(fresh.mapping()) == keys["one.csv"]


def test_what_a_point_changes_is_no_other_points():
    values = {"model": {"embedding": "1 TB"}, "policies.full.interval": "1 h"}
    tables = copy.deepcopy(SCENARIO)
    base = Base(tables, list(values), POLICIES)
    first = base.written(base.scenario(values))
    base.scenario(values | {"policies.full.interval": "2 h"})

    assert base.written(base.scenario(values)) == first
    assert tables == SCENARIO


def test_a_worker_tells_whole_numbers_from_others():
    assert _validated("cluster", {"parameter_servers": 4}).parameter_servers == 4
    for table in ({"parameter_servers": 4.0}, {"parameter_servers": True}):
        assert _validated("cluster", table) is table  # which the scenario refuses


def test_quantiles_are_those_of_numpy():
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 7, 20, 21, 22, 100, 1000):
        values = rng.normal(size=(6, count)) * 1e7
        values[1] = np.round(values[1] / 1e7)
        values[2, 0], values[3], values[4, -1] = np.nan, 3.5, np.inf
        for share in (0.5, 0.95):
            with np.errstate(invalid="ignore"):
                found = quantile(values, share)
                assert np.array_equal(found, np.quantile(values, share, axis=1), equal_nan=True)
