"""Where in a gap a job starts: what the page sums up is what its rows have."""

import math
import re

import pytest

from tools.pages.validation import PAGE
from tools.validation.replayed import AGES, LENGTHS, MEASURES
from tools.validation.starts_section import HEADING

#: Of the table: how far above the log, of each measure, by ages; z stands behind each.
COLUMNS = {"new": (2, 6, 10), "stationary": (4, 8, 12)}


def committed() -> str:
    text = PAGE.read_text(encoding="utf-8")
    start = text.index(HEADING)
    return text[start : text.index("\n## ", start)]


@pytest.mark.parametrize("ages", AGES)
@pytest.mark.parametrize("gaps", LENGTHS)
def test_the_summary_is_that_of_the_rows(gaps, ages):
    """By chance alone the root mean square is about 1, but policies of a log share their luck, and
    a short log its own in every replay."""
    lines = [line for line in committed().splitlines() if f" | {gaps} | " in line]
    cells = [line.removesuffix(" |").split(" | ") for line in lines]
    above = [float(row[column]) for row in cells for column in COLUMNS[ages]]
    z = [float(row[column + 1]) for row in cells for column in COLUMNS[ages]]
    rms = math.sqrt(sum(each**2 for each in z) / len(z))
    told = re.search(
        rf"^\| {gaps} \| `{ages}` \| (.*) to (.*) \| (.*) \|$", committed(), re.MULTILINE
    )

    assert len(z) >= 12 * len(MEASURES)
    assert [float(each) for each in told.groups()] == pytest.approx(
        [min(above), max(above), rms],
        abs=0.1,  # all are rounded to 0.1
    )
    assert rms > 3 if (ages == "new" and gaps < 60) else rms < 1.5
