"""Files that are there whole or not at all, however the process that writes them ends."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from cprsim.basics.files import naming

#: What the name of a file that is being written ends with.
PARTIAL = ".partial"


class Hashing:
    """A file that is being written, with its size and its hash so far."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.size = 0
        self.sha256 = hashlib.sha256()
        self._file = file

    def write(self, content: bytes) -> int:
        """Append."""
        self.sha256.update(content)
        self.size += len(content)
        return self._file.write(content)


@contextmanager
def written(path: Path) -> Iterator[Hashing]:
    """Write `path` under another name; it is synced and has its own name when the block ends.

    That the name lasts is up to `cprsim.basics.files.sync_folder`. Errors tell the file's name.
    """
    partial = path.with_name(path.name + PARTIAL)
    with naming(path), partial.open("wb") as file:
        yield Hashing(path, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
