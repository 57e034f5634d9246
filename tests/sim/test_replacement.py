"""Replacements that are hit again, taken over, or filled: worked by hand."""

from itertools import count
from pathlib import Path
from typing import Any

import cprsim
from cprsim.contract.ledger import Ledger
from cprsim.sim.engine import play

LIVES = {"distribution": "deterministic", "mean": "100 s", "per": "node", "ages": "new"}
EACH_NODE = {
    "distribution": "exponential",
    "mean": "100 s",
    "per": "node",
    "during_recovery": False,
}
FREE_COPIES = {"system": "replication", "copies": 2, "slowdown": 0.0, "takeover": "0 s"}


def ledger(folder: Path, strikes: str, policy: dict, spares: int = 0, **tables: dict) -> Ledger:
    """1,000 s on 8 servers; reschedule 50 s, load 20 s, saves of 1 s; `strikes`: lines of a log."""
    log = folder / "log.csv"
    log.write_text("time_s,node\n" + strikes)
    mapping: dict = {
        "job": {"useful_time": "1000 s"},
        "cluster": {"parameter_servers": 8, "spares": spares},
        "costs": {"save": "1 s", "load": "20 s", "reschedule": "50 s"},
        "failures": {"trace": str(log)},
        "policies": {"p": policy},
    }
    return play(cprsim.Scenario(**(mapping | tables)), "p", 0, 0)


def test_a_replacement_that_fails_while_loading_needs_another(tmp_path: Path) -> None:
    # The spare takes over at 100 and fails at 110; what it stood in for is there at 150.
    partial = {"system": "partial", "interval": "2000 s"}
    run = ledger(tmp_path, "100,0\n110,0\n", partial, spares=1)

    assert run.reschedule == 40.0
    assert run.load == 10.0 + 20.0


def test_a_restart_waits_for_the_nodes_that_were_waited_for_already(tmp_path: Path) -> None:
    # Servers 0 and 2 fail at 100 and are there at 150, too many for the one spare. Server 1 fails
    # at 110: shards 0 and 1 have lost both copies. The spare takes its place, the others are
    # waited for until 150.
    run = ledger(tmp_path, "100,0\n100,2\n110,1\n", FREE_COPIES, spares=1)

    assert run.lost == 110.0
    assert run.reschedule == 40.0
    assert run.load == 20.0


def test_a_measured_load_fills_a_replica_too(tmp_path: Path) -> None:
    # Server 0 serves again at 170. At 155 it does not yet, and server 1 takes shard 0 with it.
    model = {"preset": "criteo-kaggle"}
    run = ledger(tmp_path, "100,0\n155,1\n", FREE_COPIES, model=model)

    assert run.lost == 155.0


def test_nodes_that_end_together_fail_as_one(tmp_path: Path) -> None:
    # After 100 s all that 2 servers hold is lost, and a trainer; no node ends again until 160 s.
    tables = {
        "job": {"useful_time": "160 s"},
        "cluster": {"parameter_servers": 2, "trainers": 1},
        "costs": {"save": "0 s", "load": "0 s", "reschedule": "0 s"},
        "failures": LIVES,
    }
    run = ledger(tmp_path, "", {"system": "partial", "interval": "2000 s"}, **tables)

    assert (run.failures, run.pls) == (1, 100 / 160)


def test_a_node_that_ends_as_training_goes_on_is_not_masked() -> None:
    def job(wait_s: float, useful_s: float) -> cprsim.Scenario:
        return cprsim.Scenario(
            job={"useful_time": f"{useful_s!r} s"},
            cluster={"parameter_servers": 2},
            costs={"save": "0 s", "load": "0 s", "reschedule": f"{wait_s!r} s"},
            failures=EACH_NODE,
            policies={"p": {"system": "partial", "interval": "2000 s"}},
        )

    for seed in count():
        lives: Any = job(0.0, 1.0).failure_model.process.cohort(seed, 0)
        first_s, second_s = sorted(lives.generation(0)[0])
        wait_s = second_s - first_s
        if first_s + wait_s == second_s and min(lives.generation(1)[0]) > 3 * wait_s:
            break
    # The other node ends just as the first one is replaced, and nothing was trained since.
    run = play(job(float(wait_s), float(first_s)), "p", seed, 0)
    assert (run.failures, run.absorbed, run.wall) == (0, 0, first_s)
    run = play(job(float(wait_s), float(first_s) + 0.1 * float(wait_s)), "p", seed, 0)
    assert (run.failures, run.absorbed) == (2, 0)


def test_failures_hit_servers_or_trainers_as_drawn() -> None:
    scenario = cprsim.Scenario(
        job={"useful_time": "1000 s"},
        cluster={"parameter_servers": 2, "trainers": 2},
        costs={"save": "0 s", "load": "0 s", "reschedule": "0 s"},
        failures={"exactly": 1, "hits": {"weights": {"parameter_servers": 1, "trainers": 1}}},
        policies={"p": {"system": "partial", "interval": "2000 s"}},
    )
    drawn: Any = scenario.failure_model.process.cohort(0, 0)
    of_servers = drawn.victims.upto(1).of_servers[:8, 0].tolist()

    assert [play(scenario, "p", 0, each).pls > 0 for each in range(8)] == of_servers
    assert 0 < sum(of_servers) < 8


def test_the_deepest_rollback_of_a_recovery_decides_what_is_loaded(tmp_path: Path) -> None:
    # Servers 0 and 1 fail together: the job rolls back. Server 5 fails while loading: by itself it
    # would be copied, but everything has still to be loaded.
    costs = {"save": "1 s", "load_full": "100 s", "load_partial": "20 s", "reschedule": "50 s"}
    run = ledger(tmp_path, "100,0\n100,1\n160,5\n", FREE_COPIES, costs=costs)

    assert run.load == 10.0 + 100.0
