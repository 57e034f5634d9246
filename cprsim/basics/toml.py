"""TOML of users, parsed: what would fill the memory or the stack, and what no scenario can hold.

Values that are only wrong are reported where they are read.
"""

import re
import tomllib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from cprsim.basics.files import absent, open_to_read
from cprsim.errors import ScenarioError, printable

#: Of a scenario: a page, with long lists a hundred; it takes fifty times as much when parsed.
MOST_BYTES = 2**22
#: Tables and lists in one another: no key of a scenario lies deeper than six.
DEEPEST = 32
#: A key of so many parts takes the square of them to parse.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"""(?<![\w."'-])(?:{_PART}\.[ \t]*+){{{DEEPEST}}}""")
#: Python refuses to read more, which take the square of them as well.
_LONG_NUMBER = re.compile(r"(?<!\d)[\d_]{4300}")
#: A quantity without quotes, and its key.
_BARE = re.compile(
    r"^[ \t]*([\w.-]+)[ \t]*=[ \t]*(\d[\d.]*[ \t]*[A-Za-z%][\w/%]*)[ \t]*(?:#.*)?$", re.MULTILINE
)
#: A whole number beyond this is none that a computer counts with.
_MOST = 10**300


def text_of(path: str | PathLike[str]) -> str:
    """Return the tables of a scenario file; raise `ScenarioError` if that can't be read."""
    try:
        with open_to_read(path) as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ScenarioError(f"{path}: is longer than {MOST_BYTES:,} bytes, no scenario")
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ScenarioError(f"{path}: {absent(Path(path))}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: can't be read: is not UTF-8 text") from None
    except OSError as error:
        raise ScenarioError(f"{path}: can't be read: {error.strerror or error}") from None


def parse_file(text: str, path: str | PathLike[str]) -> dict[str, Any]:
    """The tables of a file that was read; `ScenarioError` if it is no TOML."""
    try:
        return parse_toml(text, str(path))
    except tomllib.TOMLDecodeError as error:
        way_out = "; cprsim fit reads logs" * str(path).endswith((".csv", ".gz", ".json"))
        raise ScenarioError(f"{path}: is not TOML: {error}{way_out or _quoted(text)}") from None


def _quoted(text: str) -> str:
    """Return what to write in place of the first quantity without quotes; empty for none."""
    found = _BARE.search(text)
    return "" if found is None else f'; write quantities in quotes: {found[1]} = "{found[2]}"'


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """The tables of a text; `what` is at fault if it can't be a scenario's.

    Raises
    ------
    tomllib.TOMLDecodeError
        If it is no TOML.
    ScenarioError
        If it is nested too deeply, or would take too long.
    """
    if len(text) > MOST_BYTES:
        raise ScenarioError(f"{what}: is longer than {MOST_BYTES:,} bytes")
    for pattern, fault in (
        (_LONG_KEY, f"a key of more than {DEEPEST} parts"),
        (_LONG_NUMBER, "a number of thousands of digits"),
    ):
        found = pattern.search(text)
        if found:
            line = 1 + text.count("\n", 0, found.start())
            raise ScenarioError(f"{what}: has {fault} in line {line}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ScenarioError(f"{what}: has tables or lists more than {DEEPEST} deep") from None


def check_values(mapping: Any, path: str = "") -> None:
    """Raise `ScenarioError` with each value in tables and lists that no scenario can have."""
    found = list(_faults(mapping, path))
    if found:
        raise ScenarioError(*found)


def _faults(mapping: Any, path: str) -> Iterator[str]:
    # No recursion: there may be more levels than the stack has.
    left: list[tuple[str, Any, int]] = [(path, mapping, 0)]
    while left:
        path, value, depth = left.pop()
        if isinstance(value, str):
            if printable(value) != value:
                yield f"{path}: {value!r} has letters that are not to be seen; leave them out"
        elif isinstance(value, int) and abs(value) >= _MOST:
            yield f"{path}: is a whole number of more than 300 digits"
        elif isinstance(value, (dict, list)):  # a union would be made anew for each value
            if depth > DEEPEST:
                yield f"{path[:80]}: lies more than {DEEPEST} tables or lists deep"
                continue
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            for key, each in reversed(list(inner)):
                if isinstance(key, str) and (printable(key) != key or "\n" in key):
                    where = path or "the scenario"
                    yield f"{where}: key {key!r} has letters that are not to be seen"
                    continue
                left.append((f"{path}.{key}" if path else str(key), each, depth + 1))
