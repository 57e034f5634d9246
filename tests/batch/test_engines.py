"""Which engine plays what, and what is said of it."""

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import cprsim
from cprsim.cli import command as cli
from cprsim.errors import UsageError
from cprsim.failures.hit import Hit, MeanHit
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.runs.engines import chosen

SCENARIOS = Path(__file__).parents[2] / "scenarios"
ALL = str(SCENARIOS / "all-systems.toml")
HOT_SWAP = str(SCENARIOS / "hot-swap.toml")

DERIVED: dict[str, Any] = {
    "job": {"useful_time": "10 h", "network": "99 GB/s"},
    "model": {"embedding": "1 TB"},
    "cluster": {"parameter_servers": 8, "trainers": 8, "nic": "100 Gbit/s"},
    "storage": {"write": "2 GB/s", "read": "4 GB/s"},
    "failures": {"distribution": "exponential", "mean": "5 h"},
}
MEASURED: dict[str, Any] = {
    "job": {"useful_time": "10 h"},
    "cluster": {"parameter_servers": 4, "trainers": 2},
    "costs": {"save": "1 min", "load": "1 min"},
    "failures": {"distribution": "exponential", "mean": "5 h"},
}
NODES = {"distribution": "exponential", "mean": "30 h", "per": "node"}
FULL = {"system": "full", "interval": "1 h"}
#: Why the batch engine does not play a scenario with this one policy.
REASONS: dict[str, dict[str, Any]] = {
    "training and saves in the background contend for links": DERIVED
    | {"policies": {"it": {"system": "async", "interval": "1 h", "snapshot": "1 s"}}},
    "it ends with a save in the background": MEASURED
    | {
        "job": {"useful_time": "10 h", "final_save": True},
        "policies": {"it": {"system": "async", "interval": "1 h", "snapshot": "1 s"}},
    },
    "several saves are under way at once": MEASURED
    | {
        "policies": {
            "it": {"system": "async", "interval": "30 s", "snapshot": "1 s", "in_flight": 2}
        }
    },
    "it needs a controller that decides while the job runs": MEASURED
    | {
        "policies": {
            "it": {"system": "check-n-run", "interval": "1 h", "modified": 0.2, "snapshot": "1 s"}
        }
    },
    "it needs states mirrored every step": DERIVED
    | {"policies": {"it": {"system": "peer-memory", "interval": "1 h", "iteration": "1 s"}}},
    "training and the filling of lost shards contend for links": DERIVED
    | {"policies": {"it": {"system": "replication", "copies": 2}}},
    "failures.bursts cut lives of nodes short": MEASURED
    | {
        "failures": NODES | {"bursts": {"mean": "40 h", "rack": 3, "sizes": {"3": 1}}},
        "policies": {"it": FULL},
    },
    "saves to the store or loads from it fail": MEASURED
    | {"storage": {"load_fails": 0.01}, "policies": {"it": FULL}},
    "failures.severity cuts lives of nodes short": MEASURED
    | {"failures": NODES | {"severity": {"node": 1, "cluster": 1}}, "policies": {"it": FULL}},
}


def said(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = cli._main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def summary(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    code, out, err = said("run", *arguments, "--replications", "20", "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_there_is_no_other_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert said("run", ALL, "--engine", "simpy", capsys=capsys) == (
        2,
        "",
        "cprsim: engine 'simpy' is not one of auto, sim, batch\n",
    )


@pytest.mark.parametrize("reason", REASONS)
def test_what_the_batch_engine_cannot_play_it_refuses(reason: str) -> None:
    scenario = cprsim.Scenario(**REASONS[reason])
    with pytest.raises(UsageError) as error:
        chosen(scenario, ["it"], "batch")

    assert str(error.value) == (
        f"engine 'batch' can't play policy 'it': {reason}; take engine 'auto' or 'sim'"
    )
    assert chosen(scenario, ["it"], "auto") == {"it": "sim"}


class Clockwork:
    """Failures of a kind that batches have no cursors for: server 0 fails every 4 h."""

    mtbf_s = 4 * 3600.0
    mean_hit = MeanHit(1.0, 0.0, 1.0)
    severity_shares: ClassVar = {"node": 1.0}

    def cohort(self, seed: int, number: int) -> "Clockwork":
        return self

    def timeline(self, row: int) -> AbsoluteTimeline:
        return AbsoluteTimeline([self.mtbf_s], [Hit((0,), ())], self.mtbf_s)


def test_failures_of_a_new_kind_are_the_simulators() -> None:
    scenario = cprsim.Scenario(**MEASURED | {"policies": {"it": FULL}})
    vars(scenario.failure_model)["process"] = Clockwork()

    with pytest.raises(UsageError) as error:
        cprsim.run(scenario, replications=2, engine="batch")
    assert str(error.value) == (
        "engine 'batch' can't play policy 'it': it has no cursors for failures of kind Clockwork; "
        "take engine 'auto' or 'sim'"
    )
    auto, sim = (cprsim.run(scenario, replications=2, engine=each) for each in ("auto", "sim"))
    assert auto.engines == {"it": "sim"}
    # Each failure takes the job back to a whole hour, by a load of a minute: 3 h of progress at
    # 4 h, 6 at 8 and 9 at 12, so it ends after one more hour.
    assert auto.replications["failures"].tolist() == [3, 3]
    assert auto.replications["wall_s"].tolist() == [13 * 3600.0 + 60.0] * 2
    assert auto.replications.equals(sim.replications)


def test_a_refusal_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert said("run", HOT_SWAP, "--engine", "batch", capsys=capsys) == (
        2,
        "",
        "cprsim: engine 'batch' can't play policy 'full': failures.severity cuts lives of nodes "
        "short; take engine 'auto' or 'sim'\n",
    )


def test_each_policy_is_played_by_the_engine_that_can(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = str(SCENARIOS / "replication.toml")
    auto = summary(scenario, capsys=capsys)

    assert auto["engine"] == "batch, sim"
    engines = {name: each["engine"] for name, each in auto["policies"].items()}
    assert engines == dict.fromkeys(engines, "sim") | {"full": "batch"}


def test_the_engine_makes_no_difference() -> None:
    scenario = cprsim.load_scenario(SCENARIOS / "replication.toml")
    auto = cprsim.run(scenario, replications=20)
    one_by_one = cprsim.run(scenario, replications=20, engine="sim")

    assert set(auto.engines.values()) == {"batch", "sim"}
    assert set(one_by_one.engines.values()) == {"sim"}
    numbers = auto.replications.select_dtypes("number")
    expected = one_by_one.replications[numbers.columns]
    np.testing.assert_allclose(numbers, expected, rtol=1e-9, atol=1e-9)


def test_one_engine_for_all_policies(capsys: pytest.CaptureFixture[str]) -> None:
    kaggle = str(SCENARIOS / "criteo-kaggle.toml")
    by_batch = summary(kaggle, "--engine", "batch", capsys=capsys)
    by_sim = summary(kaggle, "--engine", "sim", capsys=capsys)

    assert (by_batch["engine"], by_sim["engine"]) == ("batch", "sim")
    assert {each["engine"] for each in by_batch["policies"].values()} == {"batch"}
    for name, each in by_batch["policies"].items():
        mean = by_sim["policies"][name]["overhead"]["mean"]
        assert each["overhead"]["mean"] == pytest.approx(mean, rel=1e-9)
