"""What lies beyond closed forms: saves that are slowed, hopeless jobs, portions that wait."""

import numpy as np
import pytest

from cprsim import Scenario
from cprsim.batch import engine as batch
from cprsim.contract import Always, Context, Plan, Recover, Save, every
from cprsim.errors import RunError
from cprsim.policies.full import Full
from cprsim.sim import engine as sim

CLUSTER = {"parameter_servers": 4, "trainers": 2}


def test_saves_beside_the_filling_of_lost_shards_share_their_links() -> None:
    scenario = Scenario(
        job={"useful_time": "3000 s"},
        model={"embedding": "100 GB", "dense": "1 MB"},
        cluster=CLUSTER | {"nic": "1 GB/s"},
        storage={"write": "20 GB/s", "read": "2 GB/s"},
        costs={"reschedule": "20 s"},
        failures={"distribution": "exponential", "mean": "900 s"},
        policies={"ecrm": {"system": "ecrm", "interval": "100 s"}},
    )
    played, batched = (each.simulate(scenario, ["ecrm"], range(60), 0) for each in (sim, batch))
    alone = scenario.cost_model.seconds(scenario.cost_model.save(scenario.plan("ecrm").tiers[-1]))
    save, saves = (sim.COLUMNS.index(name) for name in ("save", "saves"))

    # Some are slowed: they take longer than as many by themselves, voided ones aside.
    assert (played[:, 0, save] > (played[:, 0, saves] + 1) * alone).any()
    np.testing.assert_allclose(batched, played, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("system", ["full", "partial"])
def test_failures_in_a_row_while_loading(system: str) -> None:
    # Half of all loads, of 42 s at 60 s between failures, are cut short.
    scenario = Scenario(
        job={"useful_time": "600 s"},
        cluster=CLUSTER,
        costs={"save": "2 s", "load": "42 s", "reschedule": "3 s", "detect": "1 s"},
        failures={"distribution": "exponential", "mean": "60 s"},
        policies={"it": {"system": system, "interval": "20 s"}},
    )
    played, batched = (each.simulate(scenario, ["it"], range(100), 0) for each in (sim, batch))
    load, failures = (sim.COLUMNS.index(name) for name in ("load", "failures"))

    assert (played[:, 0, load] < 0.75 * 42 * played[:, 0, failures]).mean() > 0.5
    np.testing.assert_allclose(batched, played, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("failures", [{"exactly": 0}, {"exactly": 1}])
def test_a_job_that_saves_too_often_is_given_up_as_the_simulator_does(failures: object) -> None:
    scenario = Scenario(
        job={"useful_time": "2000 s"},
        cluster=CLUSTER,
        costs={"save": "200 s", "load": "1 s", "reschedule": "20 s"},
        failures=failures,
        policies={"full": {"system": "full", "interval": "1 s"}},
    )
    texts = []
    for each in (sim, batch):
        with pytest.raises(RunError) as error:
            each.simulate(scenario, ["full"], range(2), 0)
        texts.append(str(error.value))

    assert texts[0] == texts[1]
    assert texts[0].endswith("save less often")


def test_portions_in_the_background_are_left_to_the_simulator(monkeypatch) -> None:
    def plan(_policy: Full, _context: Context) -> Plan:
        saves = every(10.0, Save(portion=0.5, blocking=False))
        return Plan("partial", saves, Always(Recover("lost")))

    monkeypatch.setattr(Full, "plan", plan)
    scenario = Scenario(
        job={"useful_time": "100 s"},
        cluster=CLUSTER,
        costs={"save": "8 s", "load": "0 s", "reschedule": "0 s"},
        failures={"distribution": "exponential", "mean": "20 s"},
        policies={"it": {"system": "full", "interval": "10 s"}},
    )

    assert batch.why_unsupported(scenario, "it") == "it saves portions in the background"
