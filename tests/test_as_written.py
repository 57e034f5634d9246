"""A scenario that is written again has the quantities as its author wrote them."""

import copy
import math
import pickle

import pytest

import cprsim
from cprsim.basics.units import AsWritten
from tests.mistakes import GOOD

#: Keys with a quantity of every kind, as people write them.
WRITTEN = {
    "job.useful_time": "10 days",
    "cluster.nic": "100 Gb/s",
    "storage.write": "80 Gbit/s",
    "storage.read": "2.5e3 MB/s",
    "costs.reschedule": "0.25 h",
    "failures.mean": "1680 min",
    "policies.full.interval": "90 min",
}


def of(**tables: str) -> cprsim.Scenario:
    return cprsim.load_scenario("job.toml", [f'{key}="{text}"' for key, text in tables.items()])


@pytest.fixture
def scenario(tmp_path, monkeypatch) -> cprsim.Scenario:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(GOOD)
    return of(**WRITTEN)


@pytest.mark.parametrize("key", WRITTEN)
def test_what_was_written_is_echoed(scenario, key):
    assert f'{key.rpartition(".")[2]} = "{WRITTEN[key]}"\n' in scenario.to_toml()


def test_a_law_of_delays_too(scenario):
    law = 'costs.reschedule={distribution="exponential", mean="0.5 hours"}'
    assert 'mean = "0.5 hours"\n' in cprsim.load_scenario("job.toml", [law]).to_toml()


def test_the_same_job_in_other_units_is_the_same(scenario):
    other = of(**WRITTEN | {"failures.mean": "28 h", "cluster.nic": "12.5 GB/s"})
    assert other == scenario
    assert other.mapping() == scenario.mapping()
    assert other.mapping()["failures"]["mean"] == "28 h"
    assert other.to_toml() != scenario.to_toml()


@pytest.mark.parametrize("same", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_keep_what_was_written(scenario, same):
    assert same(scenario).to_toml() == scenario.to_toml()


def test_the_file_gives_the_scenario_back(scenario, tmp_path):
    (tmp_path / "again.toml").write_text(scenario.to_toml())
    again = cprsim.load_scenario("again.toml")
    assert again == scenario
    assert again.to_toml() == scenario.to_toml()


def test_what_is_worked_out_of_a_quantity_is_a_plain_number():
    quantity = AsWritten(90.0, "1.5 min")
    assert (quantity, quantity.text, repr(quantity)) == (90.0, "1.5 min", "90.0")
    assert type(quantity * 2) is type(quantity / 2) is type(-quantity) is float
    assert math.sqrt(quantity) == math.sqrt(90)
