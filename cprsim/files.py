"""Write the files of a result all or none: under temporary names first, then renamed."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cprsim.errors import UsageError


def check_writable(folder: Path) -> None:
    """Raise `UsageError` where `folder` is no folder, or one that can't be written or made."""
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        raise UsageError(f"--out {folder}: {nearest} is a file, not a folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise UsageError(f"--out {folder}: {nearest} is not writable")


def write_all(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write `contents` (name to bytes) into `folder`, replacing files of the same names.

    An interruption before the last byte is written leaves the folder as it was.
    """
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    temporary: dict[str, Path] = {}
    try:
        for name, content in contents.items():
            handle, temporary_name = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
            temporary[name] = Path(temporary_name)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for name, path in temporary.items():
            path.chmod(0o644)
            path.replace(folder / name)
    except BaseException:
        for path in temporary.values():
            path.unlink(missing_ok=True)
        if made:
            folder.rmdir()
        raise
