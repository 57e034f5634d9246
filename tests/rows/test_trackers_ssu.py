"""The list of SSU: what goes on it, what is evicted, against plain Python."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cprsim.rows.trackers import SSU

ROWS = 12
IDS = st.lists(st.integers(0, ROWS - 1), max_size=10)
# What happens between saves of so many rows.
HISTORY = st.lists(st.tuples(st.lists(IDS, max_size=4), st.integers(0, ROWS + 2)), max_size=8)


@given(HISTORY, st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_ssu_with_room_is_a_set(history: list[tuple[list[list[int]], int]], period: int) -> None:
    tracker, listed, turn = SSU(ROWS, ROWS, period), set[int](), 0
    for batches, k in history:
        for ids in batches:
            tracker.observe(np.array(ids))
            if ids:
                listed |= set(ids) if turn % period == 0 else set()
                turn += 1
        chosen = tracker.select(k)
        assert len(chosen) == min(k, len(listed))
        assert set(tracker.select(ROWS)) == listed
        tracker.saved(chosen)
        listed -= set(chosen.tolist())


@given(HISTORY, st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_a_full_ssu_keeps_within_its_capacity(
    history: list[tuple[list[list[int]], int]], capacity: int
) -> None:
    tracker, seen = SSU(ROWS, capacity, 1), set[int]()
    for batches, k in history:
        for ids in batches:
            before = set(tracker.select(ROWS))
            tracker.observe(np.array(ids))
            seen |= set(ids)
            after = set(tracker.select(ROWS))
            assert after <= before | set(ids)
            assert len(after) == min(capacity, len(before | set(ids)))
            if set(ids) <= before:
                assert after == before
        chosen = tracker.select(k)
        tracker.saved(chosen)
        seen -= set(chosen.tolist())
        assert set(tracker.select(ROWS)) <= seen


class SSUByHand:
    """One id at a time, as the paper tells it."""

    def __init__(self, capacity: int, seed: int) -> None:
        self.capacity, self.listed, self.random = capacity, list[int](), random.Random(seed)

    def observe(self, ids: list[int]) -> None:
        new = sorted(set(ids) - set(self.listed))
        self.random.shuffle(new)
        for row in new:
            if len(self.listed) < self.capacity:
                self.listed.append(row)
            else:
                self.listed[self.random.randrange(self.capacity)] = row


def test_ssu_evicts_as_one_id_after_the_other_would() -> None:
    """How often each row is on the list in the end, over 1,500 seeds: a chi-square of two samples.

    The batches are of 3, 30 and 10 ids on a list of 8, so that places are drawn again and again.
    """
    batches = [[0, 1, 2], list(range(2, 32)), list(range(28, 38))]
    runs, ours, theirs = 1500, np.zeros(40), np.zeros(40)
    for seed in range(runs):
        tracker, reference = SSU(40, 8, 1, seed), SSUByHand(8, seed)
        for ids in batches:
            tracker.observe(np.array(ids))
            reference.observe(ids)
        ours[tracker.select(8)] += 1
        theirs[reference.listed] += 1
    assert ours.sum() == theirs.sum() == 8 * runs
    variance = (ours + theirs) * (1 - (ours + theirs) / (2 * runs))
    seen = variance > 0
    # 38 rows can be on the list; their indicators sum to 8, so 37 degrees of freedom or so, and
    # the sum's mean is 38 with standard deviation sqrt(2 x 38) = 8.7: four of them above.
    statistic = ((ours - theirs)[seen] ** 2 / variance[seen]).sum()
    assert seen.sum() == 38
    assert statistic < 38 + 4 * 8.7


def test_ssu_looks_at_the_first_batch_of_every_period() -> None:
    tracker = SSU(10, 10, period=3)
    for row in range(8):
        tracker.observe(np.array([row]))
        tracker.observe(np.array([], dtype=int))
    assert set(tracker.select(10)) == {0, 3, 6}


def test_ssu_gives_those_first_that_have_waited_longest() -> None:
    tracker = SSU(10, 10, period=1)
    for row in (7, 2, 9, 4):
        tracker.observe(np.array([row, 7]))
    assert tracker.select(2).tolist() == [7, 2]
    tracker.saved(np.array([2, 3]))
    assert tracker.select(9).tolist() == [7, 9, 4]
