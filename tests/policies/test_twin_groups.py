"""Twin groups: who is a twin, and what a loss costs in the mean."""

from cprsim.policies.twin_groups import Twins
from cprsim.scenario import Scenario
from cprsim.sim.engine import play
from cprsim.testing import Recording, assert_time_adds_up
from tests.policies.by_hand import job_of
from tests.sim.means import assert_mean, measured


def test_twins_are_servers_of_other_groups() -> None:
    assert Twins(6, 2).sets(1) == ((1, 4),)
    assert Twins(6, 3).sets(5) == ((5, 1, 3),)


def test_losses_are_half_an_interval_of_a_server_in_the_mean() -> None:
    it = Scenario(
        job={"useful_time": "10 d"},
        cluster={"parameter_servers": 16},
        costs={"save": "2 min", "load": "1 min"},
        failures={"distribution": "exponential", "mean": "6 h", "during_recovery": False},
        policies={"it": {"system": "twin-groups", "every": "20 min", "sync": "0 s"}},
    )
    # Failures are uniform over training: 20 min / 2 of one server of 16, 40 times in a job.
    exact = (1200 / 2) / (6 * 3600) / 16
    assert_mean(measured(it, "pls", 400, seed=0), exact)


def test_no_job_returns_from_a_silent_fault_to_what_twins_train_on() -> None:
    # A fault after 60 s of training is found before the averaging of 70 s. The twins had what was
    # verified before that of 60 s, but have gone on from it; the store has that of 40 s.
    silent = {"distribution": "deterministic", "mean": "60 s"}
    policy = {"system": "twin-groups", "every": "10 s", "sync": "1 s", "interval": "40 s"}
    scenario = job_of(
        policy | {"verify_every": 1, "keep": 10},
        job={"useful_time": "128 s"},
        cluster={"parameter_servers": 4},
        costs={"save": "8 s", "load": "4 s", "reschedule": "2 s", "detect": "1 s"},
        failures={"exactly": 0, "silent": silent},
    )
    ledger = play(scenario, "p", 0, 0, seen := Recording())
    assert_time_adds_up(ledger)
    assert ledger.lost >= 70 - 40
    assert "load" in {span.cause for span in seen.spans}
