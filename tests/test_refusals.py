"""Commands that make no sense, in `refusals.toml`: a line that says so, and nothing is written."""

import shutil
import tomllib
from pathlib import Path

import pytest

from cprsim.cli import command as cli
from cprsim.runs import runner
from tests.mistakes import GOOD
from tests.sweeps.processes import SCENARIO
from tests.test_cli_fit import gamma_csv

LOGS = Path(__file__).parent / "failures/log_cases"
LISTED = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))
CASES = [(told, each["asked"]) for told, cases in LISTED.items() for each in cases]


@pytest.fixture
def place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files that a command may name; whatever simulates a run fails the test."""
    Path("job.toml").write_text(GOOD, encoding="utf-8")
    Path("short.toml").write_text(SCENARIO, encoding="utf-8")
    Path("mine.toml").write_text("mine", encoding="utf-8")
    Path("bare.toml").write_text("[job]\nuseful_time = 4 d\n", encoding="utf-8")
    gamma_csv()
    for path in LOGS.iterdir():
        shutil.copy(path, path.name)

    def simulate(*_: object) -> None:
        raise AssertionError("bad input was simulated")

    monkeypatch.setattr(runner, "simulate", simulate)
    return folder


@pytest.mark.parametrize(
    ("told", "asked"), CASES, ids=[f"{asked[0]} | {told[:50]}" for told, asked in CASES]
)
def test_a_command_that_makes_no_sense_is_refused_in_a_line(
    place: Path, told: str, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in place.iterdir()}

    assert cli._main(asked) == 2
    assert capsys.readouterr() == ("", f"cprsim: {told}\n")
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
