"""Replayed logs against their fitted laws: they agree, or the tool has said that they won't."""

import math
import re

import pandas as pd
import pytest

from tests.tiers import one_of_each
from tools.pages.validation import PAGE
from tools.tables import csv_line
from tools.validation import starts_section
from tools.validation.replayed import AGES, LENGTHS, LOGS, MEASURES, Played, compare
from tools.validation.replayed_section import (
    BEYOND,
    HEADING,
    TABLE,
    rows,
    section_of,
    sections,
)
from tools.validation.systems.mean import Mean

QUICK = "LANL 6, whole life, 32 nodes"
#: Why a law may be off its log: `fit` doesn't stand for its mean.
WARNED = ("no law is adequate", "a guess")


TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("log", one_of_each((QUICK,), LOGS, lambda log: log.name))
def test_a_law_costs_what_its_log_costs_or_that_is_said_beforehand(log, tmp_path):
    if not log.there:
        pytest.skip(f"needs {log.path} of the shared data")
    found = compare(log, tmp_path)

    for gaps, jobs in found.jobs.items():
        for measure in MEASURES:
            if not found.warned:
                assert abs(jobs.z(measure)) <= BEYOND, (gaps, measure)
            if found.has_clock and gaps == 2 and measure != MEASURES[-1]:
                assert jobs.excess("new", measure) > jobs.excess("stationary", measure)
    assert set(map(csv_line, rows(log, found))) <= lines_of(TABLE), "run `make validation`"
    if found.has_clock:
        told = set(map(csv_line, starts_section.rows(log, found)))
        assert told <= lines_of(starts_section.TABLE), "run `make validation`"


def lines_of(table):
    return set(table.read_text(encoding="utf-8").splitlines())


def test_no_row_of_the_table_is_beyond_chance_that_nothing_was_said_of():
    """And many are of which something was: the table isn't of logs that all agree."""
    told = pd.read_csv(TABLE).set_index("fit says").filter(regex=", z$")
    found = [(said, float(z)) for said, *row in told.itertuples(name=None) for z in row]
    silent = [z for said, z in found if not said.startswith(WARNED)]
    warned = [z for said, z in found if said.startswith(WARNED)]

    assert len(found) == len(LOGS) * len(LENGTHS) * len(MEASURES)
    assert max(map(abs, silent)) <= BEYOND
    assert sum(abs(z) > BEYOND for z in warned) > len(warned) / 10
    text = section_of(TEXT, HEADING)
    table = dict(re.findall(r"^\| ([a-z ]+) \| \d+ \| (\d+ \| \d+) \|", text, re.MULTILINE))
    assert table["adequate"] == f"{len(silent)} | 0"


def test_replays_tell_no_more_than_the_log_has():
    """1,000 jobs of 6 gaps from a log of 60 are ten: the error is that of ten."""
    law, replayed = Mean(0.1, 0.001), Mean(0.13, 0.001)
    jobs = Played({"full": replayed}, {"stationary": {"full": law}}, repeated=100.0)

    assert jobs.log("full").error == pytest.approx(0.01)
    assert jobs.z("full") == pytest.approx(-0.03 / (0.01**2 + 0.001**2) ** 0.5)
    assert jobs.z_of_replays("stationary", "full") == pytest.approx(-0.03 / 0.001 / 2**0.5)
    assert jobs._replace(repeated=0.2).log("full") == replayed


def test_the_table_has_every_log():
    told = pd.read_csv(TABLE)[["log", "gaps"]].itertuples(index=False, name=None)
    assert list(told) == [(log.name, gaps) for log in LOGS for gaps in LENGTHS]
    if not all(log.there for log in LOGS):
        assert all(section in TEXT for section in sections(TEXT))


@pytest.mark.parametrize("ages", AGES)
@pytest.mark.parametrize("gaps", LENGTHS)
def test_the_summary_of_starts_is_that_of_the_rows(gaps, ages):
    """By chance alone the root mean square is about 1, but policies of a log share their luck, and
    a short log its own in every replay."""
    table = pd.read_csv(starts_section.TABLE).query("gaps == @gaps")
    above = table.filter(regex=f", {ages}, % above the log$").to_numpy().ravel()
    z = table.filter(regex=f", {ages}, z$").to_numpy().ravel()
    rms = math.sqrt((z**2).mean())
    text = section_of(TEXT, starts_section.HEADING)
    told = re.search(rf"^\| {gaps} \| `{ages}` \| (.*) to (.*) \| (.*) \|$", text, re.MULTILINE)

    assert len(z) >= 12 * len(MEASURES)
    assert [float(each) for each in told.groups()] == pytest.approx(
        [above.min(), above.max(), rms],
        abs=0.1,  # all are rounded to 0.1
    )
    assert rms > 3 if (ages == "new" and gaps < 60) else rms < 1.5
