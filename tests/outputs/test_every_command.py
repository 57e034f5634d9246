"""What holds for every command that writes: its options, what it has read, paths that are gone."""

import inspect
import os
import re
from pathlib import Path

import pytest
from typer.models import OptionInfo

from cprsim.basics import reading
from cprsim.cli import command as cli
from cprsim.cli.options import given_path
from tests.outputs.commands import FILES, FOLDERS

#: Options that name a file or a folder to write.
WRITTEN = ("--out", "--plot", "--map", "--copy")


def options(written: bool = True) -> list[tuple[str, str]]:
    """Every option of a command, by the command's name; or those that name what it writes."""
    return [
        (command.callback.__name__, given.default if given.default is not ... else f"--{name}")
        for command in cli.app.registered_commands
        if command.callback is not None
        for name, parameter in inspect.signature(command.callback).parameters.items()
        for given in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(given, OptionInfo) and (not written or given.parser is given_path)
    ]


def test_all_options_that_write_are_known_here():
    tried = {(asked[0], "--out") for asked, _ in FOLDERS.values()}
    tried |= {(asked[0], asked[-1]) for asked, _ in FILES.values()}
    assert {*options()} == tried | {("sweep", "--out"), ("scenarios", "--copy")}


def test_commands_write_by_nothing_else():
    """What a new command writes is checked as well, and its option has --force with it."""
    named = {each for each in options(written=False) if each[1] in WRITTEN}
    assert named == {*options()}
    forced = {command for command, option in options(written=False) if option == "--force"}
    assert forced == {command for command, _ in options()}
    for path in Path(cli.__file__).parent.glob("*.py"):
        if path.name != "output.py":
            assert not re.search(r"write_all|write_bytes|write_text|savefig", path.read_text()), (
                path
            )


@pytest.mark.parametrize(("command", "option"), options())
def test_an_empty_path_is_an_error(refused, nothing_runs, command, option):
    """R1: `--out "$UNSET"` meant the working directory."""
    needed = {
        "timeline": ["job.toml", "--policy", "full"], "export": ["sweep", "--format", "csv"],
        "scenarios": ["quickstart"], "figure": ["scaling"], "fit": ["log.csv"],
        "train": ["train-quick"], "validate": ["train-quick"], "study": ["study.toml"],
        "replay": ["events.log"], "cluster": ["cluster.toml"],
    }  # fmt: skip
    for given in ([option, ""], [f"{option}="]):
        assert refused(command, *needed.get(command, ["job.toml"]), *given) == (
            f"Invalid value for '{option}': is empty (a shell variable that is not set?); give a "
            "path"
        )


# What counts as read


def test_files_that_any_code_opens_for_reading_are_recorded(folder):
    for name in ("a", "b", "c", "d", "e"):
        Path(name).write_text("x")
    numbers = {each.name: (each.stat().st_dev, each.stat().st_ino) for each in folder.iterdir()}
    with reading.recorded():
        Path("a").read_text()
        os.close(os.open("b", os.O_RDONLY))
        Path("c").open("r+").close()
        Path("d").open("a").close()
        with reading.unrecorded():
            Path("e").read_text()
        reading.note("not there")
        found = reading.read_files()
    assert {name for name in numbers if numbers[name] in found} == {"a", "b", "c"}
    assert not {*numbers.values()} & reading.read_files()


# The working directory and links (R13)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{}/job.toml"],
        ["run", "job.toml"],
        ["run", "quickstart", "--out", "out"],
        ["advise", "quickstart"],
        ["scenarios", "quickstart", "--copy", "x.toml"],
        ["fit", "{}/log.csv", "--plot", "x.png"],
        ["figure", "ecrm-recovery", "--out", "x.png"],
        ["export", "{}/sweep", "--format", "csv", "--out", "x.csv"],
        ["timeline", "quickstart", "--policy", "full", "--out", "x.png"],
    ],
)
def test_a_working_directory_that_was_deleted_is_named(
    place, capsys, monkeypatch, nothing_runs, arguments
):
    there = place / "there"
    there.mkdir()
    monkeypatch.chdir(there)
    monkeypatch.setenv("PWD", str(there))
    there.rmdir()

    assert cli._main([each.format(place) for each in arguments]) == 2
    assert capsys.readouterr() == (
        "",
        f"cprsim: the working directory {there} does not exist any more; change to one that does "
        "(cd), and run the command again\n",
    )


DANGLING = "is a link to gone, which does not exist"
MEND = f"{DANGLING}; point it at a file that does"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "link.toml"], f"link.toml: {MEND}"),
        (["run", "link"], f"link: {MEND}"),
        (["fit", "link.csv"], f"link.csv: {MEND}"),
        (["rows", "--from", "link.csv"], f"link.csv: {MEND}"),
        (["figure", "interval", "link.toml", "--out", "x.png"], f"link.toml: {MEND}"),
        (["run", "job.toml", "--set", "failures.trace=link.csv"],
         f"failures.trace: {{}}/link.csv: {MEND}"),
        (["run", "job.toml", "--out", "link"], f"--out link: link {DANGLING}; remove that link"),
        (["run", "job.toml", "--out", "link/a"],
         f"--out link/a: link {DANGLING}; remove that link"),
        (["run", "job.toml", "--out", "sub"],
         f"--out sub: results.csv {DANGLING}; give another folder"),
        (["timeline", "job.toml", "--policy", "full", "--out", "link.png"],
         f"--out link.png: {DANGLING}; give another name"),
        (["scenarios", "quickstart", "--copy", "link.toml"],
         f"--copy link.toml: {DANGLING}; give another name"),
    ],
)  # fmt: skip
def test_a_link_that_leads_nowhere_is_named_with_its_target(refused, nothing_runs, arguments, said):
    Path("sub").mkdir()
    for name in ("link", "link.toml", "link.csv", "link.png", "sub/results.csv"):
        Path(name).symlink_to("gone")

    assert refused(*arguments) == said.format(Path.cwd())
