"""The manifest of a result: what it takes to get it again, and what its other files hold."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cprsim.basics.files import MANIFEST
from cprsim.errors import UsageError

_HASHES = "files_sha256"


def with_manifest(contents: Mapping[str, bytes], about: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a result and the manifest, which tells their hashes."""
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    document = {**about, _HASHES: dict(sorted(hashes.items()))}
    return {**contents, MANIFEST: (json.dumps(document, indent=2) + "\n").encode()}


def read_manifest(folder: Path, names: Iterable[str]) -> dict[str, Any]:
    """What the manifest of a folder says, where these files are those that it was written with.

    Raises
    ------
    UsageError
        If a file is another: it was changed, or a run was killed while it replaced them all.
    """
    try:
        found = json.loads((folder / MANIFEST).read_bytes())
        hashes = found.get(_HASHES, {})  # an older cprsim wrote none
        written = {name: hashes[name] for name in names if name in hashes}
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise UsageError(f"{folder / MANIFEST}: is no manifest of cprsim; run that again") from None
    for name, digest in written.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise UsageError(
                f"{folder / name}: is not what {MANIFEST} says; it was changed, or its run was "
                "killed as it replaced them: run that again"
            )
    return found  # type: ignore[no-any-return]
