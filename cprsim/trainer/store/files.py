"""Files of checkpoints and their manifests: whole or not there, spoilt unless as written."""

import errno
import hashlib
import json
import os
import re
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.files import naming

#: The arrays that a checkpoint holds: weights and optimiser state, one entry a row in each.
Arrays: TypeAlias = tuple[NDArray[Any], ...]
#: What says that there is no such file, or none to read. Anything else (a server that is away, no
#: descriptors left) says nothing of it: the same one may be read at another time.
_OF_THE_FILE = (
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG),
    *(errno.EBADMSG, getattr(errno, "EUCLEAN", errno.EBADMSG)),  # a file system's own checksum
)
#: No manifest is so large: its chain would be merged long before.
_MOST_BYTES = 1 << 26
#: What the name of a file that is being written ends with.
PARTIAL = ".partial"
#: numpy parses the heads of arrays as Python, which CPython 3.11 may fail at in two threads at once
#: ("AST constructor recursion depth mismatch", where the garbage collector comes between).
_HEADS = threading.Lock()
#: Names that a store gives: a number, and what it is. All other names are somebody else's.
_NAME = re.compile(rf"([0-9]{{8,}})(m?)\.(json|npys)({re.escape(PARTIAL)})?")


class SpoiltError(Exception):
    """A file that isn't what its manifest says, or a manifest that isn't what it says itself."""


class Name(NamedTuple):
    """The name of a file of a store; `kind` is `json` or `npys`.

    `merged`: another process has merged a chain into it, up to the delta of that serial number.
    """

    serial: int
    kind: str
    partial: bool = False
    merged: bool = False

    def __str__(self) -> str:
        merged, partial = "m" * self.merged, PARTIAL * self.partial
        return f"{self.serial:08d}{merged}.{self.kind}{partial}"

    @classmethod
    def of(cls, name: str) -> "Name | None":
        """Return the parts of a name, if a store gave it."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        found = cls(int(match[1]), match[3], match[4] is not None, bool(match[2]))
        return found if str(found) == name else None


class File(NamedTuple):
    """A file of a checkpoint."""

    name: str
    size: int
    sha256: str


class Manifest(NamedTuple):
    """A manifest: the step, and a base with the deltas that follow it."""

    serial: int
    step: int
    files: tuple[File, ...]

    @property
    def name(self) -> str:
        """The name of its file."""
        return str(Name(self.serial, "json"))

    def content(self) -> bytes:
        """Return the content of its file."""
        body = json.dumps(self).encode()
        return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


class Hashing:
    """A file that is being written, with its size and its hash so far."""

    def __init__(self, file: BinaryIO) -> None:
        self.size, self.sha256, self._file = 0, hashlib.sha256(), file

    def write(self, content: bytes) -> int:
        """Append."""
        self.sha256.update(content)
        self.size += len(content)
        return self._file.write(content)


@contextmanager
def written(path: Path) -> Iterator[Hashing]:
    """Write `path` under another name; it is synced and has its own name when the block ends.

    That the name lasts is up to `cprsim.basics.files.sync_folder`. Errors have the file's name.
    """
    partial = path.with_name(path.name + PARTIAL)
    with naming(path), partial.open("wb") as file:
        yield Hashing(file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def write_arrays(path: Path, arrays: Sequence[NDArray[Any]]) -> File:
    """Write a file of arrays."""
    with written(path) as file:
        for array in arrays:
            np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    return File(path.name, file.size, file.sha256.hexdigest())


def read_small(path: Path) -> bytes:
    """Return the content of a manifest."""
    with _opened(path) as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise SpoiltError(f"{path}: is too large for a manifest")
    return content


def read_manifest(folder: Path, name: Name) -> Manifest:
    """Return the manifest of that name; raise `SpoiltError` if its file is anything else."""
    path = folder / str(name)
    digest, _, body = read_small(path).partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise SpoiltError(f"{path}: is not what was written")
    said, step, files = json.loads(body)
    if said != name.serial:  # another one's, in its place
        raise SpoiltError(f"{path}: is the manifest of another checkpoint")
    return Manifest(said, step, tuple(File(*each) for each in files))


def read_chain(folder: Path, files: Sequence[File]) -> tuple[Arrays, NDArray[np.int64]]:
    """All rows of a base with the deltas that follow it, and those that may not be the base's."""
    base, *deltas = files
    arrays = _read(folder, base)
    found = [np.empty(0, np.int64)]
    for each in deltas:
        ids, *changed = _read(folder, each)
        for array, rows in zip(arrays, changed, strict=True):
            array[ids] = rows
        found.append(ids.astype(np.int64))
    return tuple(arrays), np.unique(np.concatenate(found))


def _read(folder: Path, file: File) -> list[NDArray[Any]]:
    """The arrays of a file, which are what was written: its size and its hash say so."""
    path = folder / file.name
    with _opened(path) as opened:
        # The size first: what was blown up need not be read to its end.
        if os.fstat(opened.fileno()).st_size != file.size or (
            hashlib.file_digest(opened, "sha256").hexdigest() != file.sha256
        ):
            raise SpoiltError(f"{path}: is not what was written")
        opened.seek(0)
        arrays = []
        while opened.tell() < file.size:
            with _HEADS:
                arrays.append(np.lib.format.read_array(opened, allow_pickle=False))
    return arrays


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """A file to read: no link that leads elsewhere, no pipe that nobody writes to."""
    try:
        with open(path, "rb", opener=_open) as file:  # a Path has no opener
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SpoiltError(f"{path}: is no file")
            yield file
    except OSError as error:
        if error.errno not in _OF_THE_FILE:
            error.filename = str(path)  # of a read it has none
            raise
        raise SpoiltError(f"{path}: {error.strerror}") from None


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
