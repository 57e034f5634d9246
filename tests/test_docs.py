"""Documents name what there is."""

import csv
import re
import tomllib
from pathlib import Path

import pytest

from cprsim.cli import fit
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping

ROOT = Path(__file__).parents[1]
SEMANTICS = (ROOT / "docs/semantics.md").read_text(encoding="utf-8")
with (ROOT / "docs/semantics-tests.csv").open(encoding="utf-8", newline="") as _lines:
    HELD = [(rule, name) for rule, name in csv.reader(_lines)][1:]
TESTS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
EXAMPLES = sorted({path.stem for path in (ROOT / "docs/systems").glob("*.md")} - {"README"})
#: Whose job a page's example is of, where that isn't the scenario of the system's own name.
JOBS = {"autopilot": "elastic", "twin-groups": "elastic", "delta": "check-n-run"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", [name for _, name in HELD])
def test_a_test_named_by_the_semantics_exists(name: str) -> None:
    case = name.removeprefix("test_").replace("_", " ")  # of a table, which has it in words
    assert f"def {name}(" in TESTS or f'"{case}": ' in TESTS


def test_every_rule_of_the_semantics_has_a_test() -> None:
    rules = set(re.findall(r"^(\d+)\. ", SEMANTICS, re.MULTILINE))

    assert {rule for rule, _ in HELD} == rules


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_page_on_logs_has_every_reader() -> None:
    logs = (ROOT / "docs/failures.md").read_text(encoding="utf-8").split("\n## ")
    (table,) = (part for part in logs if part.startswith("Logs\n"))

    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [*fit._FORMATS]


@pytest.mark.parametrize("system", EXAMPLES)
def test_the_example_of_a_system_is_planned_for_its_shipped_job(system: str) -> None:
    page = (ROOT / f"docs/systems/{system}.md").read_text(encoding="utf-8")
    example = tomllib.loads(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0])
    job = load_mapping(ROOT / f"scenarios/{JOBS.get(system, system)}.toml")
    scenario = Scenario(**{**job, **example})

    assert system in {policy.system for policy in scenario.policies.values()}
    for name in scenario.policies:
        scenario.plan(name)
