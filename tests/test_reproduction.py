"""docs/reproduction.md against its pictures' tables, made again of fewer replications."""

import re
from functools import cache

import pytest

from cprsim.failures.processes import mean_pace
from cprsim.report.gallery.registry import PICTURES
from cprsim.scenario import load_scenario
from tools.pages.accuracy_sources import MOVIELENS
from tools.pages.reproduction import PAGE, TABLE, page, rows, shown_cells
from tools.paths import FIGURES
from tools.reproduction import airesim, goodput
from tools.reproduction.lines import Line, Measured, agree, parsed, printed
from tools.reproduction.sections import APART, SECTIONS

HINT = "docs/reproduction.md is out of date; run `make figures` and commit what it makes"
TEXT = PAGE.read_text(encoding="utf-8")
ALL = SECTIONS | APART


@cache
def again(name: str) -> list[Line]:
    return ALL[name].lines(ALL[name].again())


#: Sections that take more than a second.
LONG = (
    "AIReSim",
    "Effective training time",
    "Goodput by cause",
    "ett-ladder",
    "interval",
    "scaling",
    "tradeoff",
)


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.slow] if each in LONG else []) for each in ALL]
)
def test_measured_numbers_on_the_page_are_what_comes_out(name):
    cells = shown_cells(name)
    for line, cell in zip(again(name), cells, strict=True):
        assert agree(parsed(cell), line.measured), f"{line.quantity}: {cell}; {HINT}"


@pytest.mark.slow
def test_everything_else_on_the_page():
    lines_of = {name: again(name) for name in ALL}
    cells_of = {name: shown_cells(name) for name in ALL}
    assert page(lines_of, cells_of) == TEXT, HINT
    assert rows(lines_of, cells_of) == TABLE.read_text(encoding="utf-8"), HINT


def test_every_picture_is_there_and_on_the_page():
    # Of docs/app.md and docs/clusters.md.
    others = {"app.png", "lost-pod.svg"}
    others |= {MOVIELENS.picture(name) for name in ("pls-accuracy", "policy-accuracy")}
    made = sorted(path.stem for path in FIGURES.iterdir() if path.name not in others)
    assert made == sorted(PICTURES), HINT
    assert re.findall(r"^## `(.*)`$", TEXT, re.MULTILINE) == list(PICTURES)
    assert {*SECTIONS} <= {*PICTURES}


def test_bad_servers_of_airesims_job_fail_as_its_rates_and_repairs_say():
    """Each fails 1 / 0.76 times until it is cured, 5 of 6 times on top of what a good one would."""
    scenario = load_scenario(airesim.SCENARIO)
    offenders, lives = scenario.failures.offenders, airesim.DAYS / 100
    assert offenders is not None
    added = airesim.SERVERS * lives * (mean_pace(offenders, lives) - 1)
    assert added == pytest.approx(0.15 * airesim.SERVERS / 0.76 * 5 / 6, rel=1e-4)
    # Nobody fails in the 20 minutes that each of them takes.
    hours = 256 * 24 + (airesim.SERVERS * lives + added) * 20 / 60
    assert hours == pytest.approx(airesim.REPORTS[0].hours, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("published", goodput.PUBLISHED, ids=lambda each: each.name)
def test_goodput_is_as_near_as_the_page_says(published):
    found = goodput.played(64)[published.name]

    assert abs(found.value - published.goodput) <= published.within + found.half


@pytest.mark.parametrize(
    ("measured", "cell"),
    [
        (Measured(8.6149, 0.1712), "8.61 ± 0.17"),
        (Measured(0.48768, 0.000792), "0.48768 ± 0.00079"),
        (Measured(48.62, 12.3), "49 ± 12"),
        (Measured(56.9312), "56.93"),
        (Measured("gamma"), "gamma"),
    ],
)
def test_a_cell_is_what_is_measured_to_two_digits_of_its_interval(measured, cell):
    assert printed(measured) == cell
    assert printed(parsed(cell)) == cell


@pytest.mark.parametrize(
    ("shown", "again", "same"),
    [
        (Measured(8.61, 0.17), Measured(8.3, 0.3), True),
        (Measured(8.61, 0.17), Measured(8.3, 0.01), True),  # 2 x 0.17 apart at most
        (Measured(8.61, 0.17), Measured(8.2, 0.01), False),
        (Measured(8.61, 0.17), Measured(7.9, 0.3), False),  # 2 x 0.345
        (Measured(56.93), Measured(56.9312), True),
        (Measured(56.93), Measured(56.94), False),
        (Measured("full"), Measured("full"), True),
        (Measured("full"), Measured("partial"), False),
    ],
)
def test_what_agrees(shown, again, same):
    assert agree(shown, again) is same
