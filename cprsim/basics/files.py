"""Write the files of a result all or none, whatever happens meanwhile."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from cprsim.basics.interrupts import held_back
from cprsim.basics.owned import owned_folder, remove_orphans
from cprsim.errors import UsageError

#: What a file is to hold, or a function that writes it; None: there is to be no such file.
Content: TypeAlias = bytes | Callable[[BinaryIO], None] | None

#: What tells of the other files, and so is put in its place after them.
MANIFEST = "manifest.json"
#: The folder of files that are all written, and still to be put in their places. A folder in it
#: stands for a file that is to go.
_COMMITTED = ".cprsim.new"


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


def write_all(folder: Path, contents: Mapping[str, Content]) -> None:
    """Write `contents` (name to what it holds) into `folder`, replacing files of the same names.

    A failure or a kill leaves what was there, or all that is new, but for a kill in the moment of
    renaming: then whoever writes into the folder next puts the rest in its place first, and until
    then the manifest, which comes last, doesn't go with the others. Folders that had to be made go
    again if it fails, unless something else has come into them.
    """
    missing = _missing(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in missing:
            sync_folder(each.parent)
        with owned_folder(folder) as place:
            staged = place / "new"
            staged.mkdir()
            for name, content in contents.items():
                with naming(folder / name):  # not that of a file that will be gone
                    _stage(staged / name, content)
            sync_folder(staged)
            with held_back():  # whoever interrupts is told the truth: nothing, or all
                _commit(staged, folder)
    except BaseException:
        for each in reversed(missing):
            with suppress(OSError):
                each.rmdir()
        raise


def finish_others(folder: Path) -> None:
    """Do what writers into a folder who were killed have left to do."""
    with held_back():
        _settle(folder)
    remove_orphans(folder)


def sync_folder(folder: Path) -> None:
    """Make names in a folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors that the system has with a file tell this name, also where it is open already."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None


def _missing(folder: Path) -> list[Path]:
    """`folder` and those above it that don't exist, outermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    return missing[::-1]


def _stage(path: Path, content: Content) -> None:
    if content is None:
        path.mkdir()
        return
    with path.open("wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            content(file)
        file.flush()
        os.fsync(file.fileno())


def _commit(staged: Path, folder: Path) -> None:
    """From here on the files in `staged` are those of `folder`."""
    while True:
        _settle(folder)  # what another began, who was killed, or is at it now
        try:
            staged.rename(folder / _COMMITTED)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            break
    sync_folder(folder)
    _settle(folder)


def _settle(folder: Path) -> None:
    """Put what is committed in its place; several may do so at once."""
    committed = folder / _COMMITTED
    try:
        whole = sorted(committed.iterdir(), key=lambda each: (each.name == MANIFEST, each.name))
    except FileNotFoundError:
        return
    for each in whole:
        with suppress(FileNotFoundError):  # another has done it
            if each.is_dir():
                (folder / each.name).unlink(missing_ok=True)
                each.rmdir()
            else:
                each.replace(folder / each.name)
    sync_folder(folder)
    with suppress(OSError):  # gone, or filled anew
        committed.rmdir()
