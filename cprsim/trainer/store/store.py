"""The checkpoints of one shard on disk: a base image, and deltas of rows that follow it.

Every checkpoint is a manifest that names the files it consists of, a base and deltas in order,
with their sizes and hashes. Files and manifests are written under temporary names, synced, and
renamed, so one that was cut short is never seen; one that was spoilt later is found by its hash,
and the checkpoint before it is used.
"""

import math
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.files import sync_folder
from cprsim.contract.actions import Since
from cprsim.trainer.store.files import (
    Arrays,
    File,
    Manifest,
    Name,
    SpoiltError,
    read_chain,
    read_manifest,
    write_arrays,
    written,
)

#: A chain is merged into a new base once its deltas are so many times as large as the base.
_MOST_DELTAS = 2.0


class ReadCheckpoint(NamedTuple):
    """A checkpoint that was read, all rows; those `changed` may be other than in its base.

    `spoilt`: what newer files were found to be, for which it isn't one of those.
    """

    serial: int
    step: int
    arrays: Arrays
    size: int
    changed: NDArray[np.int64] = np.empty(0, np.int64)
    spoilt: tuple[str, ...] = ()


def most_bytes(size: int, deltas: bool) -> int:
    """The bytes of all files that a store has at a time, of checkpoints of so many bytes.

    Without `deltas` the last, the one before, and the one that is being written. With them the
    chains of two bases, whose last delta may be as large as a base, and the base into which the
    second is merged.
    """
    return round(size * (2 * (1 + _MOST_DELTAS + 1) + 1)) if deltas else 3 * size


def checkpoints_in(folder: Path) -> list[Manifest]:
    """All in a store's folder with a sound manifest, newest first; their files may be spoilt."""
    return _sound(folder, _names_in(folder))[0]


def last_sound(folder: Path, at_most: int) -> ReadCheckpoint | None:
    """Read the last sound checkpoint in a store's folder of a step up to `at_most`."""
    sound, spoilt = _sound(folder, _names_in(folder))
    for serial, step, files in sound:
        if step > at_most:
            continue
        try:
            arrays, changed = read_chain(folder, files)
        except SpoiltError as error:
            spoilt.append((serial, str(error)))
        else:
            told = tuple(each for number, each in spoilt if number > serial)
            size = sum(each.size for each in files)
            return ReadCheckpoint(serial, step, arrays, size, changed, told)
    return None


def _names_in(folder: Path) -> set[Name]:
    found = (Name.of(path.name) for path in folder.iterdir())
    return {name for name in found if name is not None}


def _sound(folder: Path, names: Collection[Name]) -> tuple[list[Manifest], list[tuple[int, str]]]:
    """Return the sound ones, newest first; of the others the serial, and the fault."""
    found, spoilt = [], []
    for name in sorted(filter(_is_manifest, names), reverse=True):
        try:
            found.append(read_manifest(folder, name))
        except SpoiltError as error:
            spoilt.append((name.serial, str(error)))
    return found, spoilt


def _is_manifest(name: Name) -> bool:
    return name.kind == "json" and not (name.partial or name.merged)


