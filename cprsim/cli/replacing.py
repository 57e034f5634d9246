"""Files that a command may replace: those that cprsim wrote and that the command has not read.

In a folder these are the files that the manifest there names, unchanged since. A single file shows
by its content that it is an earlier output of the same format.
"""

import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from cprsim.basics.files import MANIFEST, check_writable, finish_others, link_to
from cprsim.basics.manifest import written_files
from cprsim.basics.reading import read_files, unrecorded
from cprsim.basics.units import listed
from cprsim.errors import UsageError

#: Of each format: what to call it, how its files begin, and what is near their beginning or end.
_FORMATS: Final[dict[str, tuple[str, bytes, bytes]]] = {
    "png": ("PNG picture", b"\x89PNG\r\n\x1a\n", b"Software\0cprsim"),
    "svg": ("SVG picture", b"<?xml", b"<dc:title>cprsim<"),
    "pdf": ("PDF picture", b"%PDF-", b"/Creator (cprsim)"),
    "csv": ("CSV table", b"point,", b",overhead_low,"),
    "parquet": ("Parquet table", b"PAR1", b"overhead_low"),
    "json.gz": ("trace", b'{"traceEvents":', b'"cprsim":'),
    "prom": ("file of metrics", b"# HELP cprsim_", b""),
    "prometheus": ("file of metrics", b"# HELP cprsim_", b""),
    "opentelemetry": ("file of metrics", b'{\n    "resource_metrics"', b'"service.name": "cprsim"'),
}
#: How much of the beginning and of the end is looked at, in bytes.
_END: Final = 2**16
#: A trace of cprsim's does not unpack to more bytes.
_MOST_UNPACKED: Final = 2**30

_READ: Final = "this command reads {}"
_IRREGULAR: Final = "{} is no regular file, which alone can be replaced"
_FOREIGN: Final = "cprsim did not write {}"
_CHANGED: Final = "manifest.json does not match {}"
_UNSOUND: Final = "{} is not as cprsim wrote it"
_UNKNOWN: Final = "nothing shows that cprsim wrote {}"


def check_folder(folder: Path, names: Iterable[str], option: str, *, force: bool) -> None:
    """Raise `UsageError`, about `option`, where `folder` has a file to keep under these names.

    `force`: keep only what this command has read.
    """
    names = list(names)
    check_writable(folder, names, option)
    finish_others(folder)  # after a kill the manifest is older than the files
    read = read_files()
    there = [name for name in names if os.path.lexists(folder / name)]
    with unrecorded():
        kept = _grouped({name: _never_replaced(folder / name, read) for name in there})
        if kept:
            raise UsageError(f"{option} {folder}: {kept}; give another folder")
        if force:
            return
        written = written_files(folder)
        foreign = _UNKNOWN if not written and (folder / MANIFEST).exists() else _FOREIGN
        faults = {name: _unlike(folder / name, written.get(name), foreign) for name in there}
        kept = _grouped({MANIFEST: faults.pop(MANIFEST, None), **faults})
    if kept:
        raise UsageError(
            f"{option} {folder}: {kept}; give another folder, or --force to replace what is there"
        )


def _grouped(faults: Mapping[str, str | None]) -> str:
    """Return the faults of files in words, those of one kind together; "" where there is none."""
    by_fault: dict[str, list[str]] = {}
    for name, fault in faults.items():
        if fault is not None:
            by_fault.setdefault(fault, []).append(name)
    return ", and ".join(fault.format(listed(names)) for fault, names in by_fault.items())


def check_file(path: Path, form: str | None, option: str, *, force: bool) -> None:
    """Raise `UsageError`, about `option`, where `path` has anything but an output in that format.

    `form`: one of `_FORMATS`, or None for a file that is never replaced. `force`: replace whatever
    this command has not read.
    """
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a folder; give the name of a file")
    check_writable(path.parent, option=option)
    read = read_files()
    with unrecorded():
        if not os.path.lexists(path):
            return
        fault = _never_replaced(path, read)
        if fault is not None:
            said = fault.removeprefix("{} ").format("that file")
            raise UsageError(f"{option} {path}: {said}; give another name")
        if not force and (form is None or not _is_output(path, form)):
            what = "" if form is None else f" and is not a {_FORMATS[form][0]} of cprsim's"
            raise UsageError(
                f"{option} {path}: exists already{what}; give another name, or --force to replace "
                "it"
            )


def _never_replaced(path: Path, read: set[tuple[int, int]]) -> str | None:
    """Why a file must be kept even with --force: it was read, or is a device or a link."""
    if path.exists():
        status = path.stat()
        if (status.st_dev, status.st_ino) in read:
            return _READ
        if not stat.S_ISREG(status.st_mode):
            return _IRREGULAR
    return "{} " + link_to(path) if path.is_symlink() else None


def _unlike(path: Path, digest: str | None, foreign: str) -> str | None:
    """Return how a file differs from the one that a manifest names."""
    if digest is None:
        return _UNSOUND if path.name == MANIFEST else foreign
    with path.open("rb") as file:
        same = hashlib.file_digest(file, "sha256").hexdigest() == digest
    return None if same else _CHANGED


def _is_output(path: Path, form: str) -> bool:
    """Return whether a file is empty, or has the marks of a format as cprsim writes it."""
    _, start, mark = _FORMATS[form]
    try:
        first, last = _unpacked_ends(path) if form == "json.gz" else _ends(path)
    except (OSError, EOFError, zlib.error):
        return path.stat().st_size == 0
    return not first or (first.startswith(start) and (mark in first or mark in last))


def _ends(path: Path) -> tuple[bytes, bytes]:
    with path.open("rb") as file:
        first = file.read(_END)
        file.seek(max(0, path.stat().st_size - _END))
        return first, file.read(_END)


def _unpacked_ends(path: Path) -> tuple[bytes, bytes]:
    with gzip.open(path) as file:
        first = last = file.read(_END)
        while (piece := file.read(2**20)) and file.tell() < _MOST_UNPACKED:
            last = (last + piece)[-_END:]
        return first, last
