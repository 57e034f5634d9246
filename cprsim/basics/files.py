"""Files of users: opened to be read, written all or none; temporary folders that don't stay."""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from cprsim.basics.interrupts import held_back
from cprsim.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows: no process knows which other is alive, and folders stay
    fcntl = None  # type: ignore[assignment]

#: Bytes of a file; None: there is to be no such file.
Content: TypeAlias = bytes | None

#: Names the other files, and so is put in its place after them.
MANIFEST = "manifest.json"
#: The folder of files that are all written, and still to be put in their places. A folder in it
#: is for a file that is to go.
_COMMITTED = ".cprsim.new"
#: The beginning of names of temporary folders; hidden, and short, for paths of sockets are.
_PREFIX = ".cprsim_"


def check_writable(folder: Path, names: Iterable[str] = (), option: str = "--out") -> None:
    """Raise `UsageError`, about `option`, where files of these names can't go into `folder`."""
    try:
        missing = _missing(folder)
        there = missing[0].parent if missing else folder
        if links := [each for each in missing if each.is_symlink()]:
            raise UsageError(f"{option} {folder}: {links[0]} {link_to(links[0])}; remove that link")
        if not there.is_dir():
            raise UsageError(f"{option} {folder}: {there} is a file, not a folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise UsageError(f"{option} {folder}: {there} is not writable")
        for name in names:
            if (folder / name).is_dir():
                raise UsageError(f"{option} {folder}: {folder / name} is a folder")
    except OSError as error:
        raise UsageError(f"{option} {folder}: {error.strerror}") from None


def link_to(path: Path) -> str:
    """Return where a link leads, as the rest of a sentence about it."""
    missing = "" if path.exists() else ", which does not exist"
    return f"is a link to {path.readlink()}{missing}"


def absent(path: Path) -> str:
    """Return why there is no file at `path`: none of that name, or a link that leads nowhere."""
    if path.is_symlink():
        return f"{link_to(path)}; point it at a file that does"
    return "no such file"


def open_to_read(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file or a pipe.

    Raises
    ------
    OSError
        Also for a device, which may have no end, and for text that is no path.
    """
    try:
        kind = Path(path).stat().st_mode
    except ValueError:  # a null byte
        raise OSError(errno.EINVAL, "no path has such a letter", path) from None
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        raise OSError(errno.EINVAL, "it is a device, not a file", path)
    return Path(path).open("rb")


def write_all(folder: Path, contents: Mapping[str, Content]) -> None:
    """Write `contents` (name to what it holds) into `folder`, replacing files of the same names.

    A failure or a kill leaves what was there, or all that is new; but for one in the moment of
    renaming, when the new files are committed: then whoever writes into the folder next puts the
    rest in its place first, and until then the manifest, which comes last, doesn't go with the
    others. Folders that had to be made go again if it fails, unless something has come into them.
    """
    missing = _missing(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in missing:
            sync_folder(each.parent)
        with naming(folder), locked_tempdir(folder) as place:
            staged = place / "new"
            staged.mkdir()
            for name, content in contents.items():
                with naming(folder / name):
                    _stage(staged / name, content)
            sync_folder(staged)
            # An interrupt waits, so that nothing is written or all.
            with held_back(), locked(folder):
                _place_committed(folder, of_another=True)
                staged.rename(folder / _COMMITTED)
                sync_folder(folder)
                _place_committed(folder, of_another=False)
    except BaseException:
        for each in reversed(missing):
            with suppress(OSError):
                each.rmdir()
        raise


def finish_others(folder: Path) -> None:
    """Do what writers into a folder who were killed have left to do."""
    if folder.is_dir():
        if (folder / _COMMITTED).is_dir():
            with naming(folder), held_back(), locked(folder):
                _place_committed(folder, of_another=True)
        remove_orphans(folder)


def sync_folder(folder: Path) -> None:
    """Make names in a folder last, where its file system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows
        return
    try:
        with naming(folder):
            os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Raise errors of the system that name no file of the user with this path."""
    try:
        yield
    except OSError as error:
        known = error.filename is not None and f"{os.sep}.cprsim" not in str(error.filename)
        if known or error.errno is None:
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
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _place_committed(folder: Path, of_another: bool) -> None:
    """Put files that are committed in their places, the manifest last.

    What `of_another` who was killed has been changed since, or can't be put there any more, is as
    somebody wants it, and stays.
    """
    committed = folder / _COMMITTED
    if committed.is_symlink() or not committed.is_dir():
        return
    for each in sorted(committed.iterdir(), key=lambda path: (path.name == MANIFEST, path.name)):
        place = folder / each.name
        # Also of a file that was put there again with its old time of change.
        if of_another and place.exists() and place.stat().st_ctime_ns > each.stat().st_ctime_ns:
            _discard(each)
            continue
        try:
            with naming(place):
                if each.is_dir():
                    place.unlink(missing_ok=True)
                    each.rmdir()
                else:
                    each.replace(place)
        except OSError:
            if not of_another:
                raise
            _discard(each)
    sync_folder(folder)
    committed.rmdir()


def _discard(committed: Path) -> None:
    if committed.is_dir():
        committed.rmdir()
    else:
        committed.unlink()


@contextmanager
def locked_tempdir(parent: Path | None = None) -> Iterator[Path]:
    """A new folder in `parent`, by default that of temporary files, removed when this ends.

    The process holds a lock on it. Folders of processes that were killed are removed first, but not
    where the file system has no locks: a process there knows no dead owner from a live one.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    remove_orphans(place)
    with ExitStack() as held:
        folder = Path()
        while not folder.name or not folder.exists():  # another removes it before it is locked
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
            held.enter_context(locked(folder))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, where its file system has locks."""
    with ExitStack() as held:
        with suppress(OSError):
            held.callback(os.close, _lock(folder.resolve(), wait=True))
        yield


def remove_orphans(place: Path) -> None:
    """Remove the temporary folders in a place whose processes were killed."""
    for folder in place.glob(f"{_PREFIX}????????"):  # as many letters as `mkdtemp` adds
        # Suppressed are those alive, of another user, or gone meanwhile.
        with suppress(OSError), ExitStack() as held:
            held.callback(os.close, _lock(folder, wait=False))
            shutil.rmtree(folder, ignore_errors=True)


def _lock(folder: Path, wait: bool) -> int:
    """Open a folder and lock it; `OSError` where that can't be had."""
    if fcntl is None:
        raise OSError("no locks")
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(handle)
        raise
    return handle
