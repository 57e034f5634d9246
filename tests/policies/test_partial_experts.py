"""Partial experts: what saves write, what experts lose, and when K doubles."""

from pathlib import Path
from typing import Any

import pytest

import cprsim
from cprsim.contract.expected import expected
from cprsim.formulas.experts import rotation_left_s
from cprsim.sim.engine import play
from tests.policies.by_hand import job_of, log_of
from tests.sim.means import assert_mean, measured
from tools.validation.formulas import single_fault_plt

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
    costs = {"save": "10 s", "load_full": "20 s", "load_partial": "6 s"}
    own = {
        "cluster": {"parameter_servers": 8, "trainers": 4},
        "costs": costs | {"reschedule": "50 s", "detect": "5 s"},
    }
    return job_of(policy, **own | tables)


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


def test_k_stays_within_the_limit(tmp_path: Path) -> None:
    log = log_of(tmp_path, "150,0 560,0")
    dynamic = EXPERTS | {"dynamic": True, "plt_limit": 0.9}

    one, other = (play(scenario(each, failures=log), "p", 0, 0) for each in (dynamic, EXPERTS))
    assert one == other


@pytest.mark.parametrize(("experts", "per_save"), [(8, 2), (8, 3), (16, 1)])
def test_one_fault_loses_the_closed_form(experts: int, per_save: int) -> None:
    policy = EXPERTS | {"experts": experts, "per_save": per_save, "interval": "40 s"}
    costs = {"save": "0 s", "load": "0 s"}
    found = scenario(policy, costs=costs, failures={"exactly": 1})
    lost = measured(found, "updates_lost", 300, "p", seed=11)
    assert_mean(lost, single_fault_plt(experts, per_save, 40.0, 1000.0))


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
