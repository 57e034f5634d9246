"""Documents name what there is."""

import csv
import re
import tomllib

import pytest

from cprsim.cli import fit
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping
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

SEMANTICS = (ROOT / "docs/semantics.md").read_text(encoding="utf-8")
with (ROOT / "docs/semantics-tests.csv").open(encoding="utf-8", newline="") as _lines:
    HELD = [(rule, name) for rule, name in csv.reader(_lines)][1:]
TESTS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
RUNS = (ROOT / "tests/sim/by_hand.toml").read_text(encoding="utf-8")
EXAMPLES = sorted({path.stem for path in (ROOT / "docs/systems").glob("*.md")} - {"README"})
#: Whose job a page's example is of, where that isn't the scenario of the system's own name.
JOBS = {"autopilot": "elastic", "twin-groups": "elastic", "delta": "check-n-run"}
WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", [name for _, name in HELD])
def test_a_test_named_by_the_semantics_exists(name):
    case = name.removeprefix("test_").replace("_", " ")  # of a table, which has it in words
    assert f"def {name}(" in TESTS or f'"{case}": ' in TESTS or f'["{case}", ' in RUNS


def test_every_rule_of_the_semantics_has_a_test():
    rules = set(re.findall(r"^(\d+)\. ", SEMANTICS, re.MULTILINE))

    assert {rule for rule, _ in HELD} == rules


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_page_on_logs_has_every_reader():
    logs = (ROOT / "docs/failures.md").read_text(encoding="utf-8").split("\n## ")
    (table,) = (part for part in logs if part.startswith("Logs\n"))

    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [*fit._FORMATS]


@pytest.mark.parametrize("system", EXAMPLES)
def test_the_example_of_a_system_is_planned_for_its_shipped_job(system):
    page = (ROOT / f"docs/systems/{system}.md").read_text(encoding="utf-8")
    example = tomllib.loads(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0])
    job = load_mapping(ROOT / f"scenarios/{JOBS.get(system, system)}.toml")
    scenario = Scenario(**{**job, **example})

    assert system in {policy.system for policy in scenario.policies.values()}
    for name in scenario.policies:
        scenario.plan(name)


# --- What commands print, and Python --------------------------------------------------------------


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
def test_a_command_prints_what_the_page_shows(page, command, shown):
    assert printed(command) == shown, f"{page} is out of date; run `make pages`"


@pytest.mark.parametrize(
    ("page", "table"),
    [
        (PAGES[1], presets),
        (PAGES[2], fractions),
        *(pytest.param(PAGES[2], each, marks=pytest.mark.slow) for each in (changes, renewals)),
    ],
)
def test_a_table_of_a_page_is_what_the_code_gives(page, table):
    assert table() in page.read_text(encoding="utf-8"), "run `make pages`"


@pytest.mark.slow
def test_a_row_of_the_comparison_is_what_runs_give():
    # All rows take minutes; the one of the fewest failures takes seconds.
    words, overrides = COMPARED[2]
    assert words == "an MTBF of 100 h"
    page = (ROOT / "docs/systems/README.md").read_text(encoding="utf-8")
    assert compared_row(words, overrides) in page, "run `make pages`"


@pytest.mark.slow
def test_its_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")

    exec(compile("".join(PYTHON), "README.md", "exec"), {})

    assert (tmp_path / "breakdown.png").read_bytes().startswith(b"\x89PNG")


def test_the_readme_shows_the_plain_command_and_its_answer():
    ((command, answer),) = COMMAND.findall(README)
    lines = answer.splitlines()

    assert command == "advise quickstart"
    assert lines[0].startswith(("Use ", "Keep "))
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
