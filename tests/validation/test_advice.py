"""What `advise` picks beside brute force: a few jobs again, and the page beside the table."""

import pandas as pd
import pytest

from tests.tiers import one_of_each
from tools.pages.validation import PAGE
from tools.validation.advice.jobs import JOBS, question
from tools.validation.advice.regret import ask, read
from tools.validation.advice.section import MOST_REGRET, MOST_WRONG, section, summary

HINT = "docs/validation.md is out of date; run `make validation`"
#: Quick ones, the quickest first.
FEW = (3, 2, 4, 7)

#: Jobs that the page tells of at least; all are `JOBS`.
LEAST_ASKED = 200


def test_page_holds_what_was_written():
    assert section(read()) in PAGE.read_text(encoding="utf-8"), HINT


def test_what_was_written_is_as_good_as_it_has_to_be():
    told = summary(read())
    assert told["asked"] >= LEAST_ASKED, "python -m tools.validation.advice.regret"
    assert told["clipped"] <= MOST_REGRET
    assert 100 * told["wrong"] <= MOST_WRONG * told["claims"]


def test_jobs_are_spread_over_their_ranges():
    values = pd.DataFrame([question(number).values for number in range(0, JOBS, 10)])

    assert values["days"].between(1, 20).all()
    assert values["mtbf_h"].between(2, 200).all()
    assert values["days"].min() < 2
    assert values["days"].max() > 10


@pytest.mark.slow
@pytest.mark.parametrize("number", one_of_each(("3",), FEW))
def test_advice_is_as_good_as_brute_force(number):
    found = ask(number)

    assert found.wrong == ""
    assert not found.broken
    assert found.regret <= MOST_REGRET + 3 * found.regret_se
