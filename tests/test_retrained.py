"""What it would take to train every lost update again: a job whose failure is known, by hand."""

import pytest

import cprsim

JOB = {
    "job": {"useful_time": "10 h"},
    "cluster": {"parameter_servers": 4, "trainers": 4},
    "costs": {"save": "6 min", "load": "6 min"},
    "failures": {"distribution": "deterministic", "mean": "8 h", "ages": "new"},
    "policies": {
        "full": {"system": "full", "interval": "2 h"},
        "partial": {"system": "partial", "interval": "2 h"},
    },
}


@pytest.mark.parametrize("engine", ["sim", "batch"])
def test_lost_updates_trained_again_by_hand(engine: str) -> None:
    # Saves end 2.1, 4.2 and 6.3 h after the start; the failure at 8 h finds 1.7 h of training
    # since the last. One more save comes after it, and the load takes 0.1 h.
    found = cprsim.run(cprsim.Scenario(**JOB), replications=2, engine=engine).summary

    # Full recovery trains all of it again, 1.7 h.
    assert found.loc["full", "updates_lost"] == 0
    assert found.loc["full", "overhead"] == pytest.approx((0.4 + 0.1 + 1.7) / 10)
    assert found.loc["full", "overhead_retrained"] == found.loc["full", "overhead"]
    # Of four shards one loses it, as many updates as the job makes in 1.7 h / 4.
    assert found.loc["partial", "updates_lost"] == pytest.approx(1.7 / 4 / 10)
    assert found.loc["partial", "overhead"] == pytest.approx((0.4 + 0.1) / 10)
    assert found.loc["partial", "overhead_retrained"] == pytest.approx((0.5 + 1.7 / 4) / 10)
