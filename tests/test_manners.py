"""The command's manners: versions, help, completion, a sweep shown again, quick refusals."""

import io
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from cprsim.basics.terminal import Fitting, plain_table
from cprsim.basics.version import __version__
from cprsim.cli import common
from cprsim.cli.common import ProgressBar
from cprsim.fitting import fit_log
from tests.mistakes import GOOD

COMMANDS = (
    *("run", "advise", "fit", "rows", "sweep", "export", "figure", "timeline", "train", "study"),
    "validate",
)
#: What else they need to be asked for something.
REST = {
    "sweep": ("--out", "out"),
    "export": ("--format", "csv"),
    "timeline": ("--policy", "full", "--out", "x.png"),
    "study": ("--out", "out"),
}


@pytest.fixture
def said(folder, called):
    """What a command that is done prints."""

    def output(*arguments):
        out, err = called(*arguments)
        assert err == ""
        return out

    return output


def test_it_says_its_version(said):
    assert said("--version") == f"cprsim {__version__}\n"


@pytest.mark.parametrize("command", [(), *((each,) for each in COMMANDS)])
def test_the_short_form_of_help_is_the_long_one(said, command):
    assert said(*command, "-h") == said(*command, "--help")


def test_the_list_of_commands_says_whole_sentences(said):
    out = said("--help")

    assert "..." not in out.partition("Commands:")[2]
    assert set(COMMANDS) <= set(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_a_stored_sweep_is_shown_again(said, called):
    Path("job.toml").write_text(GOOD, encoding="utf-8")
    asked = ("--vary", "costs.save=1 min,2 min", "--replications", "2", "--out", "out")
    shown = said("sweep", "job.toml", *asked, "--workers", "1", "--engine", "sim")

    assert said("sweep", "out") == shown
    assert said("sweep", "out", "--json").startswith("{")
    assert called("sweep", "job.toml", code=2).err == "cprsim: Missing option '--out'.\n"
    Path("empty").mkdir()
    assert called("sweep", "empty", code=2).err == (
        "cprsim: empty: holds no sweep; name the folder given to cprsim sweep --out\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_is_refused_before_a_library_is_loaded(command, tmp_path):
    """NumPy alone takes longer than all of this."""
    given = ("pareto", "nope") if command == "figure" else ("nope",)
    more = ("--out", "x.png") if command == "figure" else REST.get(command, ())
    code = (
        "import sys; from cprsim.cli import command as cli; "
        f"code = cli._main({[command, *given, *more]!r}); "
        "sys.exit(code if 'numpy' not in sys.modules else 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert done.returncode == 2
    assert done.stderr.startswith("cprsim: nope: ")


#: On small cases: every command that prints more than a path.
SHOWN = {
    "run": ("run", "{job}", "--replications", "3", "--out", "r"),
    "run of many": ("run", "ecrm", "--replications", "2"),
    "run of a fleet": ("run", "production-fleet", "--replications", "4"),
    "advise": ("advise", "{job}", "--system", "full", "--system", "partial"),
    "closed form": ("advise", "{job}", "--closed-form"),
    "rows": ("rows", "criteo-kaggle"),
    "fit": ("fit", "{log}"),
    "fit a job": ("fit", "{log}", "--view", "job"),
    "scenarios": ("scenarios",),
    "figures": ("figure", "--list"),
    "timeline": ("timeline", "{job}", "--policy", "full", "--out", "x.json.gz"),
    "sweep": ("sweep", "{job}", "--vary", "costs.save=1 min,2 min", "--vary", "costs.load=1 min",
              "--replications", "2", "--out", "s", "--workers", "1", "--engine", "sim"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", SHOWN)
def test_nothing_is_wider_than_the_terminal_or_cut(name, columns, folder, called, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    Path("job.toml").write_text(GOOD, encoding="utf-8")
    rows = "".join(f"{3600 * hour * hour},{hour % 7}\n" for hour in range(1, 40))
    Path("log.csv").write_text(f"time_s,node\n{rows}", encoding="utf-8")
    asked = [part.format(job="job.toml", log="log.csv") for part in SHOWN[name]]

    out, err = called(*asked)
    lines = (out + err).splitlines()
    assert max(map(cell_len, lines)) <= columns
    assert not any("…" in line or "\x1b" in line for line in lines)
    assert not re.search(r"-0(\.0*)? ?(%|s|ms)(?!\w)", out)
    assert not re.search(r"\b1 (replications|points|jobs|failures)\b", out)
    written = asked[asked.index("--out") + 1] if "--out" in asked else ""
    assert written in out + err


def test_a_table_too_wide_is_shown_in_parts_with_all_its_cells():
    table = plain_table("of what")
    heads = ("policy", *(f"heading {place}" for place in range(9)))
    for head in heads:
        table.add_column(head)
    table.add_row("full", *(f"cell {place}" for place in range(9)))
    screen = io.StringIO()
    Console(file=screen, width=40).print(Fitting(table))
    shown = screen.getvalue()

    assert all(shown.count(head) == 1 for head in heads[1:])
    assert all(shown.count(f"cell {place}") == 1 for place in range(9))
    assert shown.count("full") == shown.count("policy") > 1
    assert max(map(len, shown.splitlines())) <= 40


WRONG = {"folder": "Is a directory", "list.csv": "is not TOML", "noise.toml": "is not UTF-8",
         "pyproject.toml": "is no scenario"}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize(
    "command", ["run", "advise", "rows", "timeline", "train", "study", "validate", "app"]
)
def test_what_is_no_scenario_is_refused_before_it_is_read_as_one(
    command, name, folder, called, monkeypatch
):
    """Nothing is imported that takes long: a module that were would raise an error here."""
    Path("folder").mkdir()
    Path("list.csv").write_text("a,b\n1,2\n")
    Path("noise.toml").write_bytes(b"\xff\xfe\x00")
    Path("pyproject.toml").write_text('[project]\nname = "x"\n')
    for slow in ("cprsim.scenario", "cprsim.scenario.mapping", "torch", "simpy", "matplotlib"):
        monkeypatch.setitem(sys.modules, slow, None)

    assert WRONG[name] in called(command, name, *REST.get(command, ()), code=2).err


@pytest.mark.parametrize(("width", "shown"), [(40, True), (24, False)])
def test_what_took_no_time_gives_way_before_a_table_is_broken(width, shown):
    screen = io.StringIO()
    columns = [
        ("policy", ["full", "none"]),
        ("save", ["1.00", "0"]),
        ("stall", ["0", "0"]),
        ("PLS %", ["0", "0"]),
    ]
    table = Fitting(plain_table("Title", columns, close=True), optional=("save", "stall"))
    Console(file=screen, width=width).print(table)
    heads = [line.split() for line in screen.getvalue().splitlines() if "policy" in line]
    assert heads == [["policy", "save", *["stall"] * shown, "PLS", "%"]]


# --- Progress where stderr is no terminal ---------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch):
    """A thread that writes a line at once, and then waits; set: the line is written."""
    written = threading.Event()
    echo = common.echo

    def telling(text="", *, err=False):
        echo(text, err=err)
        if "so far" in text:
            monkeypatch.setattr(common, "EVERY_S", 1000.0)
            written.set()

    monkeypatch.setattr(common, "EVERY_S", 0.0)
    monkeypatch.setattr(common, "echo", telling)
    return written


@pytest.mark.parametrize(
    ("unit", "updates", "line"),
    [
        ("runs", [], "cprsim: working, 0 s so far\n"),
        ("runs", [(1, 3)], "cprsim: working: 1 of 3 runs (33 %), 0 s so far\n"),
        ("runs", [(3000, 10000)], "cprsim: working: 3,000 of 10,000 runs (30 %), 0 s so far\n"),
        ("", [(1, 3), (2, 3, "settings")], "cprsim: settings: 2 of 3 (67 %), 0 s so far\n"),
        ("", [(0, 0)], "cprsim: working: 0 of 0, 0 s so far\n"),
    ],
)
def test_a_bar_without_a_terminal_writes_lines(unit, updates, line, at_once, capsys):
    bar = ProgressBar("working", unit)
    for each in updates:
        bar.update(*each)
    with bar:
        at_once.wait()

    assert capsys.readouterr() == ("", line)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_fit_has_lines_on_stderr_and_none_beside_json(
    as_json, folder, called, monkeypatch, at_once
):
    rows = "".join(f"{3600 * hour * hour},{hour % 7}\n" for hour in range(1, 40))
    Path("log.csv").write_text(f"time_s,node\n{rows}", encoding="utf-8")
    fit = fit_log.fit

    def slow(*arguments, **named):
        if not as_json:
            at_once.wait()
        return fit(*arguments, **named)

    monkeypatch.setattr(fit_log, "fit", slow)

    assert called("fit", "log.csv", *["--json"] * as_json).err == (
        "" if as_json else "cprsim: fitting, 0 s so far\n"
    )
