"""Manifests of checkpoints, and the names of the files of a store."""

import hashlib
import json
import re
from typing import NamedTuple

#: What the name of a file that is being written ends with.
PARTIAL = ".partial"
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


def parsed(serial: int, content: bytes, merged: bool = False) -> Manifest:
    """The manifest of that serial number; raise `SpoiltError` if it is anything else."""
    name = Name(serial, "json", merged=merged)
    digest, _, body = content.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise SpoiltError(f"{name}: is not what was written")
    said, step, files = json.loads(body)
    if said != serial:  # another one's, in its place
        raise SpoiltError(f"{name}: is the manifest of another checkpoint")
    return Manifest(serial, step, tuple(File(*each) for each in files))
