"""Whole scenarios: the command, the simulator beside it, and what is refused."""

import json
import tomllib
from pathlib import Path

import pytest

from cprsim.cli import command as cli
from cprsim.contract import REMOTE, Always, Clock, Loss, Plan, Recover, Save, Tier, every
from cprsim.contract.ledger import CAUSES
from cprsim.errors import RunError, ScenarioError
from cprsim.scenario import Scenario, load_scenario
from cprsim.scenario.mapping import load_mapping
from cprsim.sim.engine import play
from cprsim.trainer.section import trainer_section
from cprsim.trainer.support import LAB
from cprsim.trainer.training import train
from tests.trainer.runs import SMALL

QUICK = Path(__file__).parents[2] / "scenarios" / "train-quick.toml"
TABLES = tomllib.loads(SMALL.read_text(encoding="utf-8"))
SECTION = TABLES.pop("trainer")
#: Saves between steps.
FULL = {"system": "full", "interval": "70 ms"}
DIFFERENCES = FULL | {
    "system": "check-n-run",
    "snapshot": "0 s",
    "tracking": 0.0,
    "bits": 32,
}
#: The last two, in one instant, are one failure; node 3 is the trainer.
KILLS = "time_s,node\n0.03,0\n0.11,2\n0.19,1\n0.2,3\n0.22,1\n0.33,0\n0.33,2\n"


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "kills.csv").write_text(KILLS)
    policies = {
        "full": FULL,
        "differences": DIFFERENCES,
        "partial": FULL | {"system": "partial"},
    }
    return Scenario(
        **TABLES | {"failures": {"trace": str(tmp_path / "kills.csv")}, "policies": policies}
    )


@pytest.mark.parametrize(
    "policy",
    ["full", *(pytest.param(each, marks=pytest.mark.slow) for each in ("differences", "partial"))],
)
def test_a_run_is_that_of_a_simulator_in_which_only_training_takes_time(scenario, policy):
    """Other policies are held beside it in test_oracle.py, on a schedule of kills."""
    simulated = play(scenario, policy, seed=0, replication=0)

    trained = train(scenario, trainer_section(SECTION), policy)

    assert trained.failures == simulated.failures == 6
    assert trained.pls == pytest.approx(simulated.pls, rel=1e-12)
    assert trained.struck == trained.replaced == 7
    assert set(trained.seconds) == set(CAUSES)
    if policy == "partial":  # whole saves: each update of a shard since then is lost
        assert trained.updates_lost == pytest.approx(simulated.updates_lost, rel=0.1)
    else:
        assert trained.updates_lost == trained.pls == 0
        # The simulator's lost seconds are steps of 0.01 s that were trained again.
        assert simulated.lost > 0
        assert trained.executed - trained.steps == round(simulated.lost / 0.01)


def test_processes_know_the_policy_alone_that_is_trained(monkeypatch):
    """Else each that starts imports the code of all, and restarts take so much longer."""
    seen = []

    def cluster(spec):
        seen.extend(spec.scenario.policies)
        raise InterruptedError

    monkeypatch.setattr("cprsim.trainer.training.LocalCluster", cluster)
    quick = load_scenario(QUICK)
    with pytest.raises(InterruptedError):
        train(quick, trainer_section(load_mapping(QUICK)["trainer"]), "partial")
    assert (seen, len(quick.policies) > 1) == (["partial"], True)


@pytest.mark.slow
def test_the_command_trains_the_shipped_scenario(tmp_path, capsys):
    out = tmp_path / "out"
    asked = ["train", str(QUICK), "--json", "--policy", "full", "--out", str(out)]
    assert cli._main(asked) == 0
    document = json.loads(capsys.readouterr().out)
    section = trainer_section(load_mapping(QUICK)["trainer"])
    unharmed = train(load_scenario(QUICK, ["failures.exactly=0"]), section, "full")

    assert document["failures"] == 4
    assert unharmed.failures == 0
    assert document["predictions_sha256"] == unharmed.predictions_sha256
    assert document["auc"] > 0.75  # the teacher's own is higher; a coin's is 0.5
    assert document["seconds"].keys() == set(CAUSES)
    assert json.loads((out / "train.json").read_text()) == document
    assert load_scenario(out / "scenario.toml") == load_scenario(QUICK)


def test_without_torch_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert cli._main(["train", str(QUICK)]) == 2
    assert capsys.readouterr().err == (
        'cprsim: torch is not installed, and real training needs it: pip install "cprsim[torch]"\n'
    )


LISTED = tomllib.loads(Path(__file__).with_name("refused.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("told", "changed"), [(told, case) for told, (case,) in LISTED.items()])
def test_what_can_not_be_trained_is_refused(told, changed):
    own = {"failures": {"exactly": 1}, "policies": {"full": FULL}}
    mapping = TABLES | own | {"trainer": {}} | changed
    section = SECTION | mapping.pop("trainer")

    with pytest.raises(ScenarioError) as error:
        train(Scenario(**mapping), trainer_section(section), "full")

    assert str(error.value) == told


def test_an_answer_that_can_not_be_carried_out_ends_the_run():
    tiers = (Tier("peer", "peers"), REMOTE)
    saves = (*every(5.0, Save("peer")), *every(10.0))
    plan = Plan("full", saves, Always(Recover("lost", healthy="peer")), tiers)
    loss = Loss(frozenset({1}), frozenset())

    with pytest.raises(RunError, match="checkpoints in peer can be simulated but not trained yet"):
        LAB.start(plan).answer(Clock(0.0, 0.0), loss)


def test_the_simulator_leaves_the_block_alone():
    assert "trainer" in load_mapping(QUICK)
    assert load_scenario(QUICK).title
    assert cli._main(["run", str(QUICK), "--replications", "2", "--policy", "full"]) == 0
