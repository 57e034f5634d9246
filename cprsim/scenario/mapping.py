"""Scenario files as nested tables: read, overridden as by `--set`, their paths made absolute."""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cprsim.basics.distributions import SPREAD
from cprsim.basics.reading import note
from cprsim.basics.shipped import located, missing
from cprsim.basics.toml import (
    DEEPEST,
    check_values,
    parse_file,
    parse_toml,
    text_of,
)
from cprsim.contract.registry import systems
from cprsim.errors import ScenarioError
from cprsim.failures.spec import SOURCES

#: Tables of a file that are no part of a scenario.
_BLOCKS = ("sweep", "levers", "trainer", "study")
#: Dots that are not in quotes.
_DOT = re.compile(r'\.(?=(?:[^"]*"[^"]*")*[^"]*$)')
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parts_of(key: str) -> list[str]:
    """Return the parts of a dotted key; one in quotes may have dots: `policies."full-0.1".kind`."""
    return [part.strip().strip('"') for part in _DOT.split(key)]


def quoted(name: str) -> str:
    """Return a part of a dotted key, in quotes where TOML needs them."""
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def scenario_tables(mapping: dict[str, Any]) -> dict[str, Any]:
    """The tables of a file without the blocks that only one command reads."""
    return {name: table for name, table in mapping.items() if name not in _BLOCKS}


def load_mapping(path: str | Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """The tables of a scenario file, overridden but not yet checked; as `load_scenario` else."""
    return mapping_of(scenario_text(path), path, overrides)


def scenario_text(path: str | Path) -> str:
    """Return the tables of a scenario file, or of the shipped one of that name."""
    where = located(path)
    if not where.exists():
        raise ScenarioError(missing(Path(path)))
    return text_of(where)


def mapping_of(text: str, path: str | Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """Return the same as `load_mapping`, from a file that was read."""
    path = located(path)
    mapping = parse_file(text, path)
    check_values(mapping)
    resolve_files(mapping, path.parent)
    for override in overrides:
        apply_override(mapping, override)
    resolve_files(mapping, Path.cwd())  # what the command line gives is relative to where it is
    return mapping


def apply_override(mapping: dict[str, Any], override: str) -> None:
    """Set `a.b=value` in nested tables; the value is TOML where it parses, else a string."""
    key, equals, text = override.partition("=")
    parts = parts_of(key)
    if not equals or not all(parts):
        raise ScenarioError(f'--set {override!r}: write KEY=VALUE, e.g. failures.mean="14 h"')
    try:
        parsed = parse_toml(f"value = {text}", f"--set {key.strip()}")
    except tomllib.TOMLDecodeError:
        parsed = {"value": text.strip()}
    value = parsed.pop("value")
    if parsed:
        raise ScenarioError(f'--set {override!r}: write KEY=VALUE, e.g. failures.mean="14 h"')
    set_value(mapping, parts, value, f"--set {override!r}")


def set_value(mapping: dict[str, Any], parts: Sequence[str], value: object, what: str) -> None:
    """Set the value that `parts` lead to in nested tables; `what` does so, for its fault."""
    if len(parts) > DEEPEST:
        raise ScenarioError(f"{what}: is a key of {len(parts):,} parts, {DEEPEST} are the most")
    check_values({".".join(parts): value})
    table = mapping
    for place, part in enumerate(parts[:-1]):
        inner = table.setdefault(part, {})
        if isinstance(inner, list):  # of tables, one of which a name or a number chooses
            chosen = _chosen(inner, parts[place + 1], what)
            if place + 2 < len(parts):
                set_value(chosen, parts[place + 2 :], value, what)
                return
            raise ScenarioError(f"{what}: {parts[-1]!r} is a table; give one of its keys")
        if not isinstance(inner, dict):
            raise ScenarioError(f"{what}: {part!r} is a value, not a table")
        table = inner
    table[parts[-1]] = value
    if list(parts[:-1]) == ["failures"]:
        _drop_replaced(table, parts[-1], value)


def _chosen(tables: list[Any], part: str, what: str) -> dict[str, Any]:
    """The table of a list that has that `name`, or that number from 0."""
    named = {
        each["name"]: each
        for each in tables
        if isinstance(each, dict) and isinstance(each.get("name"), str)
    }
    if part in named:
        return named[part]
    if part.isdecimal() and int(part) < len(tables) and isinstance(tables[int(part)], dict):
        found: dict[str, Any] = tables[int(part)]
        return found
    numbers = f"numbers 0 to {len(tables) - 1}"
    known = f"{', '.join(named)}, or {numbers}" if named else numbers
    raise ScenarioError(f"{what}: {part!r} is none of {known}")


def leaves(
    tables: Mapping[str, Any], prefix: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Values of nested tables, each with the keys that lead to it."""
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*prefix, key))
        else:
            yield (*prefix, key), value


def _drop_replaced(failures: dict[str, Any], key: str, value: object) -> None:
    """One source of failures takes the place of another, one law that of another with its spread.

    So `failures.exactly=2` works where the file gives a distribution.
    """
    stale: set[str | None] = set()
    if key in SOURCES:
        for other in SOURCES.keys() - {key}:
            stale |= {other, *SOURCES[other]}
    if key == "distribution" and isinstance(value, str) and value in SPREAD:
        stale |= set(SPREAD.values()) - {SPREAD[value]}
    if value == "empirical":
        stale.add("mean")
    if key == "per" and value == "job":
        stale |= {"bursts", "frailty", "frailty_of", "exclude_worst", "offenders"}
    if key == "trace" or value == "node":
        stale.add("hits")
    for each in stale - {None}:
        failures.pop(str(each), None)


def resolve_files(mapping: Mapping[str, Any], folder: Path) -> None:
    """Take the paths of logs, curves and samples that are relative from `folder`."""
    failures, model = mapping.get("failures"), mapping.get("model")
    for key in ("trace", "log"):
        _resolve(failures, key, folder)
    trainer = mapping.get("trainer")
    samples = trainer.get("data") if isinstance(trainer, dict) else None
    for key, value in samples.items() if isinstance(samples, dict) else ():
        if not str(value).isdigit():  # text there is a path, but for a number in quotes
            _resolve(samples, key, folder)
    if isinstance(model, dict):
        tables = model.get("tables")
        for part in (model, *(tables if isinstance(tables, list) else ())):
            if isinstance(part, dict):
                _resolve(part.get("skew"), "curve", folder)


def _resolve(table: object, key: str, folder: Path) -> None:
    value = table.get(key) if isinstance(table, dict) else None
    if isinstance(table, dict) and isinstance(value, str):
        table[key] = os.path.normpath(folder.absolute() / value)
        note(table[key])  # some are read only while the job is played
    elif isinstance(value, dict) and isinstance(value.get("values"), list):  # drawn for each job
        for place, each in enumerate(value["values"]):
            value["values"][place] = (
                os.path.normpath(folder.absolute() / each) if isinstance(each, str) else each
            )


def with_systems(tables: dict[str, Any], names: Sequence[str] | None) -> dict[str, Any]:
    """Return tables of a scenario with a default policy for each name that is a system's."""
    policies = tables.get("policies") or {}
    if not isinstance(policies, dict):
        return tables  # the schema reports it
    missing = {
        name: {"system": name} for name in names or () if name not in policies and name in systems()
    }
    return tables | {"policies": policies | missing} if missing else tables
