"""Logs that are one JSON value: read as a whole."""

import json
from collections import Counter
from typing import Any, TypeVar

from cprsim.basics.tabular import LogPath, opened, shown
from cprsim.errors import LogError

#: What it takes to parse is some ten times as much.
_MOST_BYTES = 2**28
_Kind = TypeVar("_Kind", dict[str, Any], list[Any])


def parsed(path: LogPath, kind: type[_Kind], what: str, needed: str) -> _Kind:
    """The object or list that a file holds.

    Parameters
    ----------
    path
        The file; plain, or compressed with a name that ends in `.gz` or `.xz`.
    kind
        `dict` or `list`.
    what, needed
        What the file should be, and what that has, for faults.

    Raises
    ------
    LogError
        If the file can't be read, isn't JSON, names something twice, or holds another kind.
    """
    try:
        with opened(path) as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise LogError(f"{path}: is longer than {_MOST_BYTES:,} bytes; split it")
        value = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_object)
    except EOFError:
        raise LogError(f"{path}: is cut short; copy it again") from None
    except UnicodeDecodeError as error:
        line, byte = 1 + error.object.count(b"\n", 0, error.start), error.object[error.start]
        raise LogError(f"{path}:{line}: is not UTF-8: byte 0x{byte:02x}") from None
    except json.JSONDecodeError as error:
        place = f"{error.msg} at column {error.colno}"
        raise LogError(f"{path}:{error.lineno}: is not JSON: {place}; copy it again") from None
    except (ValueError, RecursionError) as error:  # a key twice, thousands of digits or brackets
        raise LogError(f"{path}: is not the JSON of {what}: {error}") from None
    if not isinstance(value, kind):
        raise LogError(f"{path}: is not the JSON of {what}: it needs {needed}")
    return value


def told(value: object) -> str:
    """A value as it stands in a file, cut short, for faults."""
    return shown(json.dumps(value))


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        (key, _), *_ = Counter(key for key, _ in members).most_common(1)
        raise ValueError(f"has {shown(key)} twice; leave one out")
    return found
