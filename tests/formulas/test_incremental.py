"""When a new baseline pays."""

import pytest

from cprsim.machine.differences import rebaseline_pays


@pytest.mark.parametrize(
    ("diffs", "pays"),
    [
        ([0.99], False),  # 1 + 0.99 against 2 x 0.99
        ([1.0], True),
        ([0.1, 0.5], False),  # 1.6 against 1.5
        ([0.1, 0.6], True),  # 1.7 against 1.8
        ([0.25, 0.5, 0.75], True),  # 2.5 against 3
        ([0.5] * 6, False),  # 4 against 3.5, and so for ever
        ([0.0, 0.0], False),
    ],
)
def test_rule_by_hand(diffs, pays):
    assert rebaseline_pays(len(diffs), sum(diffs), diffs[-1]) is pays
