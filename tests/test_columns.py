"""The list of columns is that of what a run writes."""

import pytest

import cprsim
from cprsim.runs.measures import MEASURES
from cprsim.runs.vocabulary import VOCABULARIES
from tools.site.results import POLICY_KEYS, REPLICATIONS, STATISTICS

PRICES = {"trainer": "2 USD/h", "spare": "2 USD/h", "energy": "0.6 kW", "carbon": "0.4 kg/kWh"}


@pytest.fixture(scope="module")
def result() -> cprsim.Result:
    overrides = [f"prices.{key}={value}" for key, value in PRICES.items()]
    return cprsim.run(cprsim.load_scenario("quickstart", overrides), ["full", "cpr"], 2)


def test_every_column_of_results_is_listed_in_its_place(result: cprsim.Result) -> None:
    assert [*result.replications] == [*REPLICATIONS]


def test_every_key_of_a_policy_is_listed(result: cprsim.Result) -> None:
    found = result.document(VOCABULARIES["ett"])["policies"]["cpr"].keys()

    assert found - MEASURES.keys() == POLICY_KEYS.keys() - {"note", "predicted_auc_drop"}
    assert REPLICATIONS.keys() >= MEASURES.keys()


def test_every_statistic_of_a_measure_is_listed(result: cprsim.Result) -> None:
    endings = [each for endings, _ in STATISTICS.values() for each in endings.split(", ")]

    assert result.document()["policies"]["cpr"]["pls"].keys() == STATISTICS.keys()
    assert {f"overhead{each}" for each in endings} == {
        name for name in result.summary if name.startswith("overhead") and "retrained" not in name
    }


def test_seconds_add_up_to_the_wall_clock_as_the_list_says(result: cprsim.Result) -> None:
    names = [*REPLICATIONS]
    causes = names[names.index("train_s") : names.index("wall_s")]
    rows = result.replications

    assert rows[causes].sum(axis=1).to_numpy() == pytest.approx(rows["wall_s"].to_numpy())
