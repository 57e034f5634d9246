"""Checkpoints on disk, whole or damaged at random; the oracle is the state as it was saved."""

import errno
import itertools
import os
import random
import shutil
import signal
from collections import Counter
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.trainer.lab import forking
from cprsim.trainer.lab.members import reported
from cprsim.trainer.store.files import PARTIAL, Name
from cprsim.trainer.store.store import CheckpointStore, ReadCheckpoint, last_sound
from tests.trainer.faults import killed_at

ROWS, DIM = 40, 2
FOREIGN = (
    ".DS_Store",
    ".nfs000000000a1",
    "foo.npys",
    "notes.json",
    "7.json",
    "x.partial",
    "00.npys",
)


def restored(store: CheckpointStore, at_most: int) -> ReadCheckpoint | None:
    """As hooks return to a checkpoint; where there is none, they stop."""
    found = last_sound(store.folder, at_most)
    if found is not None:
        store.return_to(found)
    return found


class Folder:
    """A folder of checkpoints, and the state at each step that was saved."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.rng = path, np.random.default_rng(seed)
        self.store = CheckpointStore(path)
        self.saved: dict[int, tuple[np.ndarray, ...]] = {}
        self.last = self.rng.random((ROWS, DIM), np.float32), self.rng.random(ROWS, np.float32)

    def save(self, step: int, whole: bool = False, **more: Any) -> None:
        live = tuple(each + np.float32(step) for each in self.last)
        ids = np.arange(ROWS) if whole else np.sort(self.rng.choice(ROWS, 9, replace=False))
        rows = tuple(each[ids] for each in live)
        self.store.write(step, rows, None if whole else ids, **more)
        self.last = tuple(each.copy() for each in self.last)
        for mine, given in zip(self.last, rows, strict=True):
            mine[ids] = given
        self.saved[step] = self.last

    def restored(self, at_most: int) -> int | None:
        """The step of the checkpoint that is found; its state is that of this step."""
        found = restored(self.store, at_most)
        if found is None:
            return None
        assert found.step <= at_most
        for got, expected in zip(found.arrays, self.saved[found.step], strict=True):
            assert got.dtype == expected.dtype
            assert np.array_equal(got, expected)
        self.last = self.saved[found.step]
        return found.step

    def copied(self, path: Path) -> "Folder":
        """The same in another folder, as a new process finds it."""
        shutil.copytree(self.path, path)
        other = Folder(path, 1)
        other.saved, other.last = dict(self.saved), self.last
        return other


def pick(rng: random.Random, path: Path, pattern: str = "*") -> Path:
    """Some regular file, as the store names them."""
    own = [each for each in sorted(path.glob(pattern)) if Name.of(each.name) and each.is_file()]
    return rng.choice(own) if own else path / "00000000.none"


# --- What happens to files ---


def flip(rng: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 8))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def zero(rng: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    first = rng.randrange(len(content))
    content[first : first + 64] = bytes(len(content[first : first + 64]))
    path.write_bytes(content)


def cut(rng: random.Random, path: Path) -> None:
    path.write_bytes(path.read_bytes()[: rng.randrange(path.stat().st_size)])


def blow_up(rng: random.Random, path: Path) -> None:
    os.truncate(path, path.stat().st_size + rng.choice((1, 1 << 16)))


def swap(rng: random.Random, path: Path) -> None:
    other = pick(rng, path.parent, f"*{path.suffix}")
    mine, its = path.read_bytes(), other.read_bytes()
    path.write_bytes(its)
    other.write_bytes(mine)


def copy_over(rng: random.Random, path: Path) -> None:
    with suppress(shutil.SameFileError):
        shutil.copyfile(pick(rng, path.parent), path)


def delete(_: random.Random, path: Path) -> None:
    path.unlink()


def make_folder(_: random.Random, path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_pipe(_: random.Random, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_link(rng: random.Random, path: Path) -> None:
    """To the very same content, or to nothing, elsewhere."""
    elsewhere = path.parent.with_name(f"{path.parent.name}-outside")
    elsewhere.mkdir(exist_ok=True)
    target = elsewhere / path.name
    if rng.random() < 0.5:
        content = path.read_bytes()  # which may come from there already
        target.write_bytes(content)
    path.unlink()
    path.symlink_to(target)


def leave_partial(rng: random.Random, path: Path) -> None:
    serial = rng.choice((1, 99))
    path.with_name(str(Name(serial, "npys", partial=True))).write_bytes(b"half")


DAMAGES = (
    flip,
    zero,
    cut,
    blow_up,
    swap,
    copy_over,
    delete,
    make_folder,
    make_pipe,
    make_link,
    leave_partial,
)


def put_foreign(rng: random.Random, folder: Path) -> dict[Path, bytes | None]:
    """Files and folders of others, and what these files hold."""
    found: dict[Path, bytes | None] = {}
    for name in rng.sample(FOREIGN, 3):
        path, content = folder / name, rng.randbytes(9)
        if rng.random() < 0.2:
            path.mkdir()
            found[path] = None
        else:
            path.write_bytes(content)
            found[path] = content
    return found


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Folder]:
    """Folders with histories of their own."""
    folders = []
    for number, saves in enumerate(("wwd", "wd", "wdddd", "wddwd", "w", "wdwdddddddddddd")):
        folder = Folder(tmp_path_factory.mktemp("written") / "store", number)
        for step, kind in enumerate(saves, 1):
            folder.save(step, kind == "w")
        folders.append(folder)
    return folders


def damaged(folder: Folder, rng: random.Random) -> list[str]:
    """What was done to it."""
    done = []
    for _ in range(rng.choice((1, 1, 2, 4))):
        path, damage = pick(rng, folder.path), rng.choice(DAMAGES)
        if path.is_file() and path.stat().st_size:
            damage(rng, path)
            done.append(damage.__name__)
    return done


def fuzzed(written: list[Folder], tmp_path: Path, trials: int, seed: int) -> Counter[str]:
    """Damage folders; each gives a state that was saved, or none, and is then written to."""
    rng, counts = random.Random(seed), Counter[str]()
    for trial in range(trials):
        source = rng.choice(written)
        folder = source.copied(tmp_path / f"at-{trial}")
        foreign = put_foreign(rng, folder.path)
        running = rng.random() < 0.3  # the writer is at work meanwhile
        counts.update(damaged(folder, rng))
        newest = max(source.saved)
        if running:
            folder.save(newest + 1, whole=False)
        else:
            folder.store = CheckpointStore(folder.path)
        step = folder.restored(rng.choice((99, 99, newest + 1, newest - 1)))
        newest += 1
        counts["none" if step is None else "last" if step >= newest - 1 else "earlier"] += 1
        folder.save(newest + 1, whole=step is None)
        assert folder.restored(99) == newest + 1
        folder.store = CheckpointStore(folder.path)
        assert folder.restored(99) == newest + 1
        for path, content in foreign.items():
            assert path.is_dir() if content is None else path.read_bytes() == content
        shutil.rmtree(folder.path)
    return counts


@pytest.mark.parametrize(
    ("trials", "seed"), [(150, 0), pytest.param(600, 1, marks=pytest.mark.nightly)]
)
def test_damage_of_any_kind_gives_a_state_that_was_saved_or_none(
    trials, seed, written, tmp_path, counted
) -> None:
    counts = fuzzed(written, tmp_path, trials, seed)
    counted(f"{trials} damaged checkpoints: {dict(counts)}")
    assert min(counts[each.__name__] for each in DAMAGES) > 0
    assert min(counts[each] for each in ("none", "earlier", "last")) > 20


def test_a_delta_follows_what_was_written_whatever_has_become_of_that(written, tmp_path) -> None:
    """Not the checkpoint before it, in whose place it would be wrong."""
    folder = written[0].copied(tmp_path / "it")
    max(folder.path.glob("*.json")).unlink()
    folder.save(4, whole=False)

    assert folder.restored(99) == 4


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM, errno.ESTALE, errno.EIO])
def test_what_says_nothing_of_a_file_drops_none(written, tmp_path, monkeypatch, number) -> None:
    folder = written[0].copied(tmp_path / "it")

    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(OSError, match=os.strerror(number)):
            restored(folder.store, 99)
    assert folder.restored(99) == 3


@pytest.mark.parametrize("kind", ["json", "npys"])
def test_a_file_of_a_tebibyte_is_not_read(written, tmp_path, kind) -> None:
    folder = written[0].copied(tmp_path / "it")
    os.truncate(max(folder.path.glob(f"*.{kind}")), 1 << 40)  # of holes

    assert folder.restored(99) == 2


def test_where_none_is_sound_all_stay_as_they_are(written, tmp_path) -> None:
    folder = written[0].copied(tmp_path / "it")
    for path in folder.path.glob("*.npys"):
        path.write_bytes(b"")
    before = sorted(folder.path.iterdir())

    assert folder.restored(99) is None
    assert sorted(folder.path.iterdir()) == before
    assert CheckpointStore(folder.path).steps


def test_a_process_tells_the_coordinator_which_file_the_disk_was_too_full_for() -> None:
    """And ends without a traceback."""
    ours, its = Pipe()
    with reported(its):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/there/00000001.npys")
    assert ours.recv() == ("failed", "/there/00000001.npys: No space left on device")


# --- What is kept, and what is not looked at ---


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path / "it", 7)
    found.save(1, whole=True)
    return found


def test_what_was_cut_short_is_cleaned_by_the_next_write(folder, monkeypatch) -> None:
    """By the same store, which knows of it without looking."""
    synced = [None]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: synced.pop())  # the rows, and not the manifest
        with pytest.raises(IndexError):
            folder.save(2, whole=True)
    assert [path.name for path in folder.path.glob(f"*{PARTIAL}")] == [f"00000001.json{PARTIAL}"]
    folder.save(2, whole=True)
    assert not list(folder.path.glob(f"*{PARTIAL}"))


def test_what_others_wrote_meanwhile_is_found_by_who_returns(folder) -> None:
    other = Folder(folder.path, 7)
    other.save(2, whole=True)

    found = restored(folder.store, 9)
    folder.store.write(3, found.arrays)
    assert CheckpointStore(folder.path).steps == [3, 2]


def test_a_delta_goes_on_top_of_what_was_returned_to(folder) -> None:
    for step in (2, 3):
        folder.save(step)
    assert folder.restored(2) == 2
    assert folder.restored(99) == 2  # later ones are forgotten
    folder.save(3)
    assert folder.restored(99) == 3


def test_chains_stay_short_and_the_checkpoint_before_the_last_is_there(folder, tmp_path) -> None:
    """Others may not have stored the last one yet: then the job returns to the one before."""
    for step in range(2, 60):
        folder.save(step)
        # A base, deltas of twice its size and one more, twice over: no more than 7 states.
        size = sum(path.stat().st_size for path in folder.path.glob("*.npys"))
        headers = 128 * 3 * len(list(folder.path.glob("*.npys")))
        assert size < 7 * ROWS * (DIM + 1) * 4 * 1.4 + headers  # ids come on top of rows
        copy = folder.copied(tmp_path / f"copy-{step}")
        assert copy.restored(step - 1) == step - 1


def test_checkpoints_that_the_job_may_return_to_are_kept_and_others_after_them_are_void(
    folder,
) -> None:
    for step in (2, 3):
        folder.save(step, whole=True)
    folder.save(4, whole=True, returns_to=[2, 3])
    folder.save(5, whole=True, returns_to=[2, 4])

    assert folder.store.steps == CheckpointStore(folder.path).steps == [5, 4, 2]
    assert folder.restored(3) == 2


def test_a_delta_does_not_go_on_top_of_what_is_void(folder) -> None:
    first = folder.last
    folder.save(2, whole=True)
    folder.last = first
    folder.save(3, returns_to=[1])
    assert folder.restored(3) == 3


def _write_until_killed(folder, touches):
    """Step n holds n in all rows; one checkpoint is written before the first touch counts."""
    store = CheckpointStore(folder)
    last = restored(store, 1 << 40)
    first = 1 if last is None else last.step + 1
    for step in itertools.count(first):
        arrays = np.full((ROWS, DIM), step, np.float32), np.full(ROWS, step, np.float32)
        whole = step % 3 == 1 or not store.steps
        store.write(step, arrays, None if whole else np.arange(ROWS))
        if step == first:
            killed_at(touches + 1)


@pytest.mark.slow
def test_a_writer_that_is_killed_at_any_moment_leaves_whole_checkpoints(tmp_path):
    # Three checkpoints, one of them whole, touch files some sixty times.
    moments, context, last = random.Random(0), forking.context(), 0
    for touches in moments.sample(range(60), 20):
        writer = context.Process(target=_write_until_killed, args=(tmp_path, touches))
        writer.start()
        writer.join()
        assert writer.exitcode == -signal.SIGKILL
        found = restored(CheckpointStore(tmp_path), 1 << 40)
        assert found.step > last
        assert all((array == found.step).all() for array in found.arrays)
        last = found.step
