"""Write the files of a result all or none: under temporary names first, then renamed."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from cprsim.errors import UsageError


def check_writable(folder: Path, names: Iterable[str] = (), option: str = "--out") -> None:
    """Raise `UsageError`, about `option`, where files of these names can't go into `folder`."""
    try:
        missing = _missing(folder)
        there = missing[0].parent if missing else folder
        if not there.is_dir():
            raise UsageError(f"{option} {folder}: {there} is a file, not a folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise UsageError(f"{option} {folder}: {there} is not writable")
        for name in names:
            if (folder / name).is_dir():
                raise UsageError(f"{option} {folder}: {folder / name} is a folder")
    except OSError as error:
        raise UsageError(f"{option} {folder}: {error.strerror}") from None


def write_all(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write `contents` (name to bytes) into `folder`, replacing files of the same names.

    An interruption before the last byte is written leaves everything as it was; a folder that was
    made for the files goes again with all that is in it.
    """
    missing = _missing(folder)
    temporary: dict[str, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            handle, path = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
            temporary[name] = Path(path)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for name, written in temporary.items():
            written.chmod(0o644)
            written.replace(folder / name)
    except BaseException:
        for written in temporary.values():
            written.unlink(missing_ok=True)
        if missing:
            shutil.rmtree(missing[0], ignore_errors=True)
        raise


def _missing(folder: Path) -> list[Path]:
    """`folder` and those above it that don't exist, outermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    return missing[::-1]
