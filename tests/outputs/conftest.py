"""Fixtures of commands that write: a user's folder, refusals in it, and nothing that computes."""

import json
import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from cprsim.cli import command as cli
from cprsim.cli import trained
from cprsim.runs import runner
from tests.mistakes import GOOD
from tests.outputs.commands import CLUSTER, EVENTS, contents
from tests.studies.small import SMALL


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A folder with a run and a sweep, made once."""
    folder = tmp_path_factory.mktemp("stores")
    few = ["--replications", "2", "--out"]
    vary = ["--vary", "costs.save=1 min,2 min", "--vary", "costs.load=1 min,2 min"]
    many = ["--workers", "1", "--engine", "sim"]
    with chdir(folder):
        Path("job.toml").write_text(GOOD)
        assert cli._main(["run", "job.toml", *few, "run"]) == 0
        assert cli._main(["sweep", "job.toml", *vary, *many, *few, "sweep"]) == 0
    return folder


@pytest.fixture
def place(folder, stores, capsys):
    """A folder of a user's: scenarios, a log, a run and a sweep."""
    shutil.copytree(stores, folder, dirs_exist_ok=True)
    Path("study.toml").write_text(SMALL)
    Path("cluster.toml").write_text(CLUSTER)
    Path("log.csv").write_text("time_s,node\n" + "".join(f"{3600 * n * n},1\n" for n in range(40)))
    Path("events.log").write_text("\n".join(json.dumps(each) for each in EVENTS))
    capsys.readouterr()
    return folder


@pytest.fixture
def nothing_runs(monkeypatch):
    """A command that simulates or trains fails the test."""

    def compute(*_):
        raise AssertionError("it was computed before the outputs were checked")

    monkeypatch.setattr(runner, "simulate", compute)
    monkeypatch.setattr(trained, "_ready", lambda: None)
    monkeypatch.setattr("cprsim.trainer.lab.forking.context", compute)
    monkeypatch.setattr("cprsim.trainer.studies.play.play", compute)
    monkeypatch.setattr("cprsim.clusters.run.play", compute)


@pytest.fixture
def refused(place, capsys):
    """Gives the one line that a command says which must end with 2 and change nothing."""

    def refused(*arguments):
        before = contents(place)
        assert cli._main([*arguments]) == 2
        out, err = capsys.readouterr()
        assert contents(place) == before
        assert out == ""
        assert err.startswith("cprsim: ")
        assert err.count("\n") == 1
        return err.removeprefix("cprsim: ").rstrip("\n")

    return refused
