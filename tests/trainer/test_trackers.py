"""Trackers of tensors: the suite of all trackers, and the same selections as NumPy's."""

from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cprsim.contract import Tracking
from cprsim.errors import UsageError
from cprsim.rows.trackers import MFU, SCAR, SSU
from cprsim.testing import TrackerConformance
from cprsim.trainer.hooks.trackers import Lists, RowTrackers, TorchMFU, TorchSCAR

ROWS = 12
BATCH = st.lists(st.integers(0, ROWS - 1), max_size=30)
# What happens between saves of so many rows.
HISTORY = st.lists(st.tuples(st.lists(BATCH, max_size=4), st.integers(0, ROWS + 2)), max_size=8)


class TestTorchMFU(TrackerConformance):
    memory_bytes = 4000

    def tracker(self, table):
        return TorchMFU(len(table))


class TestTorchSCAR(TrackerConformance):
    memory_bytes = 1000 * 4 * 4 + 1000

    def tracker(self, table):
        return TorchSCAR(torch.from_numpy(table))


# --- The same as NumPy's -------------------------------------------------------------------------


@given(HISTORY)
@settings(max_examples=60, deadline=None)
def test_torch_trackers_select_what_numpys_do(history: list[tuple[list[list[int]], int]]) -> None:
    """Step by step, in order, of the same history."""
    table = np.zeros((ROWS, 3), dtype=np.float32)
    pairs = [(MFU(ROWS), TorchMFU(ROWS)), (SCAR(table), TorchSCAR(torch.from_numpy(table)))]
    for batches, k in history:
        for ids in map(np.array, batches):
            np.add.at(table, ids.astype(int), np.float32(0.5))
            for numpys, torchs in pairs:
                numpys.observe(ids.astype(int))
                torchs.observe(torch.from_numpy(ids.astype(int)))
        for numpys, torchs in pairs:
            chosen = numpys.select(k)
            assert torchs.select(k).tolist() == chosen.tolist()
            numpys.saved(chosen)
            torchs.saved(torch.from_numpy(chosen))


def test_a_counter_stays_at_its_largest_value() -> None:
    most = 2**31 - 1
    tracker = TorchMFU(4)
    tracker._counts[:] = [most - 2, most, 5, 0]
    tracker._bound = most
    for _ in range(3):
        tracker.observe(np.array([0, 0, 1, 2]))
    assert tracker._counts.tolist() == [most, most, 8, 0]


@pytest.mark.parametrize("name", ["read-only", "backwards", "every other", "int16"])
def test_arrays_that_torch_does_not_take_are_taken(name: str) -> None:
    ids = np.array([3, 1, 3, 0, 3, 1], dtype=np.int64)
    given = {
        "read-only": np.frombuffer(ids.tobytes(), dtype=np.int64),
        "backwards": ids[::-1],
        "every other": np.repeat(ids, 2)[::2],
        "int16": ids.astype(np.int16),
    }[name]
    tracker = TorchMFU(5)
    tracker.observe(given)
    assert tracker._counts.tolist() == [1, 2, 0, 3, 0]


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([7], "row 7 is not in the table: its 5 rows are 0 to 4"),
        ([0.5], "row ids of type float32: give integers (np.flatnonzero makes them from a mask)"),
    ],
)
@pytest.mark.parametrize("tracker", [TorchMFU(5), TorchSCAR(torch.zeros(5, 2))])
def test_wrong_ids_are_told(tracker, ids, text: str) -> None:
    with pytest.raises(UsageError) as error:
        tracker.observe(torch.tensor(ids))
    assert str(error.value) == text


# --- All rows of a process -----------------------------------------------------------------------

TABLES = (range(4), range(6, 30), range(30, 70))  # of 80 rows; at 1/8: none, 3 and 5 rows
ALWAYS = {*range(6), *range(70, 80)}  # too small to track, or not tracked


def trackers(name, weights, tables, fraction, subsample=2):
    tracked = {each: weights[each.start : each.stop] for each in tables}
    return RowTrackers(len(weights), tracked, Tracking(name, fraction, subsample=subsample), 0)


@pytest.mark.parametrize("name", ["mfu", "ssu", "scar"])
def test_a_share_of_each_table_is_saved_and_the_rest_whole(name: str) -> None:
    weights = torch.zeros(80, 2)
    tracker = trackers(name, weights, TABLES, 1 / 8, subsample=1)
    assert set(tracker.select().tolist()) == ALWAYS
    for count, rows in ((5, [8, 20, 31]), (3, [7, 9, 68, 69]), (1, [29, 40, 41, 42, 43, 2, 79])):
        for _ in range(count):
            weights[rows] += 1
            tracker.observe(torch.tensor(rows[::-1]))
    chosen = tracker.select()
    assert {len(set(chosen) & set(each)) for each in TABLES} == {4, 3, 5}
    if name == "ssu":  # whichever of them are on the full lists
        assert set(chosen) <= ALWAYS | {8, 20, 31, 7, 9, 68, 69, 29, 40, 41, 42, 43}
        assert len(chosen) == len(ALWAYS) + 8
    else:  # the others of each table are as many as its share, or tie
        assert {8, 20, 31, 68, 69} < set(chosen) - ALWAYS
    assert chosen.tolist() == sorted(chosen)
    tracker.saved(chosen)
    assert not (set(tracker.select()) - ALWAYS) & set(chosen)


