"""The command's manners: versions, help, completion, a sweep shown again, quick refusals."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cprsim.cli import command as cli
from cprsim.version import __version__
from tests.bad_scenarios import GOOD

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
def said(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command that is done prints."""

    def output(*arguments: str) -> str:
        assert cli._main(list(arguments)) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return output


def test_it_says_its_version(said) -> None:
    assert said("--version") == f"cprsim {__version__}\n"


@pytest.mark.parametrize("command", [(), *((each,) for each in COMMANDS)])
def test_the_short_form_of_help_is_the_long_one(said, command: tuple[str, ...]) -> None:
    assert said(*command, "-h") == said(*command, "--help")


def test_the_list_of_commands_says_whole_sentences(said) -> None:
    out = said("--help")

    assert "..." not in out.partition("Commands:")[2]
    assert set(COMMANDS) <= set(out.split())
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("shell", "asked", "answer"),
    [
        ("bash", {"COMP_WORDS": "cprsim ru", "COMP_CWORD": "1"}, "run"),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "cprsim ru"}, '"run"'),
        ("fish", {"_TYPER_COMPLETE_ARGS": "cprsim ru", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
         "run"),
    ],
)  # fmt: skip
def test_shells_complete_it(said, monkeypatch, shell, asked, answer) -> None:
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("_CPRSIM_COMPLETE", f"complete_{shell}")

    out = said("run")  # a shell gives no words but those
    assert answer in out
    assert "rows" not in out


def test_a_stored_sweep_is_shown_again(said, capsys) -> None:
    Path("job.toml").write_text(GOOD, encoding="utf-8")
    asked = ("--vary", "costs.save=1 min,2 min", "--replications", "2", "--out", "out")
    shown = said("sweep", "job.toml", *asked, "--workers", "1", "--engine", "sim")

    assert said("sweep", "out") == shown
    assert said("sweep", "out", "--json").startswith("{")
    assert cli._main(["sweep", "job.toml"]) == 2
    assert capsys.readouterr().err == "cprsim: Missing option '--out'.\n"
    Path("empty").mkdir()
    assert cli._main(["sweep", "empty"]) == 2
    assert capsys.readouterr().err == (
        "cprsim: empty: holds no sweep; name the folder given to cprsim sweep --out\n"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_is_refused_before_a_library_is_loaded(command: str, tmp_path) -> None:
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