class CheckpointStore:
    """The checkpoints of one shard in a folder, which nobody else writes to but a merger.

    So it is looked through when it is opened or returned to, and by no write, except for what a
    merger (`cprsim.trainer.merge`) has added.
    Of its checkpoints the last is kept, the one of the step before, those that the job may still
    return to, and one with another base, should that be spoilt. Files whose names are not of the
    store's own are left alone.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._names = folder, _names_in(folder)
        # The newest first. Who writes goes by these and not by the folder: were a manifest spoilt
        # meanwhile, a delta would go on top of another checkpoint than the one it follows.
        self._checkpoints, _ = _sound(folder, self._names)

    @property
    def steps(self) -> list[int]:
        """The steps of its checkpoints, the newest first; files of them may be spoilt."""
        return [each.step for each in self._checkpoints]

    # --- Writing ---

    def write(
        self,
        step: int,
        arrays: Arrays,
        ids: NDArray[np.int64] | None = None,
        returns_to: Collection[int] = (),
        since: Since | None = None,
        keeps: Collection[int] = (),
    ) -> int:
        """Add a checkpoint of all rows, or of the rows `ids` on top of the last one.

        `returns_to`: steps of checkpoints that the job may return to until all members have stored
        this one; if given, others later than the first of them are dropped. `since`: `ids` are
        on top of that one instead, or of its base, whose chain is then never merged. `keeps`:
        steps of older checkpoints that stay.

        Returns the bytes written. There must be a last one.
        """
        self.clean()
        self._drop_void(returns_to)
        chain: tuple[File, ...] = ()
        if since is not None and ids is not None:
            usable = min(returns_to)
            chain = next(each.files for each in self._checkpoints if each.step <= usable)
            shortened = self._shortened(chain)  # which notes what a merger has left, to be removed
            chain = chain[:1] if since == "baseline" else shortened
        elif ids is not None:
            chain = self._shortened(self._checkpoints[0].files)
        serial = self._next_serial()
        file = self._write_rows(serial, arrays if ids is None else (ids.astype(np.uint32), *arrays))
        checkpoint = Manifest(serial, step, (*chain, file))
        # The manifest comes last: a checkpoint exists when that has its name, and its files were
        # synced before.
        self._write_manifest(checkpoint)
        appended = sum(each.size for each in checkpoint.files[1:])
        if since != "baseline" and appended > _MOST_DELTAS * checkpoint.files[0].size:
            with suppress(SpoiltError):  # the chain is, and whoever reads it will find out
                self._merge(checkpoint)
        self._drop_old((*returns_to, *keeps))
        return file.size

    def _shortened(self, chain: tuple[File, ...]) -> tuple[File, ...]:
        """The chain on the last base that a merger has made of its first files, if there is one."""
        merged = [name for name in _names_in(self.folder) if name.merged and not name.partial]
        manifests = sorted((name for name in merged if name.kind == "json"), reverse=True)
        # All go with the older checkpoints, unless the base is used from now on. A base newer than
        # they may still get its manifest; one that is older, of a merger that was killed, does not.
        newest = max((name.serial for name in manifests), default=-1)
        self._names.update(name for name in merged if name.serial <= newest)
        for name in manifests:
            with suppress(SpoiltError, OSError):
                # Its base, and the delta up to which that has all of a chain.
                base, *last = read_manifest(self.folder, name).files
                size = (self.folder / base.name).stat().st_size
                if len(last) == 1 and last[0] in chain and size == base.size:
                    return (base, *chain[chain.index(last[0]) + 1 :])
        return chain

    def clean(self) -> None:
        """Remove what a writer that was killed has left."""
        self._drop([each for each in self._names if each.partial])

    def _merge(self, chain: Manifest) -> None:
        """Write the same checkpoint as a new base, so that chains stay short."""
        # The same step under the next serial: readers take the newest manifest, so the chain is
        # used until the base is there, and not after.
        serial = chain.serial + 1
        base = self._write_rows(serial, read_chain(self.folder, chain.files)[0])
        self._write_manifest(Manifest(serial, chain.step, (base,)))

    def _write_rows(self, serial: int, arrays: Arrays) -> File:
        with self._named(Name(serial, "npys")) as path:
            return write_arrays(path, arrays)

    def _write_manifest(self, checkpoint: Manifest) -> None:
        with self._named(Name(checkpoint.serial, "json")) as path, written(path) as file:
            file.write(checkpoint.content())
        sync_folder(self.folder)
        self._checkpoints.insert(0, checkpoint)

    @contextmanager
    def _named(self, name: Name) -> Iterator[Path]:
        partial = name._replace(partial=True)
        self._names.add(partial)  # what is left of it, should it be cut short, is cleaned later
        yield self.folder / str(name)
        self._names.remove(partial)
        self._names.add(name)

    def _drop_void(self, returns_to: Collection[int]) -> None:
        first = min(returns_to, default=math.inf)
        for each in list(self._checkpoints):
            if each.step > first and each.step not in returns_to:
                self._checkpoints.remove(each)
                self._remove(Name(each.serial, "json"))

    def _drop_old(self, steps: Collection[int]) -> None:
        newest, *older = self._checkpoints
        before = [each for each in older if each.step < newest.step]
        others = [each for each in older if each.files[0] != newest.files[0]]
        kept = {newest, *before[:1], *others[:1]}
        for step in steps:
            kept.update([each for each in older if each.step <= step][:1])
        self._checkpoints = [each for each in self._checkpoints if each in kept]
        needed = {each.name for each in kept}
        needed |= {file.name for each in kept for file in each.files}
        self._drop([each for each in self._names if str(each) not in needed])

    # --- Reading ---

    def return_to(self, found: ReadCheckpoint) -> None:
        """Drop the checkpoints after one that was read: the next delta is on top of it."""
        self._names = _names_in(self.folder)
        self.clean()
        self._checkpoints = []
        newer = [each for each in self._names if each.serial > found.serial]
        self._drop(filter(_is_manifest, newer))
        self._checkpoints, _ = _sound(self.folder, self._names)

    def _drop(self, names: Iterable[Name]) -> None:
        # Manifests first, for a checkpoint whose files are gone is none.
        for name in sorted(names, key=attrgetter("kind")):
            self._remove(name)

    def _remove(self, name: Name) -> None:
        path = self.folder / str(name)
        if path.is_symlink() or not path.is_dir():  # a folder is nothing of the store's
            path.unlink(missing_ok=True)
            self._names.discard(name)

    def _next_serial(self) -> int:
        """Higher than that of any file known here, spoilt ones too."""
        return 1 + max((name.serial for name in self._names), default=-1)
