"""The manifest of a result: how to repeat it, and the hashes of its files and of itself."""

import hashlib
import json
import platform
import subprocess
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cprsim.basics.files import MANIFEST, Content
from cprsim.basics.version import PACKAGE, __version__
from cprsim.errors import UsageError

_LIBRARIES = ("simpy", "numpy", "scipy", "pandas", "matplotlib", "pydantic")
_HASHES, _EARLIER, _OWN = "files_sha256", "earlier_files_sha256", "manifest_sha256"


def json_bytes(document: Mapping[str, Any]) -> bytes:
    """Return one JSON document, as files have it."""
    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def with_manifest(contents: Mapping[str, bytes], about: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a result and the manifest that names them with their hashes."""
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return {**contents, MANIFEST: _signed({**about, _HASHES: dict(sorted(hashes.items()))})}


def with_earlier(contents: Mapping[str, Content], folder: Path) -> dict[str, Content]:
    """Return `contents`, their manifest naming the other files that cprsim wrote to `folder`.

    Else `run` and `advise` into one folder would each forget the files of the other.
    """
    manifest = contents.get(MANIFEST)
    others = written_files(folder).items()
    earlier = {name: each for name, each in others if name not in contents and name != MANIFEST}
    if not earlier or not isinstance(manifest, bytes):
        return dict(contents)
    document = json.loads(manifest) | {_EARLIER: earlier}
    del document[_OWN]
    return {**contents, MANIFEST: _signed(document)}


def written_files(folder: Path) -> dict[str, str]:
    """Return the files that the manifest of a folder names, itself too, each with its SHA-256.

    A manifest that is damaged, changed or not of cprsim's names none.
    """
    try:
        content = (folder / MANIFEST).read_bytes()
        document = _parsed(content)
        named = {**document.get(_EARLIER, {}), **document[_HASHES]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {**named, MANIFEST: hashlib.sha256(content).hexdigest()}


def read_manifest(folder: Path, names: Collection[str]) -> dict[str, Any]:
    """Return what the manifest of a folder says, if these files are as it was written with them.

    Raises
    ------
    UsageError
        If the manifest or a file was changed, or a run was killed while it replaced them all.
    """
    try:
        found = _parsed((folder / MANIFEST).read_bytes(), older=True)
        written = dict(found[_HASHES])
    except (ValueError, KeyError, TypeError):
        raise UsageError(
            f"{folder / MANIFEST}: is not as cprsim wrote it; run that again, with --force"
        ) from None
    for name in names:
        if name != MANIFEST and name not in written:
            raise UsageError(
                f"{folder}: another command wrote to it after the one that wrote {name}; run that "
                "again, into another folder"
            )
    for name, digest in written.items():
        if name in names and hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise UsageError(
                f"{folder / name}: is not what {MANIFEST} says; it was changed, or its run was "
                "killed as it replaced them: run that again, with --force"
            )
    return found


def _signed(document: Mapping[str, Any]) -> bytes:
    return json_bytes({**document, _OWN: digest(document)})


def _parsed(content: bytes, older: bool = False) -> dict[str, Any]:
    """The document of a manifest; `ValueError`, `KeyError` or `TypeError` if it was changed.

    `older`: take one without a hash of itself, too, as versions before wrote it.
    """
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError from None
    if not isinstance(document, dict):
        raise ValueError
    if older and _OWN not in document and _HASHES in document:
        return document
    if document.pop(_OWN) != digest(document):
        raise ValueError
    return document


def digest(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a document as compact JSON with its keys in order."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def versions() -> dict[str, Any]:
    """Return the versions of cprsim, Python and libraries, and the commit of the code."""
    return {
        "cprsim": __version__,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "git": _git_state(),
    }


def sha256(path: str) -> str:
    """Return the SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _git_state() -> dict[str, Any] | None:
    """Commit of the repository that this code lies in and whether it has changes, or None."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(PACKAGE), *arguments]
        said = subprocess.check_output(command, stderr=subprocess.DEVNULL, text=True, timeout=10)
        return said.strip()

    try:
        commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain", "-uno")
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": bool(changes)}
