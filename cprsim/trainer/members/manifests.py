"""What a checkpoint says of itself, and the names that a store of checkpoints gives its files."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from cprsim.trainer.members.atomic import PARTIAL

#: Names that a store gives: a number, and what it is. All other names are somebody else's.
_NAME = re.compile(rf"([0-9]{{8,}})(m?)\.(json|npys)({re.escape(PARTIAL)})?")
_SHA256 = re.compile("[0-9a-f]{64}")
#: No step and no file has such a number.
_TOO_LARGE = 2**63


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
        """What a name says, if a store gave it."""
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
    """What a manifest says: the step, and a base with the deltas that follow it."""

    serial: int
    step: int
    files: tuple[File, ...]

    @property
    def name(self) -> str:
        """Of the file that it stands in."""
        return str(Name(self.serial, "json"))

    def content(self) -> bytes:
        """What that file holds."""
        body = json.dumps(self).encode()
        return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def parsed(serial: int, content: bytes, merged: bool = False) -> Manifest:
    """The manifest of that serial number; raise `SpoiltError` if it is anything else."""
    name = Name(serial, "json", merged=merged)
    digest, _, body = content.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise SpoiltError(f"{name}: is not what was written")
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise SpoiltError(f"{name}: is no JSON") from None
    if not _is_manifest(said) or said[0] != serial:
        raise SpoiltError(f"{name}: doesn't say which files a checkpoint has")
    return Manifest(serial, said[1], tuple(File(*each) for each in said[2]))


def _is_manifest(said: Any) -> bool:
    return (
        isinstance(said, list)
        and len(said) == len(Manifest._fields)
        and _is_number(said[0])
        and _is_number(said[1])
        and isinstance(said[2], list)
        and bool(said[2])
        and all(map(_is_file, said[2]))
        and _is_in_order([Name.of(each[0]) for each in said[2]])
    )


def _is_in_order(names: Sequence[Name | None]) -> bool:
    """Return whether no file is there twice, and none before an older one."""
    serials = [name.serial for name in names if name is not None]
    return serials == sorted(serials) and len({*names}) == len(names)


def _is_file(said: Any) -> bool:
    if not isinstance(said, list) or len(said) != len(File._fields):
        return False
    name, size, sha256 = said
    if not isinstance(name, str) or not isinstance(sha256, str) or not _is_number(size):
        return False
    # A name of the store's own leads nowhere else.
    found = Name.of(name)
    own = found is not None and found.kind == "npys" and not found.partial
    return own and _SHA256.fullmatch(sha256) is not None


def _is_number(said: Any) -> bool:
    return isinstance(said, int) and not isinstance(said, bool) and 0 <= said < _TOO_LARGE
