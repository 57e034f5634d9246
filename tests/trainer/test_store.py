"""Checkpoints on disk, whole or spoilt; the oracle is the state as it was when it was saved."""

import itertools
import os
import random
import shutil
import signal
import sys

import numpy as np
import pytest

from cprsim.trainer.lab import forking
from cprsim.trainer.store.manifests import PARTIAL
from cprsim.trainer.store.store import CheckpointStore

ROWS, DIM = 400, 4


class History:
    """A state that changes, and what it was at each step that was saved."""

    def __init__(self, store):
        self.store, self.rng = store, np.random.default_rng(7)
        self.weights = self.rng.random((ROWS, DIM), dtype=np.float32)
        self.squares = self.rng.random(ROWS, dtype=np.float32)
        self.saved = {}
        self.step = 0

    def save(self, share=1.0):
        """Change all rows, save a share of them; what was saved is the last save and these."""
        last = self.saved.get(self.step)
        self.step += 1
        self.weights, self.squares = self.weights + 1, self.squares + 1
        if share == 1.0:
            self.store.write(self.step, (self.weights, self.squares))
            self.saved[self.step] = self.weights.copy(), self.squares.copy()
            return
        ids = np.sort(self.rng.choice(ROWS, round(share * ROWS), replace=False))
        self.store.write(self.step, (self.weights[ids], self.squares[ids]), ids)
        weights, squares = (array.copy() for array in last)
        weights[ids], squares[ids] = self.weights[ids], self.squares[ids]
        self.saved[self.step] = weights, squares

    def check(self, at_most, step):
        """What is found is the state of that step, bit for bit."""
        found = self.store.restore(at_most)
        assert found is not None
        assert found.step == step
        for got, expected in zip(found.arrays, self.saved[step], strict=True):
            assert np.array_equal(got, expected)


@pytest.fixture
def history(tmp_path):
    return History(CheckpointStore(tmp_path))


def test_an_empty_store_has_nothing(history):
    assert history.store.steps == []
    assert history.store.restore(9) is None


@pytest.mark.parametrize("shares", [(1.0, 1.0, 1.0), (1.0, 0.1, 0.1, 0.1), (1.0, 0.5, 1.0, 0.25)])
def test_the_last_checkpoint_is_found(history, shares):
    for number, share in enumerate(shares, 1):
        history.save(share)
        history.check(at_most=99, step=number)


def test_no_write_looks_through_the_folder(history, monkeypatch):
    history.save()
    with monkeypatch.context() as patch:
        for name in ("listdir", "scandir"):
            patch.setattr(os, name, None)
        for _ in range(30):
            history.save(0.1)  # and merges them twice
    history.check(at_most=99, step=31)


def test_what_was_cut_short_is_cleaned_by_the_next_write(history, tmp_path, monkeypatch):
    """By the same store, which knows of it without looking."""
    history.save()
    rows, synced = (history.weights, history.squares), [None]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: synced.pop())  # the rows, and not the manifest
        with pytest.raises(IndexError):
            history.store.write(2, rows)
    assert [path.name for path in tmp_path.glob(f"*{PARTIAL}")] == [f"00000001.json{PARTIAL}"]
    history.store.write(2, rows)
    assert not list(tmp_path.glob(f"*{PARTIAL}"))


def test_what_others_wrote_meanwhile_is_found_by_who_returns(history, tmp_path):
    history.save()
    other = History(CheckpointStore(tmp_path))
    other.step = 1
    other.save()

    found = history.store.restore(9)
    assert found.step == 2
    history.store.write(3, found.arrays)
    assert CheckpointStore(tmp_path).steps == [3, 2]


def test_earlier_ones_are_found_by_their_step_and_later_ones_forgotten(history):
    for share in (1.0, 0.1, 0.1):
        history.save(share)

    history.check(at_most=2, step=2)
    history.check(at_most=99, step=2)


def test_a_delta_goes_on_top_of_what_was_returned_to(history):
    for share in (1.0, 0.2, 0.2):
        history.save(share)
    history.check(at_most=2, step=2)
    history.step = 2
    history.save(0.2)

    history.check(at_most=99, step=3)


def test_chains_stay_short_and_old_files_go(history, tmp_path):
    history.save()
    for _ in range(100):
        history.save(0.125)
        # A base, deltas of twice its size and one more, twice over: no more than 7 states.
        size = sum(path.stat().st_size for path in tmp_path.glob("*.npys"))
        assert size < 7 * ROWS * (DIM + 1) * 4 * 1.4  # ids come on top of rows
    history.check(at_most=999, step=101)


