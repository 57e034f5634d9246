"""What this machine has no room for is refused in one line, before anything is begun."""

import resource
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from cprsim.cli.command import _main
from cprsim.errors import RunError, ScenarioError
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.studies import play
from cprsim.trainer import limits
from cprsim.trainer.limits import check_fits
from cprsim.trainer.section import trainer_section
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
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores, 16 GiB of memory, 50 GB of disk."""
    monkeypatch.setattr(limits, "memory", lambda: 16.0 * GIB)
    monkeypatch.setattr(limits, "cores", lambda: 2)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=50e9))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (20_000, 20_000))
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")


MUCH = {
    "cluster.parameter_servers=1_000_000": (
        "cluster.parameter_servers: 1,000,001 processes take 9 TB of memory, and 2 cores are "
        "enough for 512; give fewer"
    ),
    "cluster.trainers=2": "cluster.trainers: 2, but only 1 can be trained; give 1",
    "storage={save_fails=0.1}": (
        "storage.save_fails: can be simulated but not trained yet; leave it out"
    ),
    "storage={load_fails=0.1}": (
        "storage.load_fails: can be simulated but not trained yet; leave it out"
    ),
    "storage={torn=0.1}": "storage.torn: can be simulated but not trained yet; leave it out",
    'job.allocation="9 d"': "job.allocation: can be simulated but not trained yet; leave it out",
    'failures.silent={mean="9 d"}': (
        "failures.silent: can be simulated but not trained yet; leave it out"
    ),
    'storage={outages={every="60 d",lasts="4 h"}}': (
        "storage.outages: can be simulated but not trained yet; leave it out"
    ),
    "failures.exactly=144_000": (
        "failures: some 144,000 are expected, and replacing what they kill takes 1.2 h at "
        "least; make them so rare that there are 100,000 at most"
    ),
    "job.samples=1_000_000_000_000_000": (
        "job.samples: 1,953,125,000,000 steps take 6782 d at least; give fewer than 4.4e+12 samples"
    ),
    "trainer.hidden=1_000_000_000": (
        "trainer.batch: 512 samples at a time with hidden = 1,000,000,000, 8 tables and 4 dense "
        "features take 4.1 TB of memory; all together 5.3 TB, and this machine has 17.2 GB"
    ),
    "trainer.test_samples=1_000_000_000_000_000": (
        "trainer.test_samples: 1,000,000,000,000,000 of them take 40 PB of memory; all together "
        "40 PB, and this machine has 17.2 GB"
    ),
    "model.tables=[{ rows = 1_000_000_000, dim = 16 }]": (
        "model.tables: 1,000,000,000 rows of 16 numbers take 232 GB of memory; all together "
        "232 GB, and this machine has 17.2 GB"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("override", MUCH)
def test_what_is_too_much_is_told_with_its_estimate(override: str) -> None:
    assert fault(override) == MUCH[override]


def test_what_is_shipped_with_its_samples_has_room() -> None:
    found = set()
    for path in SHIPPED.parent.glob("train-*.toml"):
        mapping = load_mapping(path)
        section = trainer_section(mapping["trainer"])
        if section.files is None:
            check_fits(Scenario(**scenario_tables(mapping)), section, 2)
            found.add(path.stem)
    assert found >= {"train-quick", "train-study"}


def test_several_runs_at_a_time_take_so_many_times_as_much() -> None:
    much = "model.tables=[{ rows = 40_000_000, dim = 16 }]"
    assert fault(much, at_once=2) == (
        "model.tables: 40,000,000 rows of 16 numbers take, in each run, 9.28 GB of memory; all "
        "together (with 2 runs at a time) 18.6 GB, and this machine has 17.2 GB"
    )


def test_few_open_files_bound_the_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4096))
    assert fault("cluster.parameter_servers=100") == (
        "cluster.parameter_servers: 101 processes take 909 MB of memory, and 256 open files "
        "(ulimit -n) are enough for 65; give fewer"
    )


def test_a_small_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5e6))
    assert fault() == (
        "model.tables: two checkpoints of 38,610 rows take 5.25 MB in /tmp, which has 5 MB left; "
        "give fewer rows, or set TMPDIR to a larger place"
    )


@pytest.mark.parametrize("command", ["train", "validate"])
@pytest.mark.parametrize("override", [next(iter(MUCH)), "trainer.learning_rate=nan"])
def test_commands_refuse_before_a_member_is_started(
    command: str, override: str, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr("cprsim.trainer.training.LocalCluster", None)
    monkeypatch.setattr("cprsim.trainer.lab.forking.context", lambda: None)

    assert _main([command, str(SHIPPED), "--policy=full", "--set", override]) == 2
    said = MUCH.get(override, "trainer.learning_rate: ")
    assert capsys.readouterr().err.startswith(f"cprsim: {said}")


def test_a_study_refuses_before_a_worker_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "Workers", None)
    monkeypatch.setattr(limits, "_MEMBERS_PER_CORE", 4)
    store = SimpleNamespace(find=lambda _: None)

    with pytest.raises(ScenarioError, match=r"workers = 2: .* 2 cores are enough for 8 processes"):
        play.play(planned(), store, 2, lambda *_: None)


@pytest.mark.parametrize("command", ["train", "validate", "study"])
def test_a_folder_too_deep_for_sockets_is_told_before_anything_is_started(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
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
def test_a_training_that_diverges_says_so() -> None:
    overrides = ("trainer.learning_rate=1e30", "job.samples=5120", "trainer.test_samples=512")
    mapping = load_mapping(SHIPPED, overrides)
    scenario, section = Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"])

    with pytest.raises(RunError) as error:
        train(scenario, section, "full")
    assert str(error.value) == (
        "trainer.learning_rate: 1e+30 made training diverge, and its predictions are no numbers; "
        "give a smaller one"
    )
