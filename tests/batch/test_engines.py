"""Which engine plays what, and what is said of it."""

import json
from pathlib import Path
from typing import Any

import pytest

import cprsim
from cprsim.batch.readiness import refusals
from cprsim.cli import command as cli
from cprsim.contract import Always, Context, Growing, Loss, Plan, Recover, every
from cprsim.errors import UsageError
from cprsim.failures.cohorts import SeverityRows
from cprsim.failures.hits import Hit, MeanHit
from cprsim.failures.processes import Process
from cprsim.failures.shared import CohortStreams
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.job.platform import Cluster
from cprsim.policies.full import Full
from cprsim.runs.engines import chosen
from tests.contract.test_rules import mixed_scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"
ALL = str(SCENARIOS / "all-systems.toml")

MEASURED: dict[str, Any] = {
    "job": {"useful_time": "10 h"},
    "cluster": {"parameter_servers": 4, "trainers": 2},
    "costs": {"save": "1 min", "load": "1 min"},
    "failures": {"distribution": "exponential", "mean": "5 h"},
}
FULL = {"system": "full", "interval": "1 h"}


def said(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = cli._main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def summary(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    code, out, err = said("run", *arguments, "--replications", "20", "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


class TrainersAlone:
    """A rule of somebody's own: lost servers take the job back, trainers no_outside."""

    def __call__(self, loss: Loss) -> Recover:
        return Recover("all" if loss.servers else "none")


def own_rule() -> cprsim.Scenario:
    """Full recovery, but for that rule."""

    class OwnRule(Full):
        def plan(self, context: Context) -> Plan:
            return Plan("full", every(3600.0), TrainersAlone())

    return cprsim.Scenario(**MEASURED | {"policies": {"it": OwnRule(**FULL)}})


def own_controller() -> cprsim.Scenario:
    """A controller of somebody's own."""
    scenario = mixed_scenario()
    return scenario.model_copy(update={"policies": {"it": scenario.policies["mixed"]}})


def own_cases() -> cprsim.Scenario:
    """Cases that are answered in another way."""

    class Turned(Always):
        def __call__(self, loss: Loss) -> Recover:
            return Recover("lost")

    class OwnCases(Full):
        def plan(self, context: Context) -> Plan:
            return Plan("full", every(3600.0), Turned(Recover("all")))

    return cprsim.Scenario(**MEASURED | {"policies": {"it": OwnCases(**FULL)}})


def own_sequence() -> cprsim.Scenario:
    """A sequence of saves of somebody's own."""

    class Doubling(Growing):
        pass

    class OwnSequence(Full):
        def plan(self, context: Context) -> Plan:
            recover = Always(Recover("all"))
            return Plan("full", every(3600.0), recover, sequence=Doubling(60.0, 60.0, 0.1))

    return cprsim.Scenario(**MEASURED | {"policies": {"it": OwnSequence(**FULL)}})


@pytest.mark.parametrize("own", [own_rule, own_controller, own_cases, own_sequence])
def test_what_is_of_users_own_code_is_refused_and_left_to_the_simulator(own: Any) -> None:
    scenario = own()
    reason = refusals(scenario, ["it"])["it"]
    with pytest.raises(UsageError) as error:
        chosen(scenario, ["it"], "batch")

    assert reason
    assert str(error.value) == (
        f"engine 'batch' can't play policy 'it': {reason}; take engine 'auto' or 'sim'"
    )
    assert chosen(scenario, ["it"], "auto") == {"it": "sim"}
    result = cprsim.run(scenario, replications=3)
    assert result.engines == {"it": "sim"}


def test_a_policy_of_users_own_that_brings_no_code_is_played_in_batches() -> None:
    class Lazy(Full):
        def plan(self, context: Context) -> Plan:
            return Plan("partial", every(1800.0), Always(Recover("lost")))

    scenario = cprsim.Scenario(**MEASURED | {"policies": {"it": Lazy(**FULL)}})
    by_batch, by_sim = (
        cprsim.run(scenario, replications=20, engine=each) for each in ("batch", "sim")
    )

    assert by_batch.engines == {"it": "batch"}
    assert by_batch.replications.equals(by_sim.replications)


class Clockwork(Process):
    """Failures of somebody's own kind: server 0 fails every 4 h."""

    cluster, kinds = Cluster(parameter_servers=4, trainers=2), ()
    mtbf_s = 4 * 3600.0
    mean_hit = MeanHit(1.0, 0.0, 1.0)

    def _drawn(self, streams: CohortStreams, severities: SeverityRows | None) -> Any:
        return self

    def timeline(self, row: int) -> AbsoluteTimeline:
        return AbsoluteTimeline([self.mtbf_s], [Hit((0,), ())], self.mtbf_s)


def test_failures_of_a_new_kind_are_played_whoever_plays_them() -> None:
    scenario = cprsim.Scenario(**MEASURED | {"policies": {"it": FULL}})
    vars(scenario.failure_model)["process"] = Clockwork()

    auto, sim = (cprsim.run(scenario, replications=2, engine=each) for each in ("auto", "sim"))
    # Each failure takes the job back to a whole hour, by a load of a minute: 3 h of progress at
    # 4 h, 6 at 8 and 9 at 12, so it ends after one more hour.
    assert auto.replications["failures"].tolist() == [3, 3]
    assert auto.replications["wall_s"].tolist() == [13 * 3600.0 + 60.0] * 2
    assert auto.replications.equals(sim.replications)


@pytest.mark.parametrize(("replications", "engine"), [(10, "sim"), (1_000_000, "batch")])
def test_few_runs_are_played_by_who_needs_not_be_loaded(replications: int, engine: str) -> None:
    scenario = cprsim.load_scenario(SCENARIOS / "criteo-kaggle.toml")

    assert set(chosen(scenario, list(scenario.policies), "auto", replications).values()) == {engine}


def test_one_engine_for_all_policies(capsys: pytest.CaptureFixture[str]) -> None:
    kaggle = str(SCENARIOS / "criteo-kaggle.toml")
    by_batch = summary(kaggle, "--engine", "batch", capsys=capsys)
    by_sim = summary(kaggle, "--engine", "sim", capsys=capsys)

    assert (by_batch["engine"], by_sim["engine"]) == ("batch", "sim")
    assert {each["engine"] for each in by_batch["policies"].values()} == {"batch"}
    for name, each in by_batch["policies"].items():
        assert each | {"engine": "sim"} == by_sim["policies"][name]
