"""What is shipped is played in batches, all of it, and as the simulator plays it."""

from pathlib import Path

import numpy as np
import pytest

from cprsim.batch import engine as batch
from cprsim.errors import RunError
from cprsim.runs.engines import chosen
from cprsim.runs.fleet import load_fleet
from cprsim.scenario import Scenario, load_scenario
from cprsim.sim import engine as sim
from tests.batch.compare import unlike
from tests.tiers import one_of_each
from tools.pages.batch import FEWER, REPLICATIONS, SHIPPED, is_there
from tools.paths import SCENARIOS

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
@pytest.mark.parametrize(
    "path", one_of_each(("quickstart", "tiered"), SHIPPED, lambda path: path.stem)
)
def test_every_shipped_policy_is_played_alike(path: Path) -> None:
    scenario = loaded(path)
    numbers = range(FEWER.get(path.stem, REPLICATIONS))
    policies = list(scenario.policies)
    found, expected = (
        each.simulate(scenario, policies, numbers, 0).reshape(-1, len(sim.COLUMNS))
        for each in (batch, sim)
    )

    assert [unlike(*pair) for pair in zip(found, expected, strict=True)] == [{}] * len(expected)
    assert expected[:, sim.COLUMNS.index("failures")].sum() > 0


@pytest.mark.slow
def test_jobs_of_a_fleet_are_played_alike() -> None:
    failures = 0.0
    fleet = load_fleet(SCENARIOS / "production-fleet.toml")
    for job, scenario in enumerate(fleet.jobs(0, range(JOBS))):
        policies = list(scenario.policies)
        assert chosen(scenario, policies, "auto") == dict.fromkeys(policies, "batch")
        for policy in policies:
            found, expected = (_played(each, scenario, policy, job) for each in (batch, sim))
            assert np.array_equal(found, expected)
            failures += (
                0.0 if isinstance(expected, str) else expected[sim.COLUMNS.index("failures")]
            )

    assert failures > 0


def _played(engine: object, scenario: Scenario, policy: str, job: int) -> object:
    """A ledger, or the error that came instead."""
    try:
        return engine.simulate(scenario, [policy], [job], 0)[0, 0]
    except RunError as error:
        return str(error)
