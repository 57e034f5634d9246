"""docs/batch.md says what the batch engine plays, and how near to the simulator that is."""

from pathlib import Path

import pytest

from cprsim.scenario import load_scenario
from tests.tiers import one_of_each
from tools.pages import batch as page

TEXT = page.PAGE.read_text(encoding="utf-8")
HINT = "docs/batch.md is out of date; run `make pages` and commit it"


def lines_of(path: Path) -> list[str]:
    return [line for line in TEXT.splitlines(True) if line.startswith(f"| {path.stem} |")]


#: Scenarios whose lines are computed again in a second or two; the others take up to a minute.
QUICKLY = ("criteo-kaggle", "quickstart", "tiered")


@pytest.mark.slow
@pytest.mark.parametrize("path", one_of_each(QUICKLY, page.SHIPPED, lambda path: path.stem))
def test_the_page_has_the_policies_of_each_scenario(path: Path) -> None:
    if not page.is_there(path):
        pytest.skip(f"{path.name} needs a log that isn't here")

    assert "".join(lines_of(path)) == page.rows(path), HINT


@pytest.mark.parametrize("path", page.SHIPPED, ids=lambda path: path.stem)
def test_every_policy_on_the_page_is_played_in_batches_and_differs_by_nothing(path: Path) -> None:
    cells = [line.strip("|\n ").split(" | ") for line in lines_of(path)]

    assert {(each[3], each[5]) for each in cells} == {("batch", "0")}, HINT
    if page.is_there(path):
        assert [each[1] for each in cells] == list(load_scenario(path).policies), HINT


def test_all_else_on_the_page_is_what_is_written() -> None:
    head, _, table = page._PAGE.partition("{rows}")

    assert TEXT.startswith(head), HINT
    assert TEXT.endswith(table), HINT
