"""Bandwidth shared between training and saves, and what becomes of jobs that get nowhere."""

import pytest

import cprsim
from cprsim.contract.ledger import Ledger
from cprsim.errors import RunError
from cprsim.sim.engine import play


def scenario(policy: dict, **tables: dict) -> cprsim.Scenario:
    mapping: dict = {
        "job": {"useful_time": "100 s", "network": "6 GB/s"},
        "model": {"embedding": "40 GB"},
        "cluster": {"parameter_servers": 2, "trainers": 4, "nic": "4 GB/s"},
        "storage": {"write": "100 GB/s", "read": "100 GB/s"},
        "failures": {"exactly": 0},
        "policies": {"p": policy},
    }
    return cprsim.Scenario(**(mapping | tables))


def ledger(policy: dict, **tables: dict) -> Ledger:
    return play(scenario(policy, **tables), "p", seed=0, replication=0)


def test_training_moves_at_the_pace_of_the_busiest_server() -> None:
    """A background save shares the servers' cards with training; worked by hand.

    2 servers, 4 GB/s each way. Training moves 6 GB per useful second, 3 GB/s out of each server.
    A save is 20 GB from each server. Alone on a card, max-min gives each 2 GB/s: training runs at
    2/3 of its speed, and the save takes 20 / 2 = 10 s, in which training does 20/3 useful seconds.
    The snapshot is taken at 50 useful seconds, so 10 - 20/3 = 10/3 s come on top.
    """
    run = ledger({"system": "async", "interval": "50 s", "snapshot": "0 s"})

    assert run.wall == pytest.approx(100 + 10 / 3, rel=1e-12)
    assert run.slowdown == pytest.approx(10 / 3, rel=1e-12)
    assert run.saves == 1


def test_a_card_with_room_for_both_slows_nothing() -> None:
    run = ledger(
        {"system": "async", "interval": "50 s", "snapshot": "0 s"},
        storage={"write": "1 GB/s", "read": "100 GB/s"},  # 0.5 GB/s out of each server
    )

    assert run.wall == 100.0
    assert run.slowdown == 0.0


def test_a_blocking_save_has_the_cards_to_itself() -> None:
    run = ledger({"system": "full", "interval": "50 s"})

    assert run.save == 5.0  # 20 GB at 4 GB/s
    assert run.wall == 105.0


def test_pushing_every_update_twice_slows_training_once_a_card_is_full() -> None:
    # 3 GB/s into each server become 6 GB/s; 4 GB/s fit: 1.5 s for each useful second.
    run = ledger({"system": "replication", "copies": 2})

    assert run.slowdown == pytest.approx(50.0, rel=1e-12)


def test_a_given_slowdown_counts_where_the_network_does_not() -> None:
    run = ledger(
        {"system": "replication", "copies": 2, "slowdown": 0.1}, job={"useful_time": "100 s"}
    )

    assert run.slowdown == pytest.approx(10.0, rel=1e-12)
    assert run.wall == pytest.approx(110.0, rel=1e-12)


def test_a_measured_save_slows_no_training() -> None:
    run = ledger({"system": "async", "interval": "50 s", "snapshot": "0 s"}, costs={"save": "10 s"})

    assert run.wall == 100.0


def test_a_job_that_gets_nowhere_is_given_up() -> None:
    hopeless = {"distribution": "exponential", "mean": "1 s"}

    with pytest.raises(RunError, match=r"^policy 'p': the job gets nowhere: 100 times its useful"):
        ledger(
            {"system": "full", "interval": "50 s"},
            failures=hopeless,
            costs={"save": "10 s", "load": "1 s"},
        )


def test_without_trainers_only_the_servers_cards_count() -> None:
    run = ledger(
        {"system": "full", "interval": "1000 s"}, cluster={"parameter_servers": 2, "nic": "4 GB/s"}
    )

    assert run.wall == 100.0


def test_a_job_whose_saves_take_all_its_time_is_given_up() -> None:
    with pytest.raises(RunError, match=r"the job gets nowhere: 100 times .* save less often$"):
        ledger({"system": "full", "interval": "1e-4 s"}, costs={"save": "1 s", "load": "1 s"})
