"""What is shipped is played in batches; `test_page` compares each scenario with the simulator."""

from collections import Counter
from pathlib import Path

import pytest

from cprsim.runs.engines import chosen
from cprsim.runs.fleet import load_fleet
from cprsim.scenario import Scenario, load_scenario
from tests.batch.compare import assert_alike
from tools.pages.batch import SHIPPED, is_there
from tools.paths import SCENARIOS

by_scenario = pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)


def loaded(path: Path) -> Scenario:
    if not is_there(path):
        pytest.skip(f"{path.name} needs a log that isn't here")
    return load_scenario(path)


@by_scenario
def test_no_shipped_policy_is_refused(path: Path) -> None:
    scenario = loaded(path)

    for engine in ("auto", "batch"):
        engines = chosen(scenario, list(scenario.policies), engine)
        assert engines == dict.fromkeys(scenario.policies, "batch")


@pytest.mark.slow
def test_jobs_of_a_fleet_are_played_alike() -> None:
    seen = Counter[str]()
    for job, scenario in enumerate(
        load_fleet(SCENARIOS / "production-fleet.toml").jobs(0, range(20))
    ):
        seen.update(assert_alike(scenario, [job]))

    assert seen["failures"] > 0
