"""Blocks of a bar on the page: short ones are merged, and nothing of them is lost."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.app.pictures import BarBlock, merged


def test_short_blocks_are_merged_and_long_ones_are_not() -> None:
    def block(start: float, end: float, kind: str) -> BarBlock:
        return BarBlock(start, end, {kind: end - start})

    blocks = [block(0, 5, "a"), block(5, 5.5, "b"), block(5.5, 6, "a"), block(6, 6.5, "b")]
    after = [block(6.5, 9, "a"), block(9, 9.2, "b"), block(12, 12.2, "b")]

    assert merged([*blocks, *after], 1.0) == [
        blocks[0],
        BarBlock(5, 6, {"b": 0.5, "a": 0.5}),  # as long as the least: it takes in no more
        blocks[3],
        *after,  # a gap is no part of a block
    ]


@given(
    st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0.0, 0.5), st.sampled_from("abc"))),
    st.floats(0.1, 2.0),
)
def test_merging_keeps_amounts_and_order(
    parts: list[tuple[float, float, str]], least: float
) -> None:
    at, blocks = 0.0, []
    for length, gap, kind in parts:
        blocks.append(BarBlock(at, at + length, {kind: length}))
        at += length + gap
    found = merged(blocks, least)

    for kind in "abc":
        total = sum(b.amounts.get(kind, 0.0) for b in blocks)
        assert sum(b.amounts.get(kind, 0.0) for b in found) == pytest.approx(total)
    for one, other in itertools.pairwise(found):
        assert one.end <= other.start
    for each in found:
        assert sum(each.amounts.values()) <= (each.end - each.start) * (1 + 1e-9)
        # Less than the least before the last, which is shorter than that, and the gap between.
        assert len(each.amounts) == 1 or each.end - each.start < 2 * least + 0.5
