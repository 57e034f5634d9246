"""Laws of short jobs against their logs: they agree where a gap is under way at the start."""

import math
import re

import pytest

from tools.pages.validation import PAGE
from tools.validation.replayed import POLICIES
from tools.validation.starts import AGES, LENGTHS, LOGS, MEASURES, starts
from tools.validation.starts_section import HEADING, row_heads, rows, section

#: Of the table: those of the measures, by ages.
COLUMNS = {"new": (4, 7, 10), "stationary": (5, 8, 11)}


@pytest.mark.slow
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_a_law_whose_clock_is_under_way_costs_what_its_log_costs(log, tmp_path):
    """At every length; one that starts new costs more in jobs of two gaps. Of 108 distances one in
    ten tables would have one beyond 3.3."""
    if not log.there:
        pytest.skip(f"needs {log.path} of the shared data")
    found = starts(log, tmp_path)

    assert found.adequate
    for policy in POLICIES:
        assert found.jobs[2].z("new", policy) > max(0, found.jobs[2].z("stationary", policy))
    for measure in MEASURES:
        for gaps in LENGTHS:
            assert abs(found.jobs[gaps].z("stationary", measure)) < 3.3, (gaps, measure)
    assert rows(log, found) in PAGE.read_text(encoding="utf-8"), "run `make validation`"


@pytest.mark.parametrize("ages", AGES)
@pytest.mark.parametrize("gaps", LENGTHS)
def test_the_summary_is_that_of_the_rows(gaps, ages):
    """By chance alone the root mean square is about 1 ± 0.2: policies of a log share their luck."""
    text = PAGE.read_text(encoding="utf-8")
    rows = [line for line in text[text.index(HEADING) :].splitlines() if f" | {gaps} | " in line]
    cells = [
        line.removesuffix(" |").split(" | ")[column] for line in rows for column in COLUMNS[ages]
    ]
    above, z = zip(*(map(float, cell.split(", z ")) for cell in cells), strict=True)
    rms = math.sqrt(sum(each**2 for each in z) / len(z))
    told = re.search(rf"^\| {gaps} \| `{ages}` \| (.*) to (.*) \| (.*) \|$", text, re.MULTILINE)

    assert len(z) == len(LOGS) * len(MEASURES)
    assert [float(each) for each in told.groups()] == pytest.approx(
        [min(above), max(above), rms], abs=0.051
    )
    assert rms > 3 if (ages == "new" and gaps < 60) else rms < 1.5


def test_the_section_names_every_log():
    text = PAGE.read_text(encoding="utf-8")
    heads = row_heads(text[text.index(HEADING) :])

    assert [head.split(" | ")[0] for head in heads[:: len(LENGTHS)]] == [log.name for log in LOGS]
    assert [int(head.split(" | ")[2]) for head in heads] == [*LENGTHS] * len(LOGS)
    if not all(log.there for log in LOGS):
        assert section(text) in text
