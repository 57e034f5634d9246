"""Peer memory: its placement."""

import itertools
import math

import pytest

from cprsim.contract import Groups
from cprsim.contract.answers import is_gone
from tests.formulas.forms import group_survival


def test_holders_by_hand():
    pairs = Groups(7, 2)
    assert [pairs.sets(shard) for shard in range(7)] == [
        *[((0, 1),), ((1, 0),), ((2, 3),), ((3, 2),)],
        *[((4, 5),), ((5, 6),), ((6, 4),)],  # the last three are a ring
    ]
    assert Groups(3, 3).sets(1) == ((1, 2, 0),)
    assert Groups(5, 1).sets(4) == ((4,),)


@pytest.mark.parametrize(("servers", "copies"), [(6, 2), (6, 3), (8, 2), (4, 4), (5, 1)])
def test_every_set_of_failures_against_the_closed_form(servers, copies):
    groups = Groups(servers, copies)
    for failed in range(servers + 1):
        sets = [frozenset(down) for down in itertools.combinations(range(servers), failed)]
        survived = sum(not is_gone(groups, down) for down in sets) / len(sets)
        assert survived == pytest.approx(group_survival(servers, copies, failed), abs=1e-12)


@pytest.mark.parametrize("servers", range(2, 11))
def test_what_is_left_over_costs_no_more_than_gemini_says(servers):
    # Of sets of m failed servers at least ceil(N / m) lose a shard, however copies are placed; the
    # mixed placement is at most 2m - 3 sets off (Gemini, SOSP'23).
    for copies in range(2, servers + 1):
        groups, sets = Groups(servers, copies), itertools.combinations(range(servers), copies)
        lost = sum(is_gone(groups, frozenset(down)) for down in sets)
        assert 0 <= lost - math.ceil(servers / copies) <= 2 * copies - 3
