"""What is shipped is played in batches, all of it, and as the simulator plays it."""

from collections import Counter
from pathlib import Path

import pytest

from cprsim.fleets.fleet import load_fleet
from cprsim.runs.engines import chosen
from cprsim.scenario import Scenario, load_scenario
from tests.batch.compare import Seen, compare_policy
from tools.pages.batch import SHIPPED, is_there
from tools.paths import SCENARIOS

REPLICATIONS = 64
JOBS = 20
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
@by_scenario
def test_every_shipped_policy_is_played_alike(path: Path) -> None:
    seen: Seen = Counter()
    scenario = loaded(path)
    for policy in scenario.policies:
        compare_policy(scenario, policy, seen, range(REPLICATIONS))

    assert seen["runs"] == REPLICATIONS * len(scenario.policies)
    assert seen["failures"] > 0


@pytest.mark.slow
def test_jobs_of_a_fleet_are_played_alike() -> None:
    seen: Seen = Counter()
    fleet = load_fleet(SCENARIOS / "production-fleet.toml")
    for job, scenario in enumerate(fleet.jobs(0, range(JOBS))):
        engines = chosen(scenario, list(scenario.policies), "auto")
        assert engines == dict.fromkeys(scenario.policies, "batch")
        for policy in scenario.policies:
            compare_policy(scenario, policy, seen, [job])

    assert seen["runs"] + seen["hopeless"] == seen["policies"] > JOBS
