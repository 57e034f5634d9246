"""Commands print what the pages show, and the README's Python runs."""

import re
from pathlib import Path

import pytest

from tools.pages.outputs import (
    COMMAND,
    COMPARED,
    PAGES,
    changes,
    compared_row,
    fractions,
    presets,
    printed,
    renewals,
)
from tools.paths import ROOT

README = PAGES[0].read_text(encoding="utf-8")
SHOWN = [
    (page.name, command, shown)
    for page in PAGES
    for command, shown in COMMAND.findall(page.read_text(encoding="utf-8"))
]
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "command", "shown"), SHOWN, ids=[f"{p}: {c}" for p, c, _ in SHOWN]
)
def test_a_command_prints_what_the_page_shows(page: str, command: str, shown: str) -> None:
    assert printed(command) == shown, f"{page} is out of date; run `make pages`"


def test_the_table_of_presets_is_that_of_the_code() -> None:
    assert presets() in PAGES[1].read_text(encoding="utf-8"), "run `make pages`"


def test_the_table_of_fractions_is_what_the_mean_field_gives() -> None:
    assert fractions() in PAGES[2].read_text(encoding="utf-8"), "run `make pages`"


@pytest.mark.slow
@pytest.mark.parametrize("table", [changes, renewals])
def test_tables_that_a_sample_of_rows_makes_are_what_it_gives(table) -> None:
    assert table() in PAGES[2].read_text(encoding="utf-8"), "run `make pages`"


@pytest.mark.slow
def test_a_row_of_the_comparison_is_what_runs_give() -> None:
    # All rows take minutes; the one of the fewest failures takes seconds.
    words, overrides = COMPARED[2]
    assert words == "an MTBF of 100 h"
    page = (ROOT / "docs/systems/README.md").read_text(encoding="utf-8")
    assert compared_row(words, overrides) in page, "run `make pages`"


@pytest.mark.slow
def test_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")

    exec(compile("".join(PYTHON), "README.md", "exec"), {})

    assert (tmp_path / "breakdown.png").read_bytes().startswith(b"\x89PNG")


def test_the_readme_shows_the_plain_command_and_its_answer() -> None:
    ((command, answer),) = COMMAND.findall(README)
    lines = answer.splitlines()

    assert command == "advise quickstart"
    assert lines[0].startswith(("Use ", "Keep "))
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
