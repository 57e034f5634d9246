"""Documents name what there is."""

import csv
import re
from pathlib import Path

import pytest

from cprsim.cli import fit

ROOT = Path(__file__).parents[1]
SEMANTICS = (ROOT / "docs/semantics.md").read_text(encoding="utf-8")
with (ROOT / "docs/semantics-tests.csv").open(encoding="utf-8", newline="") as _lines:
    HELD = [(rule, name) for rule, name in csv.reader(_lines)][1:]
TESTS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", [name for _, name in HELD])
def test_a_test_named_by_the_semantics_exists(name: str) -> None:
    assert re.search(rf"def {name}\(", TESTS)


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
