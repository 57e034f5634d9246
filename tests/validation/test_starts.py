"""Where in a gap a job starts: what the page sums up is what its rows have."""

import math
import re

import pandas as pd
import pytest

from tools.pages.validation import PAGE
from tools.validation.replayed import AGES, LENGTHS, MEASURES
from tools.validation.starts_section import HEADING, TABLE


def committed() -> str:
    text = PAGE.read_text(encoding="utf-8")
    start = text.index(HEADING)
    return text[start : text.index("\n## ", start)]


@pytest.mark.parametrize("ages", AGES)
@pytest.mark.parametrize("gaps", LENGTHS)
def test_the_summary_is_that_of_the_rows(gaps, ages):
    """By chance alone the root mean square is about 1, but policies of a log share their luck, and
    a short log its own in every replay."""
    table = pd.read_csv(TABLE).query("gaps == @gaps")
    above = table.filter(regex=f", {ages}, % above the log$").to_numpy().ravel()
    z = table.filter(regex=f", {ages}, z$").to_numpy().ravel()
    rms = math.sqrt((z**2).mean())
    told = re.search(
        rf"^\| {gaps} \| `{ages}` \| (.*) to (.*) \| (.*) \|$", committed(), re.MULTILINE
    )

    assert len(z) >= 12 * len(MEASURES)
    assert [float(each) for each in told.groups()] == pytest.approx(
        [above.min(), above.max(), rms],
        abs=0.1,  # all are rounded to 0.1
    )
    assert rms > 3 if (ages == "new" and gaps < 60) else rms < 1.5
