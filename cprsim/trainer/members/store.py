"""The checkpoints of one shard on disk: a base image, and deltas of rows that follow it.

Every checkpoint is a manifest that names the files it consists of, a base and deltas in order,
with their sizes and hashes. Files and manifests are written under temporary names, synced, and
renamed, so one that was cut short is never seen; one that was spoilt later is found by its hash,
and the checkpoint before it is used.
"""

import hashlib
import json
import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.files import sync_folder
from cprsim.trainer.members.atomic import PARTIAL, written
from cprsim.trainer.members.parameters import Arrays

#: A chain is merged into a new base once its deltas are so many times as large as the base.
MOST_DELTAS = 2.0


class File(NamedTuple):
    """A file of a checkpoint."""

    name: str
    size: int
    sha256: str


class Manifest(NamedTuple):
    """What a manifest says: the step, and a base with the deltas that follow it."""

    serial: int
    step: int
    files: tuple[File, ...]


class ReadCheckpoint(NamedTuple):
    """A checkpoint that was read, all rows of it."""

    step: int
    arrays: Arrays
    size: int


class SpoiltError(Exception):
    """A file that isn't what its manifest says, or a manifest that isn't what it says itself."""


class CheckpointStore:
    """The checkpoints of one shard in a folder, which nobody else writes to.

    Of its checkpoints the last is kept, the one of the step before, those that the job may still
    return to, and one with another base, should that be spoilt.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    @property
    def empty(self) -> bool:
        """Whether nothing was ever stored."""
        return not any(self._folder.glob("*.json"))

    @property
    def steps(self) -> list[int]:
        """Of the checkpoints that are there, the newest first; files of them may be spoilt."""
        return [each.step for each in self._checkpoints()]

    # --- Writing ---

    def write(
        self,
        step: int,
        arrays: Arrays,
        ids: NDArray[np.int64] | None = None,
        returns_to: Collection[int] = (),
    ) -> int:
        """Add a checkpoint of all rows, or of the rows `ids` on top of the last one.

        `returns_to`: steps of checkpoints that the job may return to until all members have stored
        this one; where they are given, others later than the first of them are void.

        Returns the bytes written. There must be a last one.
        """
        self.clean()
        self._drop_void(returns_to)
        chain: tuple[File, ...] = ()
        if ids is not None:
            chain = self._checkpoints()[0].files
        serial = self._next_serial()
        file = self._write_arrays(
            serial, arrays if ids is None else (ids.astype(np.uint32), *arrays)
        )
        checkpoint = Manifest(serial, step, (*chain, file))
        # The manifest comes last: a checkpoint exists when that has its name, and its files were
        # synced before.
        self._write_manifest(checkpoint)
        if sum(each.size for each in (*chain, file)[1:]) > MOST_DELTAS * (*chain, file)[0].size:
            self._merge(checkpoint)
        self._drop_old(returns_to)
        return file.size

    def clean(self) -> None:
        """Remove what a writer that was killed has left."""
        for each in self._folder.glob(f"*{PARTIAL}"):
            each.unlink()

    def _merge(self, chain: Manifest) -> None:
        """Write the same checkpoint as a base of its own, so that chains stay short."""
        # The same step under the next serial: readers take the newest manifest, so the chain is
        # used until the base is there, and not after.
        serial = chain.serial + 1
        base = self._write_arrays(serial, self._read(chain).arrays)
        self._write_manifest(Manifest(serial, chain.step, (base,)))

    def _write_arrays(self, serial: int, arrays: Sequence[NDArray[Any]]) -> File:
        with written(self._folder / f"{serial:08d}.npys") as file:
            for array in arrays:
                np.lib.format.write_array(file, array, allow_pickle=False)
        return File(file.path.name, file.size, file.sha256.hexdigest())

    def _write_manifest(self, checkpoint: Manifest) -> None:
        body = json.dumps(checkpoint).encode()
        with written(self._manifest_path(checkpoint)) as file:
            file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        sync_folder(self._folder)

    def _drop_void(self, returns_to: Collection[int]) -> None:
        first = min(returns_to, default=math.inf)
        for each in self._checkpoints():
            if each.step > first and each.step not in returns_to:
                self._manifest_path(each).unlink()

    def _drop_old(self, returns_to: Collection[int]) -> None:
        newest, *older = self._checkpoints()
        before = [each for each in older if each.step < newest.step]
        others = [each for each in older if each.files[0] != newest.files[0]]
        kept = {newest, *before[:1], *others[:1]}
        for step in returns_to:
            kept.update([each for each in older if each.step <= step][:1])
        needed = {file.name for each in kept for file in each.files}
        for each in {*older} - kept:  # first, for one whose files are gone is no checkpoint
            self._manifest_path(each).unlink()
        for path in self._folder.glob("*.npys"):
            if path.name not in needed:
                path.unlink()

    # --- Reading ---

    def restore(self, at_most: int) -> ReadCheckpoint | None:
        """Return to the last sound checkpoint of a step up to `at_most`; None if there is none.

        Those after it are dropped: the next delta goes on top of this one.
        """
        self.clean()
        for checkpoint in self._checkpoints():
            if checkpoint.step <= at_most:
                try:
                    return self._read(checkpoint)
                except SpoiltError:
                    pass
            # Spoilt or too new: dropped either way, since deltas are written on top of the newest
            # there is.
            self._manifest_path(checkpoint).unlink()
        return None

    def _read(self, checkpoint: Manifest) -> ReadCheckpoint:
        base, *deltas = checkpoint.files
        arrays = tuple(self._arrays(base))
        for each in deltas:
            ids, *changed = self._arrays(each)
            for array, rows in zip(arrays, changed, strict=True):
                array[ids] = rows
        size = sum(each.size for each in checkpoint.files)
        return ReadCheckpoint(checkpoint.step, arrays, size)

    def _arrays(self, file: File) -> list[NDArray[Any]]:
        path = self._folder / file.name
        try:
            with path.open("rb") as opened:
                found = hashlib.file_digest(opened, "sha256").hexdigest()
                if found != file.sha256:
                    raise SpoiltError(f"{path}: is not what was written")
                opened.seek(0)
                arrays = []
                while opened.tell() < file.size:
                    arrays.append(np.lib.format.read_array(opened, allow_pickle=False))
                return arrays
        except OSError as error:
            raise SpoiltError(str(error)) from None

    def _checkpoints(self) -> list[Manifest]:
        """All with a sound manifest, the newest first."""
        found = []
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            try:
                found.append(_parse(path.read_bytes()))
            except (OSError, SpoiltError):
                continue
        return found

    def _manifest_path(self, checkpoint: Manifest) -> Path:
        return self._folder / f"{checkpoint.serial:08d}.json"

    def _next_serial(self) -> int:
        """Higher than that of any file here, spoilt ones too."""
        return 1 + max((int(path.stem) for path in self._folder.glob("*.*")), default=-1)


def _parse(content: bytes) -> Manifest:
    digest, _, body = content.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise SpoiltError("a manifest is not what was written")
    serial, step, files = json.loads(body)
    return Manifest(serial, step, tuple(File(*each) for each in files))
