"""No command replaces a file that it was not asked to write."""

import gzip
import inspect
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest
from matplotlib.figure import Figure
from PIL import Image
from typer.models import OptionInfo

from cprsim.basics import reading
from cprsim.basics.files import write_all
from cprsim.basics.manifest import with_manifest, written_files
from cprsim.cli import cluster, output, replay, trained
from cprsim.cli import command as cli
from cprsim.cli.options import given_path
from cprsim.cli.replacing import check_file, check_folder
from cprsim.errors import UsageError
from cprsim.report import answer_page
from cprsim.report import outputs as run_outputs
from cprsim.runs import runner
from cprsim.trainer.studies import outputs as study_outputs
from tests.mistakes import GOOD, LAW
from tests.studies.test_command import SMALL

#: Commands that write into a folder, and the names of the files that they write there.
FOLDERS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "run": (["run", "job.toml", "--replications", "2"], run_outputs.NAMES),
    "advise": (["advise", "job.toml", "--system", "full"], answer_page.NAMES),
    "train": (["train", "train-quick"], trained._TRAINED),
    "validate": (["validate", "train-quick"], trained._VALIDATED),
    "study": (["study", "study.toml"], study_outputs.NAMES),
    "replay": (["replay", "events.log"], replay.NAMES),
    "cluster": (["cluster", "cluster.toml"], cluster.NAMES),
}
#: Commands that write a file: the option, names for it, and what to call its format.
PICTURES = {"x.png": "PNG picture", "x.svg": "SVG picture", "x.PDF": "PDF picture"}
FILES: dict[str, tuple[list[str], dict[str, str]]] = {
    "timeline": (
        ["timeline", "job.toml", "--policy", "full", "--out"],
        PICTURES | {"x.json.gz": "trace", "x.prom": "file of metrics"},
    ),
    "figure": (["figure", "ecrm-recovery", "--out"], PICTURES),
    "fit": (["fit", "log.csv", "--plot"], {"x.png": "PNG picture"}),
    "rows": (["rows", "criteo-kaggle", "--policy", "cpr-mfu", "--plot"], {"x.png": "PNG picture"}),
    "map": (["sweep", "sweep", "--map"], {"x.png": "PNG picture"}),
    "csv": (
        ["export", "sweep", "--format", "csv", "--out"],
        {"t.csv": "CSV table", "t": "CSV table"},
    ),
    "parquet": (
        ["export", "sweep", "--format", "parquet", "--out"],
        {"t.parquet": "Parquet table"},
    ),
    "prometheus": (["export", "run", "--format", "prometheus", "--out"], {"m": "file of metrics"}),
    "opentelemetry": (
        ["export", "run", "--format", "opentelemetry", "--out"],
        {"m.json": "file of metrics"},
    ),
}  # fmt: skip
EACH_FILE = [(command, name) for command, (_, names) in FILES.items() for name in names]
MINE = b"# my own\n"
#: Of a job: two starts, each with saves.
EVENTS = [
    {"event_type": kind, "timestamp": 1_700_000_000 + at_s, "step": step}
    for at_s, kind, step in (
        *((0, "job_started", 0), (60, "checkpoint_loaded", 0), (160, "checkpoint_saved", 50)),
        *((260, "checkpoint_saved", 100), (300, "job_failed", 100), (400, "job_started", 100)),
        *((460, "checkpoint_loaded", 100), (560, "checkpoint_saved", 150)),
        *((660, "checkpoint_saved", 200), (670, "job_ended", 200)),
    )
]
#: Of the job of `GOOD`.
CLUSTER = '[cluster]\nnodes = 99\n[[jobs]]\nname = "a"\nscenario = "job.toml"\npolicy = "full"\n'
#: Options that name a file or a folder to write.
WRITTEN = ("--out", "--plot", "--map", "--copy")


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A folder with a run and a sweep, made once."""
    folder = tmp_path_factory.mktemp("stores")
    before = Path.cwd()
    os.chdir(folder)
    try:
        Path("job.toml").write_text(GOOD)
        few = ["--replications", "2", "--out"]
        assert cli._main(["run", "job.toml", *few, "run"]) == 0
        vary = ["--vary", "costs.save=1 min,2 min", "--vary", "costs.load=1 min,2 min"]
        many = ["--workers", "1", "--engine", "sim"]
        assert cli._main(["sweep", "job.toml", *vary, *many, *few, "sweep"]) == 0
    finally:
        os.chdir(before)
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


def contents(folder: Path) -> dict[str, bytes | str]:
    """All files and links below a folder; a link as where it leads."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {
        name: str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for name, path in found.items()
        if path.is_symlink() or path.is_file()
    }


