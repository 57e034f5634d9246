"""Partial experts: what saves cost, what experts lose, and when K doubles; worked by hand."""

import math
from pathlib import Path
from typing import Any, ClassVar

import pytest

import cprsim
from cprsim.contract import Loss, Recover
from cprsim.contract.expected import expected
from cprsim.contract.ledger import Ledger
from cprsim.formulas.experts import rotation_left_s
from cprsim.sim.engine import COLUMNS, play, simulate
from cprsim.testing import PolicyConformance
from tools.validation.formulas import single_fault_plt


class TestPartialExperts(PolicyConformance):
    policy: ClassVar = {
        "system": "partial-experts",
        "experts": 12,
        "per_save": 2,
        "interval": "30 min",
        "blocking": True,
        "snapshot_experts": 5,
        "dynamic": True,
        "plt_limit": 0.01,
    }


# --- The plan ------------------------------------------------------------------------------------

# Each save writes 1 - 0.8 + 0.8 x 2/8 = 0.4 of everything: 4 s.
EXPERTS = {
    "system": "partial-experts",
    "experts": 8,
    "per_save": 2,
    "expert_share": 0.8,
    "interval": "100 s",
    "blocking": True,
}


def scenario(policy: dict[str, Any] = EXPERTS, **tables: Any) -> cprsim.Scenario:
    """1,000 s on 8 servers; full saves of 10 s; recoveries of 5 + 50 + 20 s, or 6 s to load."""
    mapping: dict[str, Any] = {
        "job": {"useful_time": "1000 s"},
        "cluster": {"parameter_servers": 8, "trainers": 4},
        "costs": {
            "save": "10 s",
            "load_full": "20 s",
            "load_partial": "6 s",
            "reschedule": "50 s",
            "detect": "5 s",
        },
        "failures": {"exactly": 0},
        "policies": {"p": policy},
    }
    return cprsim.Scenario(**(mapping | tables))


@pytest.mark.parametrize(
    "model",
    [
        None,
        {"embedding": "10 GB"},
        {"tables": [{"rows": 10**7, "dim": 64}, {"rows": 10, "dim": 8}], "dense": "3 GB"},
    ],
)
def test_a_save_writes_equation_6_whatever_the_model(model: dict[str, Any] | None) -> None:
    tables = {} if model is None else {"model": model}
    costs = {"save": "10 s", "load": "1 s", "select": "3 s", "gather": "2 s", "save_fixed": "1 s"}
    found = scenario(**tables, costs=costs)
    plan = found.plan("p")
    save = plan.schedules[0].save
    charged = found.cost_model.save(plan.tier("remote"), save.portion, save.writes)

    # Experts aren't chosen among rows, so choosing and collecting rows costs nothing.
    assert found.cost_model.seconds(charged) == pytest.approx(4.0, rel=1e-12)
    assert play(found, "p", 0, 0).save == pytest.approx(9 * 4.0)


def test_the_share_of_experts_is_the_papers_unless_given() -> None:
    given = {"system": "partial-experts", "experts": 16, "interval": "100 s"}

    # 14 % + 86 %/16 = 19.4 %.
    assert scenario(given).plan("p").schedules[0].save.writes == pytest.approx(0.19375)


def test_an_optimal_interval_weighs_what_a_save_takes() -> None:
    failures = {"distribution": "exponential", "mean": "2000 s"}
    optimal = EXPERTS | {"interval": "optimal"}

    plan = scenario(optimal, failures=failures).plan("p")
    assert plan.interval_s == pytest.approx(math.sqrt(2 * 4 * 2000))
    behind = scenario(optimal | {"blocking": False}, failures=failures).plan("p")
    assert behind.interval_s == pytest.approx(4.0)  # as often as saves land
    assert behind.memory_overhead == pytest.approx(0.4)


