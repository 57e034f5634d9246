"""Rows in fewer bits: how far they may be off is worked out from the rows themselves."""

import hashlib

import numpy as np
import pytest

from cprsim.trainer.members.manifests import SpoiltError
from cprsim.trainer.members.quantised import plain, quantised, restored
from cprsim.trainer.members.store import CheckpointStore
from tests.trainer.runs import DIM, STEPS, ran, servers_hit
from tests.trainer.test_differences import HEADER, PLACEMENT, differing, landed, modified

#: Of what is restored: float32 has 24 bits.
ROUNDING = 2.0**-24


def half_steps(rows, bits):
    """What each value may be off by, shape (rows, 1)."""
    exact = rows.astype(float)
    step = (exact.max(axis=1) - exact.min(axis=1)) / (2**bits - 1)
    # The step that is stored is rounded up to float32: by 2^-23 of it at most.
    most = step / 2 * (1 + 2.0**-23) + np.abs(exact).max(axis=1) * ROUNDING
    return most[:, None]


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8, 12, 31])
@pytest.mark.parametrize("width", [1, 5, 16])
def test_each_value_is_off_by_half_a_step_of_its_row_at_most(bits, width):
    rng = np.random.default_rng(bits)
    scale = 10.0 ** rng.uniform(-6, 6, (300, 1))
    rows = ((rng.standard_normal((300, width)) + rng.uniform(-9, 9)) * scale).astype(np.float32)

    stored = quantised(rows, bits)

    assert stored.codes.shape == (300, -(-width * bits // 8))
    assert (np.abs(restored(stored).astype(float) - rows) <= half_steps(rows, bits)).all()


def test_rows_of_one_value_and_rows_on_the_levels_are_exact():
    levels = np.arange(16, dtype=np.float32)[None] * 0.5 - 3
    rows = np.concatenate([levels, levels[:, ::-1], np.full_like(levels, 0.1), 0 * levels])

    assert np.array_equal(restored(quantised(rows, 4)), rows)
    assert restored(quantised(rows[:0], 4)).shape == (0, 16)


def test_more_rows_than_are_worked_on_at_a_time_are_as_those_alone():
    rows = np.random.default_rng(3).standard_normal((70_000, 3)).astype(np.float32)

    assert np.array_equal(
        restored(quantised(rows, 8))[66_000:], restored(quantised(rows[66_000:], 8))
    )


def test_values_that_are_no_numbers_stay_none():
    rows = np.array([[1.0, np.nan], [np.inf, 0.0], [3.0, 4.0]], np.float32)

    found = restored(quantised(rows, 8))

    assert not np.isfinite(found[:2]).all(axis=1).any()
    assert np.allclose(found[2], rows[2])


def test_what_should_be_quantised_rows_and_is_not_is_spoilt():
    rows = quantised(np.ones((3, 5), np.float32), 4)
    (whole,) = plain([*rows])
    assert np.array_equal(whole, np.ones((3, 5)))
    others = rows.form.copy()
    others["bits"] = 0

    for wrong in (
        rows[:2],
        [others, *rows[1:]],
        [rows.form, rows.ranges.astype(float), rows.codes],
        [rows.form, rows.ranges[:2], rows.codes],
        [rows.form, rows.ranges, rows.codes[:, :1]],
        [rows.form, rows.ranges, rows.codes[:, 0]],
        [np.concatenate([rows.form] * 2), *rows[1:]],
    ):
        with pytest.raises(SpoiltError, match="no quantised rows"):
            plain([*wrong])


@pytest.mark.slow
@pytest.mark.essential
@pytest.mark.parametrize("bits", [8, 4])
def test_a_job_returns_to_rows_that_are_off_by_half_a_step_at_most(tmp_path, bits):
    kills = [(21.0, servers_hit(0)), (41.0, servers_hit(1))]
    run = ran(differing("one-shot", 8.0, bits), kills, tmp_path, watch=True)

    recoveries = [*run.watched.recoveries()]
    assert len(recoveries) == len(kills)
    for (_, _, held), after in recoveries:
        for server, rows in after.items():
            off = np.abs(rows.astype(float) - held[server])
            assert (off <= half_steps(held[server], bits)).all()
            assert off.max() > 0


@pytest.mark.slow
def test_what_is_stored_takes_its_bits_and_state_is_as_it_was(tmp_path):
    plans = {bits: differing("one-shot", 8.0, bits) for bits in (32, 8, 4)}
    runs = {bits: landed(plan, [], tmp_path / str(bits)) for bits, plan in plans.items()}
    found = {
        bits: CheckpointStore(tmp_path / str(bits) / "server-0").restore(32).arrays for bits in runs
    }

    assert len({run.predictions for run in runs.values()}) == 1  # nothing was lost
    for bits in (8, 4):
        off = np.abs(found[bits][0].astype(float) - found[32][0])
        assert (off <= half_steps(found[32][0], bits)).all()
        assert np.array_equal(found[bits][1], found[32][1])
        row = DIM * bits // 8 + 8 + 4
        parts = [each for each in runs[bits].job.parts if each.step < STEPS]
        assert {each.step for each in parts} == {8, 16, 24, 32}
        for each in parts:
            # A form of 5 bytes, ranges, codes and state; of a difference, numbers of rows.
            rows = PLACEMENT.rows_of(each.server)
            size = 4 * HEADER + 5 + rows * row
            if each.step > 8:
                rows = modified(each.server, 8, each.step)
                size = 5 * HEADER + 5 + rows * (row + 4)
            assert each.size == size


@pytest.mark.slow
def test_the_last_save_of_a_job_is_of_rows_as_they_are(tmp_path):
    run = landed(differing("consecutive", 8.0, 4), [], tmp_path)

    state = CheckpointStore(tmp_path / "server-1").restore(99)
    digest = hashlib.sha256(state.arrays[0].tobytes() + state.arrays[1].tobytes())
    assert digest.hexdigest() == run.digests[1]["sha256"]
