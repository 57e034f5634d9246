"""Sentences of certificates, word for word."""

import math
from dataclasses import replace

import pytest

from cprsim.runs.selection.bounds import Bound, Quality
from cprsim.runs.selection.certificate import Certificate, Contender, UndecidedBound
from cprsim.runs.selection.words import Unit, interval, sentence, short

NAMES = ["full", "cpr", "ecrm", "partial"]
BEST = "cpr is best at 95 % over simulation noise"
CLEAR = Certificate(
    1, (Contender(0, 0.012, 0.01, 0.014, "worse"),), (True, True), (), 1000, 1000, None
)
NEAR = Contender(0, 0.0001, -0.0002, 0.0004, "tied")
FAR = Contender(2, 0.002, -0.0002, 0.0042, "tied")
OPEN = Contender(3, 0.001, -0.0034, 0.0054, "undecided")
UNKNOWN = Contender(0, 0.002, -math.inf, math.inf, "undecided")
DOUBT = UndecidedBound(0, Bound("pls", 0.02), 0.0206, 0.0170, 0.0242)
SAME = Contender(2, 0.0, 0.0, 0.0, "same")


def put(*rivals, **changed):
    return replace(CLEAR, rivals=rivals, **changed)


@pytest.mark.parametrize(
    ("found", "told", "in_short"),
    [
        (CLEAR, BEST, "best"),
        (put(*CLEAR.rivals, SAME), BEST, "best; same as ecrm"),
        (put(), "cpr is the only one", "the only one"),
        (put(SAME), "no other differs", "no other differs"),
        (put(NEAR), "cpr is equal to full within 0.1 points: take either", "tied with full"),
        (
            put(NEAR, FAR),
            "cpr is statistically tied with full and ecrm at 95 % over simulation noise",
            "tied with full, ecrm",
        ),
        (
            put(OPEN, why="margin"),
            "undecided: partial may be better by up to 0.34 points; more replications may decide",
            "undecided: or partial",
        ),
        (
            put(UNKNOWN, why="failures", met=3),
            "undecided: only 3 of 1,000 replications met a failure that makes a difference; "
            "increase --replications to at least 6,667",
            "undecided: only 3 failures count",
        ),
        (
            put(UNKNOWN, why="failures", replications=1),
            "undecided: one replication shows no simulation noise",
            "undecided: one replication",
        ),
        (
            put(why="bound", doubts=(DOUBT,)),
            "undecided: full may exceed PLS <= 2 % (0.0206, 0.0170 to 0.0242)",
            "undecided: PLS <= 2 % of full?",
        ),
        (put(best=None), "no policy meets the limits", "no policy meets the limits"),
    ],
)
def test_a_certificate_in_words(found, told, in_short):
    assert (sentence(found, NAMES), short(found, NAMES)) == (told, in_short)


def test_money_has_a_unit_of_its_own():
    dollars = Unit("dollars", 1.0)

    found = interval(OPEN._replace(margin=1234.4, low=-20.0, high=2489.0), dollars)
    assert found == "1,234 dollars (-20 to 2,489)"
    assert interval(UNKNOWN) == "0.2 points"


def test_bounds_in_words():
    assert str(Quality(0.02, 0.1)) == "PLS <= 2 %, updates lost <= 10 %"
    assert Quality(max_updates_lost=0.1).bounds == (Bound("updates_lost", 0.1),)
    assert not Quality()
