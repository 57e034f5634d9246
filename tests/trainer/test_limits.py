"""What this machine has no room for is refused in one line, before anything is begun."""

import resource
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from cprsim.cli.command import _main
from cprsim.errors import RunError, ScenarioError
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.trainer import limits
from cprsim.trainer.limits import check_fits
from cprsim.trainer.section import trainer_section
from cprsim.trainer.studies import play
from cprsim.trainer.training import train
from tests.studies.test_design import planned

SHIPPED = Path(__file__).parents[2] / "scenarios" / "train-quick.toml"
GIB = 2**30


def fault(*overrides: str, at_once: int = 1) -> str:
    mapping = load_mapping(SHIPPED, overrides)
    with pytest.raises(ScenarioError) as error:
        check_fits(
            Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"]), at_once
        )
    (line,) = error.value.args
    return str(line)


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """Two cores, 16 GiB of memory."""
    monkeypatch.setattr(limits, "memory", lambda: 16.0 * GIB)
    monkeypatch.setattr(limits, "cores", lambda: 2)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (20_000, 20_000))
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")


ALONE = "can be simulated but not trained yet; leave it out"
MUCH = {
    "cluster.parameter_servers=1_000_000": (
        "cluster.parameter_servers: 1,000,001 processes, and this machine has room for 512 (2 "
        "cores, as many open files as ulimit -n says); give fewer"
    ),
    "cluster.trainers=2": "cluster.trainers: 2, but only 1 can be trained; give 1",
    "storage={save_fails=0.1}": f"storage.save_fails: {ALONE}",
    'job.allocation="9 d"': f"job.allocation: {ALONE}",
    'failures.silent={mean="9 d"}': f"failures.silent: {ALONE}",
    "trainer.hidden=1_000_000_000": (
        "trainer.batch: 512 samples at a time with hidden = 1,000,000,000: training takes 5.3 TB "
        "of memory, and this machine has 17.2 GB"
    ),
    "trainer.test_samples=1_000_000_000_000_000": (
        "trainer.test_samples: 1,000,000,000,000,000 of them: training takes 40 PB of memory, and "
        "this machine has 17.2 GB"
    ),
    "model.tables=[{ rows = 1_000_000_000, dim = 16 }]": (
        "model.tables: 1,000,000,000 rows of 16 numbers: training takes 232 GB of memory, and this "
        "machine has 17.2 GB"
    ),
}
TWICE = {
    "model.tables=[{ rows = 40_000_000, dim = 16 }]": (
        "model.tables: 40,000,000 rows of 16 numbers in 2 runs at a time: training takes 18.6 GB "
        "of memory, and this machine has 17.2 GB"
    ),
}


@pytest.mark.parametrize(
    "override", [*(pytest.param(each, marks=pytest.mark.slow) for each in MUCH), *TWICE]
)
def test_what_is_too_much_is_told_with_its_estimate(override):
    assert fault(override, at_once=1 + (override in TWICE)) == (MUCH | TWICE)[override]


def test_what_is_shipped_with_its_samples_has_room():
    for name in ("train-quick", "train-study"):
        mapping = load_mapping(SHIPPED.with_name(f"{name}.toml"))
        section = trainer_section(mapping["trainer"])
        check_fits(Scenario(**scenario_tables(mapping)), section, 2)


def test_few_open_files_bound_the_members(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4096))
    assert "101 processes, and this machine has room for 65" in fault(
        "cluster.parameter_servers=100"
    )


@pytest.mark.parametrize("command", ["train", "validate"])
@pytest.mark.parametrize("override", [next(iter(MUCH)), "trainer.learning_rate=nan"])
def test_commands_refuse_before_a_member_is_started(command, override, monkeypatch, capsys):
    monkeypatch.setattr("cprsim.trainer.training.LocalCluster", None)
    monkeypatch.setattr("cprsim.trainer.lab.forking.context", lambda: None)

    assert _main([command, str(SHIPPED), "--policy=full", "--set", override]) == 2
    said = MUCH.get(override, "trainer.learning_rate: ")
    assert capsys.readouterr().err.startswith(f"cprsim: {said}")


def test_a_study_refuses_before_a_worker_is_started(monkeypatch):
    monkeypatch.setattr(play, "Workers", None)
    monkeypatch.setattr(limits, "_MEMBERS_PER_CORE", 4)
    store = SimpleNamespace(find=lambda _: None)

    with pytest.raises(
        ScenarioError, match=r"processes in 2 runs at a time, and this machine has room for 8"
    ):
        play.play(planned(), store, 2, lambda *_: None)


@pytest.mark.parametrize("command", ["train", "validate", "study"])
def test_a_folder_too_deep_for_sockets_is_told_before_anything_is_started(
    command, tmp_path, monkeypatch, capsys
):
    deep = "/tmp/" + 63 * "x"
    monkeypatch.setattr(tempfile, "tempdir", deep)
    monkeypatch.setattr("multiprocessing.forkserver.ensure_running", None)
    monkeypatch.setattr(play, "Workers", None)
    out = [f"--out={tmp_path}"] if command == "study" else []
    config = "train-study.toml" if command == "study" else "train-quick.toml"

    assert _main([command, str(SHIPPED.with_name(config)), *out]) == 2
    assert capsys.readouterr().err == (
        f"cprsim: TMPDIR = {deep}: too long for the paths of Unix sockets in it; set it to one of "
        "at most 63 bytes\n"
    )


@pytest.mark.slow
def test_a_training_that_diverges_says_so():
    overrides = ("trainer.learning_rate=1e30", "job.samples=5120", "trainer.test_samples=512")
    mapping = load_mapping(SHIPPED, overrides)
    scenario, section = Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"])

    with pytest.raises(RunError) as error:
        train(scenario, section, "full")
    assert str(error.value) == (
        "trainer.learning_rate: 1e+30 made training diverge, and its predictions are no numbers; "
        "give a smaller one"
    )
