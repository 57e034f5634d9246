"""No command replaces a file in a folder that it was not asked to write."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cprsim.basics.files import write_all
from cprsim.basics.manifest import with_manifest, written_files
from cprsim.cli import command as cli
from cprsim.cli import output
from cprsim.cli.replacing import check_file, check_folder
from cprsim.errors import UsageError
from cprsim.runs import runner
from tests.mistakes import GOOD, LAW
from tests.outputs.commands import FOLDERS, MINE, contents


@pytest.mark.parametrize(
    ("command", "name"), [(each, name) for each, (_, names) in FOLDERS.items() for name in names]
)
def test_a_folder_keeps_each_file_that_cprsim_did_not_write(refused, nothing_runs, command, name):
    """R1: `--out .` replaced the user's scenario.toml by the resolved one."""
    Path(name).write_bytes(MINE)
    did_not = f"cprsim did not write {name}"
    fault = "manifest.json is not as cprsim wrote it" if name == "manifest.json" else did_not

    assert refused(*FOLDERS[command][0], "--out", ".") == (
        f"--out .: {fault}; give another folder, or --force to replace what is there"
    )


@pytest.mark.parametrize("way", ["plain", "symbolic link", "hard link", "through a folder"])
@pytest.mark.parametrize(
    ("name", "failures"),
    [
        ("scenario.toml", LAW),
        ("results.csv", 'trace = "{}"\n'),
        ("report.html", 'log = "{}"\nmean = "5 h"\ndistribution = "exponential"\n'),
    ],
)
def test_a_folder_keeps_files_that_are_read(refused, nothing_runs, name, failures, way):
    """However they are reached: the same file under another path is the same file."""
    Path("out").mkdir()
    own = Path("out", name)
    own.write_text(GOOD if failures == LAW else "time_s,node\n100,1\n900,2\n")
    other = {"plain": own, "through a folder": Path("linked", name)}.get(way, Path("it.csv"))
    if way == "symbolic link":
        other.symlink_to(own)
    elif way == "hard link":
        other.hardlink_to(own)
    Path("linked").symlink_to("out")
    Path("job.toml").write_text(GOOD.replace(LAW, failures.format(other)))
    job = other if failures == LAW else Path("job.toml")

    assert refused("run", str(job), "--out", "out", "--force") == (
        f"--out out: this command reads {name}; give another folder"
    )


def test_a_file_that_was_changed_since_stays(refused, nothing_runs):
    with Path("run/scenario.toml").open("a") as file:
        file.write("# a note of mine\n")

    assert refused("run", "job.toml", "--out", "run") == (
        "--out run: manifest.json does not match scenario.toml; give another folder, or --force to "
        "replace what is there"
    )


def test_links_and_devices_stay_even_if_forced(refused, nothing_runs):
    """In a folder, and as a single file; an empty file, as mktemp leaves it, is replaced."""
    Path("out").mkdir()
    Path("mine.csv").write_bytes(MINE)
    Path("out/results.csv").symlink_to("../mine.csv")
    os.mkfifo("out/report.html")
    Path("empty.png").touch()
    refusals = {
        "results.csv": "is a link to ../mine.csv",
        "report.html": "is no regular file, which alone can be replaced",
    }

    assert refused("run", "job.toml", "--out", "out", "--force") == (
        f"--out out: {', and '.join(map(' '.join, refusals.items()))}; give another folder"
    )
    for name, fault in refusals.items():
        with pytest.raises(UsageError) as raised:
            check_file(Path("out", name), "png", "--out", force=True)
        assert str(raised.value) == f"--out out/{name}: {fault}; give another name"
    check_file(Path("empty.png"), "png", "--out", force=False)


@pytest.mark.slow
def test_the_files_of_an_earlier_run_are_replaced(place):
    before = contents(Path("run"))
    asked = ["run", "job.toml", "--replications", "2", "--json", "--out", "run"]
    assert cli._main([*asked, "--seed", "1"]) == 0
    assert contents(Path("run")) != before
    assert cli._main(asked) == 0
    assert contents(Path("run")) == before


@pytest.mark.slow
def test_force_replaces_the_others(place):
    expected = contents(Path("run"))
    Path("run/manifest.json").write_bytes(MINE)
    Path("run/report.html").write_bytes(MINE)

    asked = ["run", "job.toml", "--replications", "2", "--json", "--out", "run"]
    assert cli._main([*asked, "--force"]) == 0
    assert contents(Path("run")) == expected