# Folders


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


@pytest.mark.parametrize("forced", [[], ["--force"]])
@pytest.mark.parametrize("command", ["run", "advise"])
def test_a_folder_keeps_the_scenario_that_is_read(refused, nothing_runs, command, forced):
    Path("job.toml").rename("scenario.toml")
    asked = [command, "scenario.toml", "--out", ".", *forced]

    assert refused(*asked) == "--out .: this command reads scenario.toml; give another folder"


@pytest.mark.parametrize("link", ["symbolic", "hard", "folder"])
@pytest.mark.parametrize(
    ("name", "failures"),
    [
        ("results.csv", 'trace = "{}"\n'),
        ("report.html", 'log = "{}"\nmean = "5 h"\ndistribution = "exponential"\n'),
    ],
)
def test_a_folder_keeps_files_that_the_scenario_names(refused, nothing_runs, name, failures, link):
    """However they are reached: the same file under another path is the same file."""
    Path("out").mkdir()
    Path("out", name).write_text("time_s,node\n100,1\n900,2\n")
    other = Path("linked", name) if link == "folder" else Path("it.csv")
    if link == "symbolic":
        other.symlink_to(Path("out", name))
    elif link == "hard":
        other.hardlink_to(Path("out", name))
    else:
        Path("linked").symlink_to("out")
    Path("job.toml").write_text(GOOD.replace(LAW, failures.format(other)))

    assert refused("run", "job.toml", "--out", "out", "--force") == (
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
    Path("out").mkdir()
    Path("mine.csv").write_bytes(MINE)
    Path("out/results.csv").symlink_to("../mine.csv")
    os.mkfifo("out/report.html")

    assert refused("run", "job.toml", "--out", "out", "--force") == (
        "--out out: results.csv is a link to ../mine.csv, and report.html is no regular file, "
        "which alone can be replaced; give another folder"
    )


@pytest.mark.slow
def test_the_files_of_an_earlier_run_are_replaced(place):
    before = contents(Path("run"))
    asked = ["run", "job.toml", "--replications", "2", "--json", "--out", "run"]
    assert cli._main([*asked, "--seed", "1"]) == 0
    assert contents(Path("run")) != before
    assert cli._main(asked) == 0
    assert contents(Path("run")) == before


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


# Files


@pytest.mark.slow
@pytest.mark.parametrize("command", FILES)
def test_an_older_output_is_replaced(place, command):
    asked, (name, *_) = FILES[command]
    if name == "x.png":
        Path(name).write_bytes(Path("run/breakdown.png").read_bytes())
    else:
        assert cli._main([*asked, name]) == 0
    before = Path(name).stat().st_ino
    assert cli._main([*asked, name]) == 0
    assert Path(name).stat().st_ino != before


@pytest.mark.parametrize("name", ["x.png", "x.svg", "x.pdf"])
def test_a_picture_that_matplotlib_drew_for_somebody_else_stays(refused, name):
    figure = Figure()
    figure.savefig(name)
    assert "exists already" in refused("figure", "interval", "--out", name)


def foreign(name: str) -> bytes:
    """A file of another program in the format that a name ends in."""
    buffer = io.BytesIO()
    if name.endswith((".png", ".PDF")):
        Image.new("RGB", (4, 4)).save(buffer, name[-3:].lower())
        return buffer.getvalue()
    return {
        "x.svg": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>',
        "x.json.gz": gzip.compress(b'{"traceEvents":[],"otherData":{}}'),
        "x.prom": b"# HELP node_load1 1m load average\n",
        "t.csv": b"point,lat,lon\n1,2,3\n",
        "t": b"time_s,node\n1,2\n",
        "t.parquet": b"PAR1" + bytes(100) + b"PAR1",
        "m": b"# HELP node_load1 1m load average\n",
        "m.json": b'{\n    "resource_metrics": []}',
    }[name]


@pytest.mark.parametrize("content", [lambda _: MINE, foreign], ids=["text", "same format"])
@pytest.mark.parametrize(("command", "name"), EACH_FILE)
def test_a_file_that_cprsim_did_not_write_stays(refused, nothing_runs, command, name, content):
    """R2: `export --out sw/sweep.db` replaced the sweep that it read."""
    asked, kinds = FILES[command]
    Path(name).write_bytes(content(name))

    assert refused(*asked, name) == (
        f"{asked[-1]} {name}: exists already and is not a {kinds[name]} of cprsim's; give another "
        "name, or --force to replace it"
    )


READ = {
    "the sweep": (["export", "sweep", "--format", "csv", "--out"], "sweep/sweep.db"),
    "the rows of a run": (["export", "run", "--format", "prometheus", "--out"], "run/results.csv"),
    "its manifest": (["export", "run", "--format", "opentelemetry", "--out"], "run/manifest.json"),
    "its scenario": (["export", "run", "--format", "prometheus", "--out"], "./run/scenario.toml"),
    "the scenario": (["timeline", "job.toml", "--policy", "full", "--out"], "job.toml"),
    "the log": (["fit", "log.csv", "--plot"], "log.csv"),
    "the log of accesses": (["rows", "--from", "log.csv", "--plot"], "log.csv"),
    "the swept": (["sweep", "sweep", "--map"], "sweep/sweep.db"),
    "the sweep to come": (
        ["sweep", "job.toml", "--vary", "costs.save=1 min", "--out", "sweep", "--map"],
        "sweep/sweep.db",
    ),
    "the figured": (["figure", "interval", "job.toml", "--out"], "job.toml"),
    "the shipped": (["scenarios", "quickstart", "--copy"], ""),
    "code": (["export", "sweep", "--format", "csv", "--out"], "code"),
}


@pytest.mark.parametrize("way", ["plain", "hard link", "through a folder"])
@pytest.mark.parametrize("what", READ)
def test_what_is_read_stays_even_if_forced(refused, nothing_runs, monkeypatch, what, way):
    """Whatever its name, so under one that the option takes where it takes not every name."""
    asked, name = READ[what]
    path = Path(name)
    if what == "the shipped":
        Path("scenarios").mkdir()
        path = Path("scenarios/quickstart.toml")
        path.write_text(GOOD)
        monkeypatch.setattr("cprsim.basics.shipped._HOMES", (Path("scenarios").absolute(),))
    if what == "code":
        path = Path("policy_of_mine.py")
        path.write_text("x = 1\n")
        module = ModuleType("policy_of_mine")
        module.__file__ = str(path.absolute())
        monkeypatch.setitem(sys.modules, module.__name__, module)
    pictured = asked[0] in ("timeline", "fit", "rows", "sweep", "figure")
    if way == "hard link" or (pictured and way == "plain"):
        Path("alias.png").hardlink_to(path)
        path = Path("alias.png")
    elif way == "through a folder":
        Path("linked").symlink_to(".")
        if pictured:
            Path("alias.png").hardlink_to(path)
            path = Path("alias.png")
        path = Path("linked", path)

    assert refused(*asked, str(path), "--force") == (
        f"{asked[-1]} {path}: this command reads that file; give another name"
    )


def test_a_copy_of_a_scenario_replaces_nothing_unless_forced(refused):
    assert refused("scenarios", "quickstart", "--copy", "job.toml") == (
        "--copy job.toml: exists already; give another name, or --force to replace it"
    )
    assert cli._main(["scenarios", "quickstart", "--copy", "job.toml", "--force"]) == 0


def test_a_link_a_device_and_an_empty_file(folder):
    Path("link.png").symlink_to("gone.png")
    os.mkfifo("pipe.png")
    Path("empty.png").touch()
    for name, fault in {
        "link.png": "is a link to gone.png, which does not exist",
        "pipe.png": "is no regular file, which alone can be replaced",
    }.items():
        with pytest.raises(UsageError) as raised:
            check_file(Path(name), "png", "--out", force=True)
        assert str(raised.value) == f"--out {name}: {fault}; give another name"
    check_file(Path("empty.png"), "png", "--out", force=False)  # as mktemp leaves it


# Sweeps


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


def test_a_folder_in_the_place_of_a_file_is_named(refused):
    Path("x.png").mkdir()
    assert refused("figure", "interval", "--out", "x.png") == (
        "--out x.png: is a folder; give the name of a file"
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


# Every command


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


def test_what_a_kill_left_is_placed_before_the_check(folder):
    """Files that are new and a manifest that is old are no change by the user."""
    write_all(folder, with_manifest({"a": b"old"}, {}))
    (folder / ".cprsim.new").mkdir()
    new = with_manifest({"a": b"new"}, {})
    (folder / "a").write_bytes(new["a"])
    (folder / ".cprsim.new/manifest.json").write_bytes(new["manifest.json"])

    check_folder(folder, new, "--out", force=False)

    assert written_files(folder).keys() == {"a", "manifest.json"}