@pytest.mark.parametrize("interval", [5, 37])
@pytest.mark.parametrize("name", ["mfu", "scar"])
def test_of_each_table_the_rows_are_those_of_a_tracker_of_its_own(name: str, interval: int) -> None:
    """Also after saves, in each of which ties are broken from another row on."""
    rng = np.random.default_rng(2)
    weights = torch.zeros(300, 4)
    tables = (range(20, 120), range(150, 290))
    process = trackers(name, weights, tables, 0.1)
    own = [
        MFU(len(each)) if name == "mfu" else SCAR(weights.numpy()[each.start : each.stop])
        for each in tables
    ]
    for step in range(12 * interval):
        ids = torch.from_numpy((rng.random(40) ** 3 * 300).astype(np.int64))
        weights.index_add_(0, ids, torch.ones(40, 4))
        process.observe(ids)
        for each, tracker in zip(tables, own, strict=True):
            tracker.observe(ids[(ids >= each.start) & (ids < each.stop)].numpy() - each.start)
        if step % interval == interval - 1:
            chosen = process.select()
            process.saved(chosen)
            for each, tracker in zip(tables, own, strict=True):
                part = chosen[(chosen >= each.start) & (chosen < each.stop)] - each.start
                expected = tracker.select(len(each) // 10)
                assert part.tolist() == sorted(expected.tolist())
                tracker.saved(expected)


# --- Lists side by side --------------------------------------------------------------------------

RANGES = {range(2, 6): 3, range(6, 14): 2, range(15, 20): 5}
CALLS = st.lists(
    st.tuples(st.lists(st.integers(0, 21), max_size=12), st.integers(0, 4)), max_size=9
)


@given(CALLS)
@settings(max_examples=60, deadline=None)
def test_each_list_is_a_set_while_there_is_room_and_then_keeps_within_it(
    history: list[tuple[list[int], int]],
) -> None:
    lists, room = Lists(22, RANGES, 1, 0), [True] * 3
    seen: list[set[int]] = [set() for _ in RANGES]
    for ids, k in history:
        before = [set(lists.select(number, 99).tolist()) for number in range(3)]
        lists.observe(np.array(ids, dtype=int))
        for number, (each, capacity) in enumerate(RANGES.items()):
            batch = {row for row in ids if row in each}
            seen[number] |= batch
            room[number] &= len(seen[number]) <= capacity
            listed = lists.select(number, 99).tolist()
            assert len(set(listed)) == len(listed) == min(capacity, len(before[number] | batch))
            assert set(listed) <= before[number] | batch
            if room[number]:
                assert set(listed) == seen[number]
        chosen = np.concatenate([lists.select(number, k) for number in range(3)])
        lists.saved(chosen)
        for number in range(3):
            seen[number] -= set(chosen.tolist())
            assert not set(lists.select(number, 99).tolist()) & set(chosen.tolist())
    assert lists._listed._bytes.tolist() == bits({*chain(*(lists.select(n, 99) for n in range(3)))})


def bits(rows: set[int]) -> list[int]:
    return [sum(1 << at for at in range(8) if 8 * byte + at in rows) for byte in range(3)]


def test_each_list_evicts_as_ssu_does() -> None:
    """How often each row is on its list in the end, over 400 seeds: a chi-square of two samples.

    Batches of 3, 12 and 6 rows of a range of 20 on a list of 4, and as many of one beside it.
    """
    batches = [[0, 1, 2], list(range(2, 14)), list(range(12, 18))]
    ranges, runs = {range(20): 4, range(20, 40): 4}, 400
    ours, theirs = np.zeros(40), np.zeros(40)
    for seed in range(runs):
        lists = Lists(40, ranges, 1, seed)
        own = [SSU(20, 4, 1, 2 * seed + number) for number in range(2)]
        for ids in map(np.array, batches):
            lists.observe(np.concatenate((ids + 20, ids)))
            for tracker in own:
                tracker.observe(ids)
        for number, tracker in enumerate(own):
            ours[lists.select(number, 4)] += 1
            theirs[tracker.select(4) + 20 * number] += 1
    assert ours.sum() == theirs.sum() == 8 * runs
    variance = (ours + theirs) * (1 - (ours + theirs) / (2 * runs))
    there = variance > 0
    # 18 rows of each range can be listed; the mean is about 36 with standard deviation
    # sqrt(2 x 36) = 8.5: four of them above.
    assert there.sum() == 36
    assert ((ours - theirs)[there] ** 2 / variance[there]).sum() < 36 + 4 * 8.5