def test_two_commands_share_a_folder(folder):
    """Each manifest names what the other command left, and a changed file is kept."""
    first = output.OutputFolder(folder, ["a", "both", "manifest.json"], force=False)
    first.write(with_manifest({"a": b"1", "both": b"1"}, {}), silent=True)
    second = output.OutputFolder(folder, ["b", "both", "manifest.json"], force=False)
    second.write(with_manifest({"b": b"2", "both": b"2"}, {}), silent=True)

    assert written_files(folder).keys() == {"a", "b", "both", "manifest.json"}
    output.OutputFolder(folder, ["a", "both", "b", "manifest.json"], force=False)
    (folder / "a").write_bytes(MINE)
    with pytest.raises(UsageError, match=r"manifest\.json does not match a; give another folder"):
        output.OutputFolder(folder, ["a", "both", "manifest.json"], force=False)


@pytest.mark.slow
def test_a_file_that_comes_while_it_is_computed_stays(place, monkeypatch, capsys):
    simulate = runner.simulate

    def meanwhile(*arguments):
        Path("new").mkdir(exist_ok=True)
        Path("new/report.html").write_bytes(MINE)
        return simulate(*arguments)

    monkeypatch.setattr(runner, "simulate", meanwhile)

    assert cli._main(["run", "job.toml", "--replications", "2", "--out", "new"]) == 2
    assert contents(Path("new")) == {"report.html": MINE}
    assert capsys.readouterr().err == (
        "cprsim: --out new: cprsim did not write report.html; give another folder, or --force to "
        "replace what is there\n"
    )


# The manifest itself (R10)

CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "another seed": lambda text: text.replace(b'"seed": 0', b'"seed": 1'),
    "another policy": lambda text: text.replace(b'"full"', b'"fuller"'),
    "another hash": lambda text: re.sub(rb'"[0-9a-f]{64}"', b'"' + b"0" * 64 + b'"', text, count=1),
    "no own hash": lambda text: re.sub(rb',\n  "manifest_sha256": "\w+"', b"", text),
    "cut": lambda text: text[:-20],
    "empty": lambda _: b"",
    "a list": lambda _: b"[1]",
    "of a web page": lambda _: b'{"name": "my app", "icons": []}',
    "deep": lambda _: b"[" * 100_000,
    "no text": lambda _: b"\xff\xfe",
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_manifest_that_was_changed_gives_no_file_up(refused, nothing_runs, change):
    manifest = Path("run/manifest.json")
    text = CHANGES[change](manifest.read_bytes())
    assert text != manifest.read_bytes()
    manifest.write_bytes(text)

    assert refused("run", "job.toml", "--out", "run") == (
        "--out run: manifest.json is not as cprsim wrote it, and nothing shows that cprsim wrote "
        "results.csv, scenario.toml, breakdown.png and report.html; give another folder, or "
        "--force to replace what is there"
    )
    asked = ("figure", "policy-breakdown", "run", "--out", "x.png")
    if change == "no own hash":  # an older version wrote none, and what it wrote is still read
        assert cli._main([*asked]) == 0
        return
    assert refused(*asked) == (
        "run/manifest.json: is not as cprsim wrote it; run that again, with --force"
    )


def test_what_a_kill_left_is_placed_before_the_check(folder):
    """Files that are new and a manifest that is old are no change by the user."""
    write_all(folder, with_manifest({"a": b"old"}, {}))
    (folder / ".cprsim.new").mkdir()
    new = with_manifest({"a": b"new"}, {})
    (folder / "a").write_bytes(new["a"])
    (folder / ".cprsim.new/manifest.json").write_bytes(new["manifest.json"])

    check_folder(folder, new, "--out", force=False)

    assert written_files(folder).keys() == {"a", "manifest.json"}


# Folders of two commands, and of sweeps


def test_a_sweep_keeps_a_file_of_the_users_in_the_place_of_its_own(refused, nothing_runs):
    Path("out").mkdir()
    Path("out/sweep.db").write_bytes(MINE * 100)
    asked = ["sweep", "job.toml", "--vary", "costs.save=1 min", "--workers", "1", "--out", "out"]

    assert refused(*asked, "--force").startswith("out/sweep.db: ")


@pytest.mark.parametrize("name", ["sweep.db-journal", "sweep.db-wal", "sweep.db-shm"])
def test_a_sweep_keeps_what_sqlite_would_delete(refused, nothing_runs, name):
    Path("out").mkdir()
    Path("out", name).write_bytes(MINE)
    asked = ["sweep", "job.toml", "--vary", "costs.save=1 min", "--workers", "1", "--out", "out"]

    assert refused(*asked) == (
        f"--out out: {name} is there without sweep.db, and the sweep would delete it; move it, or "
        "give another folder"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        ("figure", "policy-breakdown", "two", "--out", "c.png"),
        ("export", "two", "--format", "prometheus"),
    ],
)
def test_the_manifest_of_another_command_is_not_that_of_a_run(refused, capsys, asked):
    assert cli._main(["run", "job.toml", "--replications", "2", "--out", "two"]) == 0
    assert cli._main(["advise", "job.toml", "--system", "full", "--out", "two"]) == 0
    capsys.readouterr()

    assert "another command wrote to it after the one that wrote results.csv" in refused(*asked)
