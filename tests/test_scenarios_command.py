"""Shipped scenarios by their names: listed, shown, copied, and in the place of a path."""

import json
from pathlib import Path

import pytest

import cprsim
from cprsim.basics import shipped
from cprsim.cli.command import _main
from cprsim.errors import ScenarioError
from tools.paths import ROOT

FILES = sorted((ROOT / "scenarios").glob("*.toml"))


def test_all_of_them_are_listed_with_their_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert _main(["scenarios"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert [line.split()[0] for line in lines] == [path.stem for path in FILES]
    assert "quickstart        Quickstart: a four-day job on 10 parameter servers" in lines


def test_the_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert _main(["scenarios", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["scenarios"]

    assert [each["name"] for each in listed] == [path.stem for path in FILES]
    assert listed[0]["title"].startswith("Accepted loss: 200 parameter servers")


@pytest.mark.parametrize("name", ["tiered", "tiered.toml"])
def test_one_is_shown_as_it_stands(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _main(["scenarios", name]) == 0
    assert capsys.readouterr().out == (ROOT / "scenarios/tiered.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["quickstart", "failures.csv"])
def test_a_copy_is_the_same_file(name: str, folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert _main(["scenarios", name, "--copy", "mine/job"]) == 0
    assert capsys.readouterr().out == ""
    assert Path("mine/job").read_bytes() == shipped.named(name).read_bytes()


def test_a_name_stands_for_the_path(folder) -> None:
    by_name, by_path = (
        cprsim.load_scenario(each) for each in ("quickstart", ROOT / "scenarios/quickstart.toml")
    )
    assert by_name.mapping() == by_path.mapping()


def test_a_file_of_ones_own_comes_before_the_shipped_one(folder) -> None:
    Path("quickstart").write_text("title = 1")

    with pytest.raises(ScenarioError, match=r"^title: 1 is not a string\n"):
        cprsim.load_scenario("quickstart")


def test_a_folder_of_that_name_does_not_hide_it(folder) -> None:
    Path("quickstart").mkdir()

    assert cprsim.load_scenario("quickstart").title.startswith("Quickstart")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "quickstart", "--replications", "2"],
        ["advise", "quickstart", "--closed-form"],
        ["rows", "criteo-kaggle"],
        ["timeline", "quickstart", "--policy", "full", "--out", "full.json.gz"],
    ],
    ids=lambda each: each[0],
)
def test_commands_take_names(arguments: list[str], folder, capsys) -> None:
    assert _main(arguments) == 0
    written = "cprsim: wrote full.json.gz\n" * (arguments[0] == "timeline")
    assert capsys.readouterr().err == written


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        [
            "sweep",
            "quickstart",
            "--vary",
            "cluster.spares=0,1",
            "--out",
            "s",
            "--replications",
            "2",
        ],
        ["fit", str(ROOT / "scenarios/failures.csv"), "--for", "quickstart"],
        ["figure", "interval", "quickstart", "--out", "interval.svg"],
    ],
    ids=lambda each: each[0],
)
def test_slow_commands_take_names(arguments: list[str], folder, capsys) -> None:
    assert _main(arguments) == 0
    said = capsys.readouterr().err
    assert all(line.startswith("cprsim: wrote ") for line in said.splitlines()), said
