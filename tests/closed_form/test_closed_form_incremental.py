"""Incremental checkpoints against files that are written, kept and read one by one."""

import random
import re

import pytest

from cprsim.closed_form.incremental import (
    Traffic,
    consecutive,
    intermittent,
    one_shot,
    rebaseline_due,
)

# Share of the rows that 1, 2, ... intervals modify; a quarter, and over half after ten of them.
MODIFIED = [0.25, 0.34, 0.4, 0.44, 0.47, 0.49, 0.51, 0.52, 0.53, 0.54]


@pytest.mark.parametrize(
    ("diffs", "due"),
    [
        ([], False),
        ([0.99], False),  # 1 + 0.99 against 2 x 0.99
        ([1.0], True),
        ([0.1, 0.5], False),  # 1.6 against 1.5
        ([0.1, 0.6], True),  # 1.7 against 1.8
        ([0.25, 0.5, 0.75], True),  # 2.5 against 3
        ([0.5] * 6, False),  # 4 against 3.5, and so for ever
        ([0.0, 0.0], False),
    ],
)
def test_rule_by_hand(diffs, due):
    assert rebaseline_due(diffs) is due


def test_totals_by_hand():
    # 100 B, half of them left by quantisation; 3 intervals: 1 + 0.25 + 0.34 + 0.4 is written
    assert one_shot(MODIFIED, 3, 100.0, 0.5) == Traffic(
        pytest.approx(99.5), pytest.approx(70.0), pytest.approx(70.0), 1
    )
    # the chain 1 + 3 x 0.25
    assert consecutive(MODIFIED, 3, 100.0, 0.5) == Traffic(
        pytest.approx(87.5), pytest.approx(87.5), pytest.approx(87.5), 1
    )


def test_intermittent_by_hand():
    # [0.2, 0.8]: 2.0 against 2.4, so every third save is a baseline.
    modified = [0.2, 0.8]
    assert intermittent(modified, 2, 10.0) == Traffic(
        pytest.approx(20.0), pytest.approx(18.0), pytest.approx(18.0), 1
    )
    assert intermittent(modified, 3, 10.0) == Traffic(
        pytest.approx(30.0), pytest.approx(10.0), pytest.approx(10.0), 2
    )
    assert intermittent(modified, 4, 10.0) == Traffic(
        pytest.approx(32.0), pytest.approx(12.0), pytest.approx(12.0), 2
    )


def test_nothing_but_the_baseline():
    for variant in (one_shot, consecutive, intermittent):
        assert variant([], 0, 10.0, 0.5) == Traffic(5.0, 5.0, 5.0, 1)


def test_everything_modified_makes_each_save_a_baseline_or_as_large():
    assert one_shot([1.0] * 4, 4, 10.0).written_bytes == 50.0
    # A difference as large as the baseline makes the next save one: 1, d, 1, d, 1.
    assert intermittent([1.0], 4, 10.0) == Traffic(50.0, 10.0, 10.0, 3)


def test_rows_counted_one_by_one():
    # A model of 1000 rows, 150 of them touched at random per interval. What is loaded must hold
    # every row modified since the baseline; what is written is counted row by row.
    generator = random.Random(3)
    touched = [set(generator.choices(range(1000), k=150)) for _ in range(12)]
    since_start, written = [], 1000
    for done in range(1, 13):
        rows = set().union(*touched[:done])
        since_start.append(len(rows) / 1000)
        written += len(rows)
    found = one_shot(since_start, 12, 1000.0)
    assert found.written_bytes == pytest.approx(written)
    assert found.read_bytes == pytest.approx(1000 + len(rows))
    # The chain, were each interval to touch as many rows as the first one did.
    assert consecutive(since_start, 12, 1000.0).read_bytes == 1000 + 12 * len(touched[0])


@pytest.mark.parametrize("intervals", range(1, 11))
def test_shapes_that_incrcp_reports(intervals):
    # One-shot reads less, consecutive writes less; intermittent never has more to read than it.
    shot = one_shot(MODIFIED, intervals, 1.0)
    chain = consecutive(MODIFIED, intervals, 1.0)
    assert shot.read_bytes <= chain.read_bytes
    assert chain.written_bytes <= shot.written_bytes
    assert intermittent(MODIFIED, intervals, 1.0).read_bytes <= 1 + max(MODIFIED[:intervals])


def test_intermittent_restarts_its_differences():
    # Played with sizes alone: the baseline comes when the rule of the docstring first holds.
    modified = [0.1, 0.35, 0.6, 0.8, 0.9]
    sizes, since = [1.0], []
    for _ in range(20):
        grown = since and 1 + sum(since) <= (len(since) + 1) * since[-1]
        since = [] if grown else [*since, modified[len(since)]]
        sizes.append(since[-1] if since else 1.0)
    found = intermittent(modified, 20, 1.0)
    assert found.baselines == sizes.count(1.0) > 2
    assert found.written_bytes == pytest.approx(sum(sizes))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rebaseline_due([0.1, -0.1]), "diffs must be >= 0, got -0.1"),
        (lambda: one_shot([0.1], -1, 1.0), "intervals must be >= 0, got -1"),
        (lambda: one_shot([0.1], 1, -1.0), "state_bytes must be >= 0, got -1.0"),
        (lambda: one_shot([0.1], 1, 1.0, 0.0), "quantised must be > 0, got 0.0"),
        (lambda: consecutive([0.1], 1, 1.0, 1.5), "quantised must be <= 1, got 1.5"),
        (lambda: one_shot([0.1], 2, 1.0), "modified must tell of 2 intervals, got 1"),
        (lambda: consecutive([], 2, 1.0), "modified must tell of 1 intervals, got 0"),
        (lambda: intermittent([0.1], 2, 1.0), "modified must tell of 2 intervals, got 1"),
        (
            lambda: one_shot([0.2, 0.1], 2, 1.0),
            "modified must rise from 0 to 1, got 0.1 after 0.2",
        ),
        (lambda: one_shot([1.2], 1, 1.0), "modified must rise from 0 to 1, got 1.2 after 0.0"),
    ],
)
def test_refuses_what_makes_no_sense(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()
