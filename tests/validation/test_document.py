"""docs/validation.md against the measurements that the tests make: the page can't go stale."""

import pytest

from tools.pages.validation import PAGE, page, production, row, sweep_section
from tools.validation.advice.section import HEADING as ADVICE
from tools.validation.choices_section import HEADING as CHOICES
from tools.validation.published_section import HEADING as PUBLISHED
from tools.validation.published_section import SYSTEMS, rows, table
from tools.validation.replayed_section import HEADING
from tools.validation.starts_section import HEADING as STARTS

HINT = "docs/validation.md is out of date; run `make validation` and commit the page"


def committed():
    return PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_row_of_a_case_is_on_the_page(measured):
    case, found = measured
    assert row(case, found) in committed().splitlines(), HINT


@pytest.mark.slow
def test_section_of_the_sweep_is_on_the_page(measured_sweep):
    assert sweep_section(measured_sweep) in committed(), HINT


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_published_figures_of_a_system_are_on_the_page(name):
    assert table(name, rows(name)) in committed(), HINT


def test_everything_else_on_the_page():
    text = committed()
    lines = iter(line for line in text.splitlines() if " ± " in line and line.count("|") == 7)
    start = text.index("## Where the best interval is")
    sweep = text[start : text.index("\n## ", start)]

    starts = [text.index(heading) for heading in (PUBLISHED, HEADING, STARTS, ADVICE, CHOICES)]
    ends = [*(start - 1 for start in starts[1:]), None]
    measured = [text[start:end] for start, end in zip(starts, ends, strict=True)]

    def row_on_the_page(case):
        line = next(lines)
        assert line.startswith(f"| {case.name} | {case.source} | {case.exact:.7g} | "), HINT
        return line

    assert page(row_on_the_page, sweep, *measured) == text, HINT


def test_production_run_reaches_the_reduction_that_it_solves_for():
    found = production(reduction=0.91)
    assert found.needed == pytest.approx(0.09 * found.full, rel=1e-9)
    assert found.needed_pls > 0.1
