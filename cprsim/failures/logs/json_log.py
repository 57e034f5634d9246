"""Logs that are one JSON value: read as a whole, and checked against a type."""

import json
import re
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from cprsim.basics.tabular import LogPath, opened, shown
from cprsim.errors import LogError

#: What it takes to parse is some ten times as much.
_MOST_BYTES = 2**28
_Kind = TypeVar("_Kind")


def parsed(path: LogPath, kind: type[_Kind], what: str) -> _Kind:
    """Return the value that a file holds.

    Parameters
    ----------
    path
        The file; plain, or compressed with a name that ends in `.gz` or `.xz`.
    kind
        Its type, as pydantic checks it.
    what
        What the file should be, for faults.

    Raises
    ------
    LogError
        If the file can't be read, isn't JSON, or holds another kind.
    """
    try:
        with opened(path) as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise LogError(f"{path}: is longer than {_MOST_BYTES:,} bytes; split it")
        return TypeAdapter(kind).validate_python(json.loads(content.decode("utf-8-sig")))
    except EOFError:
        raise LogError(f"{path}: is cut short; copy it again") from None
    except UnicodeDecodeError as error:
        line, byte = 1 + error.object.count(b"\n", 0, error.start), error.object[error.start]
        raise LogError(f"{path}:{line}: is not UTF-8: byte 0x{byte:02x}") from None
    except json.JSONDecodeError as error:
        place = f"{error.msg} at column {error.colno}"
        raise LogError(f"{path}:{error.lineno}: is not JSON: {place}; copy it again") from None
    except ValidationError as error:
        raise LogError(f"{path}: is not {what}: {_fault(error)}") from None
    except (ValueError, RecursionError) as error:  # thousands of digits or brackets
        raise LogError(f"{path}: is not {what}: {error}") from None


def _fault(error: ValidationError) -> str:
    """Return the first fault: where it is, what is there, and what should be."""
    first: Any = error.errors()[0]
    place = ".".join(map(str, first["loc"])) or "it"
    if first["type"] == "missing":
        return f"{place} is missing"
    should = re.sub(r"^(Input|List|String)| or instance of \w+| after valid.*", "", first["msg"])
    return f"{place} is {told(first['input'])}; it{should}"


def told(value: object) -> str:
    """Return a value as a file has it, cut short, for faults."""
    return shown(json.dumps(value, default=str))