def test_who_returns_to_what() -> None:
    one = scenario().plan("p").recover
    two = scenario(EXPERTS | {"snapshot_experts": 4}).plan("p")
    nobody: frozenset[int] = frozenset()
    lost = Loss(frozenset({1, 2}), nobody)

    assert one(lost) == Recover("all")
    assert two.recover(lost) == Recover("all", healthy="host")
    assert two.recover(lost._replace(severity="process")) == Recover("all", source="host")
    assert two.recover(Loss(nobody, frozenset({0}))) == Recover("all", source="host")
    assert two.recover(Loss(frozenset(range(8)), nobody)) == Recover("all")
    everything = Loss(frozenset(range(8)), frozenset(range(4)), "cluster")
    assert two.recover(everything) == Recover("all")
    # Three buffers of 1 - 0.8 + 0.8 x 4/8.
    assert two.memory_overhead == pytest.approx(3 * 0.6)


# --- Whole runs ----------------------------------------------------------------------------------


def run(folder: Path, strikes: str, policy: dict[str, Any] = EXPERTS, **tables: Any) -> Ledger:
    """`strikes`: lines of a log."""
    log = folder / "log.csv"
    log.write_text("time_s,node,severity\n" + strikes)
    return play(scenario(policy, **{"failures": {"trace": str(log)}} | tables), "p", 0, 0)


# --- Dynamic K -----------------------------------------------------------------------------------


def test_k_stays_within_the_limit(tmp_path: Path) -> None:
    strikes = "150,0,node\n560,0,node\n"
    dynamic = EXPERTS | {"dynamic": True, "plt_limit": 0.9}

    assert run(tmp_path, strikes, dynamic) == run(tmp_path, strikes)


# --- Switched off, and in the mean ---------------------------------------------------------------


@pytest.mark.parametrize(("experts", "per_save"), [(8, 2), (8, 3), (16, 1)])
def test_one_fault_loses_the_closed_form(experts: int, per_save: int) -> None:
    policy = EXPERTS | {"experts": experts, "per_save": per_save, "interval": "40 s"}
    costs = {"save": "0 s", "load": "0 s"}
    found = scenario(policy, costs=costs, failures={"exactly": 1})
    lost = simulate(found, ["p"], range(300), 11)[:, 0, COLUMNS.index("updates_lost")]

    mean = single_fault_plt(experts, per_save, 40.0, 1000.0)
    assert abs(lost.mean() - mean) < 3 * lost.std(ddof=1) / math.sqrt(len(lost))


def test_the_estimate_weighs_both_levels() -> None:
    two = EXPERTS | {"snapshot_experts": 4, "interval": "1 s"}
    failures = {
        "distribution": "exponential",
        "mean": "2000 s",
        "severity": {"process": 1, "node": 1},
    }
    found = scenario(two, failures=failures)
    estimate = expected(found.plan("p"), found.context)
    host, store = (rotation_left_s(8, k, 1.0)[-1] for k in (4, 2))

    # Half of the failures leave all memory, half that of seven of eight; 0.5 failures in all.
    mean_s = (host + (7 * host + store) / 8) / 2
    assert estimate.updates_lost == pytest.approx(mean_s / 2000, rel=0.01)
    assert estimate.load == pytest.approx(0.5 * 6 / 2000)


# --- Refusals ------------------------------------------------------------------------------------


def test_a_job_that_returns_further_back_than_the_last_time_counts_no_saves_in_between(
    tmp_path: Path,
) -> None:
    # Saves at 10 and 20 s take 30 s to be stored. At 25 s a process ends: the hosts still hold what
    # they had at 20 s. At 27 s a host is lost, and the store holds the start alone.
    log = tmp_path / "log.csv"
    log.write_text("time_s,node,severity\n25,0,process\n27,1,node\n", encoding="utf-8")
    scenario = cprsim.Scenario(
        job={"useful_time": "100 s"},
        cluster={"parameter_servers": 2},
        costs={"save": "30 s", "load": "0 s"},
        failures={"trace": str(log)},
        policies={
            "it": {
                "system": "partial-experts",
                "experts": 1,
                "interval": "10 s",
                "snapshot": "0 s",
                "snapshot_experts": 1,
            }
        },
    )
    ledger = play(scenario, "it", 0, 0)

    # 5 s at the first failure; at the second all 22 s that were trained until then.
    assert ledger.lost == pytest.approx(5 + 22)
    assert ledger.wall == pytest.approx(100 + 27)
