"""Numbers of rows in a process, against a dictionary of every row."""

import enum
from collections import Counter

import numpy as np
import pytest
import torch

from cprsim.trainer import TablePart, split_rows
from cprsim.trainer.hooks.layout import Layout
from cprsim.trainer.hooks.nested import packed, unpacked


class State(enum.IntEnum):
    ON = 1


def table(number, rows, dim=4, kind=torch.float32):
    return TablePart(number, torch.zeros(rows, dim, dtype=kind))


ROWS = (17, 30, 5)
PLACES = {
    "a table a shard": {n: [table(n, rows)] for n, rows in enumerate(ROWS)},
    "each in all shards": {
        s: [split_rows(table(n, rows), 3)[s] for n, rows in enumerate(ROWS)] for s in range(3)
    },
    "some here alone": {1: [table(2, 5), split_rows(table(1, 30), 2)[1]]},
    "of other widths": {0: [table(1, 30, 8), table(0, 17)], 2: [table(2, 5, 4, torch.float64)]},
}


@pytest.mark.parametrize("shards", PLACES.values(), ids=PLACES)
def test_every_row_has_a_number_of_its_own_in_the_block_of_its_shard(shards):
    layout = Layout(shards, 3, None)
    number = {
        (part.table, part.first + at): part.start + at
        for part in layout.parts
        for at in range(part.rows)
    }
    shard = {
        (part.table, part.first + at): s
        for s, parts in shards.items()
        for part in parts
        for at in range(len(part.weights))
    }

    assert number.keys() == shard.keys()
    assert sorted(number.values()) == list(range(layout.rows))
    for block in layout.blocks:
        inside = [row for row, n in number.items() if n in block.numbers]
        assert {shard[row] for row in inside} == {part.shard for part in block.parts}
        assert len({part.kinds for part in block.parts}) == 1
    rng = np.random.default_rng(3)
    for uses in (40, 40, 7, 0):  # the same shape twice, and others
        rows = [list(number)[at] for at in rng.integers(len(number), size=uses)]
        lookups = {
            t: torch.tensor(
                [row for of, row in rows if of == t], dtype=(torch.int32, torch.int64)[t % 2]
            )
            for t in {of for of, _ in rows}
        }
        expected = [number[t, int(row)] for t, ids in lookups.items() for row in ids]
        assert layout.numbers(lookups).tolist() == expected


@pytest.mark.parametrize(("rows", "parts"), [(7, 3), (6, 3), (3, 3), (5, 1)])
def test_a_table_that_is_split_is_the_same_memory(rows, parts):
    whole = TablePart(0, torch.arange(rows * 2.0).view(rows, 2), (torch.arange(rows),), first=10)
    split = split_rows(whole, parts)

    assert [part.first for part in split] == [
        10 + sum(len(each.weights) for each in split[:at]) for at in range(parts)
    ]
    assert torch.equal(torch.cat([part.weights for part in split]), whole.weights)
    assert torch.equal(torch.cat([part.state[0] for part in split]), whole.state[0])
    split[-1].weights.fill_(-1)
    assert whole.weights[-1].tolist() == [-1, -1]


def test_state_comes_back_as_it_was_whatever_its_types():
    state = {
        "a": {0: torch.arange(6).view(2, 3), "none": None, "yes": True},
        "b": [1, 2.5, float("inf"), "text", (torch.tensor(3.0), {})],
        "half": torch.tensor([1.5, -2], dtype=torch.bfloat16),
        "mask": torch.tensor([[True], [False]]),
        "empty": torch.empty(0, 3),
        "numpy": [np.float64(1 / 3), np.int32(-7), np.bool_(True), np.arange(6.0).reshape(2, 3)],
        "raw": b"\x00\xff",
        "enum": State.ON,
        "counter": Counter({5: 2}),
    }
    found = unpacked(packed(state))

    assert list(found) == list(state)
    assert found["a"].keys() == {0, "none", "yes"}
    assert found["b"][:4] == [1, 2.5, float("inf"), "text"]
    assert isinstance(found["b"][4], tuple)
    assert (type(found["counter"]), found["counter"]) == (Counter, {5: 2})
    assert (found["raw"], found["enum"]) == (b"\x00\xff", 1)
    for mine, other in zip(found["numpy"], state["numpy"], strict=True):
        assert type(mine) is type(other)
        assert mine.dtype == other.dtype
        assert np.array_equal(mine, other)
    for mine, other in (
        (found["a"][0], state["a"][0]),
        (found["b"][4][0], state["b"][4][0]),
        *((found[name], state[name]) for name in ("half", "mask", "empty")),
    ):
        assert mine.dtype == other.dtype
        assert torch.equal(mine, other)
