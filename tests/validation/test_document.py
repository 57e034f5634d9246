"""docs/validation.md against the measurements that the tests make: the page can't go stale."""

import csv

import pytest

from tools.pages.validation import (
    FIRST_ORDER,
    PAGE,
    TABLE,
    page,
    predicted_rows,
    production,
    row,
    sweep_section,
)
from tools.tables import csv_line
from tools.validation import published_section
from tools.validation.advice.section import HEADING as ADVICE
from tools.validation.cases import CASES
from tools.validation.choices_section import HEADING as CHOICES
from tools.validation.frailty_section import HEADING as FRAILTY
from tools.validation.published_section import HEADING as PUBLISHED
from tools.validation.published_section import SYSTEMS, rows, table
from tools.validation.replayed_section import HEADING
from tools.validation.starts_section import HEADING as STARTS

HINT = "docs/validation.md is out of date; run `make validation` and commit the page"


def committed():
    return PAGE.read_text(encoding="utf-8")


def cells_of(table):
    """The rows of a table that stands beside the page, without its head."""
    with table.open(encoding="utf-8", newline="") as lines:
        return [tuple(cells) for cells in csv.reader(lines)][1:]


@pytest.mark.slow
def test_row_of_a_case_is_beside_the_page(measured):
    case, found = measured
    assert row(case, found) in cells_of(TABLE), HINT


@pytest.mark.slow
def test_section_of_the_sweep_is_on_the_page(measured_sweep):
    assert sweep_section(measured_sweep) in committed(), HINT


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_published_figures_of_a_system_are_beside_the_page(name):
    found = table(name, rows(name))
    system = found[0][0]
    assert [cells for cells in cells_of(published_section.TABLE) if cells[0] == system] == found, (
        HINT
    )


def test_everything_else_on_the_page():
    text = committed()
    start = text.index("## Where the best interval is")
    sweep = text[start : text.index("\n## ", start)]

    headings = (PUBLISHED, HEADING, STARTS, FRAILTY, ADVICE, CHOICES)
    starts = [text.index(heading) for heading in headings]
    ends = [*(start - 1 for start in starts[1:]), None]
    measured = [text[start:end] for start, end in zip(starts, ends, strict=True)]

    assert published_section.text(cells_of(published_section.TABLE)) == measured[0], HINT
    assert page(cells_of(TABLE), sweep, *measured) == text, HINT
    assert cells_of(FIRST_ORDER) == predicted_rows(), HINT


def test_every_case_is_beside_the_page():
    told = [csv_line(cells[:4]) for cells in cells_of(TABLE)]

    assert told == [
        csv_line((case.group, case.name, case.source, f"{case.exact:.7g}")) for case in CASES
    ]


def test_production_run_reaches_the_reduction_that_it_solves_for():
    found = production(reduction=0.91)
    assert found.needed == pytest.approx(0.09 * found.full, rel=1e-9)
    assert found.needed_pls > 0.1
