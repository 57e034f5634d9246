"""No system and no key of a scenario is left out of what the engines are compared on."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from cprsim.basics.schema import Section
from cprsim.policies.registry import policy_class, systems
from cprsim.scenario.sections import SECTIONS
from tests.batch import harsh
from tests.drawn import SYSTEMS, scenarios
from tests.drawn.policies import ANSWERING

#: Keys that no strategy sets, with all in them, and why no run is left out with them.
LEFT_OUT = {
    "accuracy": "says what a result means, and is read after the run",
    "prices": "says what a result costs, and is read after the run",
    "failures.reader = 'csv'": "what is read if no reader is named",
    "failures.reader = 'fta'": "gives the log that others give",
    "failures.reader = 'spot'": "gives the log that others give",
    "failures.reader = 'stepfun'": "gives the log that others give",
    "failures.reader = 'slurm'": "gives the log that others give",
    "failures.reader = 'prometheus'": "gives the log that others give",
    "failures.reader = 'xid'": "gives the log that others give",
    "failures.columns": "say how a log is read, which then is as others are",
    "failures.log": "says what a law was fitted to, and is played nothing of",
    "model.skew.name": "written as the skew itself",
    "model.skew.curve": "of a file; goes into what saves leave of a shard, as any skew",
    "model.tables.skew.name": "written as the skew itself",
    "model.tables.skew.curve": "of a file, as above",
} | {
    f"policies.{system}.on_notice": "refused; `tiered`, which answers, is drawn by `announced`"
    for system in set(SYSTEMS) - ANSWERING
}


def sections_in(annotation: Any) -> Iterator[type[Section]]:
    """The tables that a value of that type may be."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in get_args(annotation):
        yield from sections_in(part)


def words_in(annotation: Any) -> Iterator[str]:
    """The words that a value of that type may be."""
    if get_origin(annotation) is Literal:
        yield from (word for word in get_args(annotation) if isinstance(word, str))
        return
    for part in get_args(annotation):
        yield from words_in(part)


def keys_of(section: type[BaseModel], path: str) -> Iterator[str]:
    """All keys of a table and of those in it, dotted; and the words that each may be."""
    for name, field in section.model_fields.items():
        key = f"{path}.{field.alias or name}"
        yield key
        yield from (f"{key} = {word!r}" for word in words_in(field.annotation))
        for inner in sections_in(field.annotation):
            yield from keys_of(inner, key)


def set_in(table: object, path: str) -> Iterator[str]:
    """All keys that a scenario sets, dotted; and those of its values that are words."""
    if isinstance(table, Mapping):
        for key, value in table.items():
            yield f"{path}.{key}"
            yield from set_in(value, f"{path}.{key}")
    elif isinstance(table, list):
        for each in table:
            yield from set_in(each, path)
    elif isinstance(table, str):
        yield f"{path} = {table!r}"


def known() -> set[str]:
    """All keys of scenario files, `policies.SYSTEM.KEY` for those of policies."""
    found = {"title"}
    for name, (section, _) in SECTIONS.items():
        found |= set(keys_of(section, name))
    for system in SYSTEMS:
        policy = policy_class(system)
        assert policy is not None
        found |= set(keys_of(policy, f"policies.{system}"))
    return found


@cache
def drawn(folder: Path) -> set[str]:
    """The keys that the strategies of tests/batch/test_equal.py set."""
    found: set[str] = set()
    for number, system in enumerate(SYSTEMS):
        harsher = harsh.sources(folder / "log.csv", [system]).values()
        for strategy in (*harsher, scenarios(systems=[system])):
            found |= _set_by(strategy, number)
    return found


def _set_by(strategy: st.SearchStrategy[dict[str, Any]], number: int) -> set[str]:
    found: set[str] = set()

    @seed(number)
    @settings(max_examples=40)
    @given(strategy)
    def look(tables: dict[str, Any]) -> None:
        policies = tables.pop("policies")
        for name, table in tables.items():
            found.update([name, *set_in(table, name)])
        for policy in policies.values():
            found.update(set_in(policy, f"policies.{policy['system']}"))

    look()
    return found


def left_out(key: str) -> bool:
    """Whether it is one of those, or in one of them."""
    return any(key == each or key.startswith((f"{each}.", f"{each} ")) for each in LEFT_OUT)


def test_policies_are_drawn_of_every_system() -> None:
    assert set(SYSTEMS) == {system for system in systems() if shipped(system)}


def shipped(system: str) -> bool:
    """Whether it is one of this package, not of another or of a test."""
    policy = policy_class(system)
    return policy is not None and policy.__module__.startswith("cprsim.policies.")


@pytest.mark.nightly
def test_every_key_of_every_table_and_policy_is_set(tmp_path: Path) -> None:
    keys = {key for key in known() if not left_out(key)}

    assert len(keys) > 250
    assert sorted(keys - drawn(tmp_path)) == []


def test_what_is_left_out_is_a_key() -> None:
    for each in LEFT_OUT:
        assert each in known() or any(key.startswith(f"{each}.") for key in known()), each