def test_the_checkpoint_before_the_last_is_there_whatever_is_merged(history, tmp_path):
    """Others may not have stored the last one yet: then the job returns to the one before."""
    history.save()
    for step in range(2, 60):
        history.save(0.125)
        copy = tmp_path.parent / f"copy-{step}"
        shutil.copytree(tmp_path, copy)
        found = CheckpointStore(copy).restore(step - 1)
        assert found.step == step - 1
        assert np.array_equal(found.arrays[0], history.saved[step - 1][0])


@pytest.mark.parametrize("spoil", ["cut", "flip", "empty", "gone"])
@pytest.mark.parametrize("what", ["json", "npys"])
@pytest.mark.parametrize("shares", [(1.0, 1.0, 1.0), (1.0, 0.1, 0.1)])
def test_the_one_before_a_spoilt_file_is_used(history, tmp_path, spoil, what, shares):
    for share in shares:
        history.save(share)
    path = max(tmp_path.glob(f"*.{what}"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    if spoil == "gone":
        path.unlink()
    else:
        path.write_bytes({"cut": content[:-1], "flip": content, "empty": b""}[spoil])

    history.check(at_most=99, step=2)
    history.step = 2
    history.save(0.1)
    history.check(at_most=99, step=3)


def test_a_spoilt_base_takes_its_chain_with_it(history, tmp_path):
    for share in (1.0, 1.0, 0.1, 0.1):
        history.save(share)
    bases = sorted(tmp_path.glob("*.npys"))
    bases[1].write_bytes(b"")

    history.check(at_most=99, step=1)


def test_what_a_killed_writer_left_is_cleaned(history, tmp_path):
    history.save()
    (tmp_path / f"00000001.npys{PARTIAL}").write_bytes(b"half")
    history.check(at_most=99, step=1)
    history.save(0.1)

    assert not list(tmp_path.glob(f"*{PARTIAL}"))
    history.check(at_most=99, step=2)


def _write_until_killed(folder, touches):
    """Step n holds n in all rows; dies as it touches files for the last of so many times.

    One more checkpoint is written before the first of them counts.
    """
    touched = itertools.count()
    written = False

    def hook(event, _):
        if written and event in _TOUCHES and next(touched) == touches:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    store = CheckpointStore(folder)
    last = store.restore(1 << 40)
    step = 0 if last is None else last.step
    while True:
        step += 1
        arrays = np.full((ROWS, DIM), step, np.float32), np.full(ROWS, step, np.float32)
        whole = step % 3 == 1 or not store.steps
        store.write(step, arrays, None if whole else np.arange(ROWS))
        written = True


#: What a store does to files, as Python's audit events name it.
_TOUCHES = {"open", "os.rename", "os.remove"}


@pytest.mark.slow
def test_a_writer_that_is_killed_at_any_moment_leaves_whole_checkpoints(tmp_path):
    # Three checkpoints, one of them whole, touch files some sixty times.
    moments, context, last = random.Random(0), forking.context(), 0
    for touches in moments.sample(range(60), 20):
        writer = context.Process(target=_write_until_killed, args=(tmp_path, touches))
        writer.start()
        writer.join()
        assert writer.exitcode == -signal.SIGKILL
        found = CheckpointStore(tmp_path).restore(1 << 40)
        assert found.step > last
        assert all((array == found.step).all() for array in found.arrays)
        last = found.step


def test_checkpoints_that_the_job_may_return_to_are_kept_and_others_after_them_are_void(
    history, tmp_path
):
    for _ in range(3):
        history.save()
    store, whole = history.store, (history.weights, history.squares)
    store.write(4, whole, returns_to=[2, 3])
    store.write(5, whole, returns_to=[2, 4])

    assert store.steps == CheckpointStore(tmp_path).steps == [5, 4, 2]
    history.check(at_most=3, step=2)


def test_a_delta_does_not_go_on_top_of_what_is_void(history):
    for share in (1.0, 1.0):
        history.save(share)
    ids = np.arange(10)
    rows = history.weights[ids] + 1, history.squares[ids] + 1
    history.store.write(3, rows, ids, returns_to=[1])

    found = history.store.restore(3)
    assert found is not None
    for array, first, changed in zip(found.arrays, history.saved[1], rows, strict=True):
        assert np.array_equal(array[:10], changed)
        assert np.array_equal(array[10:], first[10:])
