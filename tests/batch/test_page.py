"""docs/batch.md has the shipped scenarios, in which the engines differ by nothing."""

import csv
from pathlib import Path

import pytest

from cprsim.scenario import load_scenario
from tests.tiers import one_of_each
from tools.pages import batch as page

TEXT = page.PAGE.read_text(encoding="utf-8")
HINT = "docs/batch.md is out of date; run `make pages` and commit it"


def rows() -> list[tuple[str, ...]]:
    with page.TABLE.open(encoding="utf-8", newline="") as lines:
        return [tuple(cells) for cells in csv.reader(lines)][1:]


def row_of(path: Path) -> tuple[str, ...]:
    (cells,) = (cells for cells in rows() if cells[0] == path.stem)
    return cells


#: Scenarios whose lines are computed again in a second or two; the others take up to a minute.
QUICKLY = ("criteo-kaggle", "quickstart", "tiered")


@pytest.mark.slow
@pytest.mark.parametrize("path", one_of_each(QUICKLY, page.SHIPPED, lambda path: path.stem))
def test_the_line_of_a_scenario_is_what_is_played(path: Path) -> None:
    if not page.is_there(path):
        pytest.skip(f"{path.name} needs a log that isn't here")

    assert row_of(path) == page.row(path), HINT


@pytest.mark.parametrize("path", page.SHIPPED, ids=lambda path: path.stem)
def test_every_policy_is_beside_the_page_and_differs_by_nothing(path: Path) -> None:
    _, policies, _, difference = row_of(path)

    assert difference == "0", HINT
    if page.is_there(path):
        assert int(policies) == len(load_scenario(path).policies), HINT


def test_all_else_on_the_page_is_what_is_written() -> None:
    assert page.page(rows()) == TEXT, HINT
