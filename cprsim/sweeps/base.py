"""The scenario that points are made of: what none of them varies is read and written once."""

import copy
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from cprsim.basics.schema import Section
from cprsim.report.outputs import sha256
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import resolve_files, set_value
from cprsim.scenario.sections import SECTIONS, validated
from cprsim.sim.engine import MODEL_VERSION
from cprsim.sweeps.design import Values

FileHash = Callable[[str], str]
#: What is shown, and no part of what is simulated.
_SHOWN = ("title", "accuracy")


class Written(NamedTuple):
    """A table as JSON, and the same with hashes of files in place of their names."""

    text: str
    keyed: str


class Base:
    """What points are made of.

    Parameters
    ----------
    mapping
        The tables of the scenario file.
    keys
        Dotted keys of what is varied.
    policies
        Names of those that are compared.
    """

    def __init__(self, mapping: dict[str, Any], keys: Sequence[str], policies: Sequence[str]):
        self._cwd, self._policies = Path.cwd(), policies
        self._file_hash = lru_cache(maxsize=None)(sha256)
        self._tables = copy.deepcopy(mapping)
        resolve_files(self._tables, self._cwd)
        parts = {key: [part.strip() for part in key.split(".")] for key in keys}
        self._parts = parts
        self._varied = {each[0] for each in parts.values()} - {"policies"}
        own = {each[1] for each in parts.values() if each[0] == "policies" and len(each) > 1}
        self._varied_policies = own & self._tables["policies"].keys()
        same = {name: each for name, each in self._tables.items() if name not in self._varied}
        compared = {name: each for name, each in same["policies"].items() if name in policies}
        self._same = validated(same | {"policies": compared})
        # Of each section; what it is of lives as long as this, so nothing else has its id.
        self._known = {
            id(each): self._written(name, each)
            for name, each in (
                *self._same.items(),
                *(("", each) for each in self._same["policies"].values()),
            )
            if isinstance(each, Section)
        }

    def scenario(self, values: Values) -> Scenario:
        """The scenario of a point, read but not planned; `ScenarioError` if it can't be."""
        tables = dict(self._same)
        for name in self._varied & self._tables.keys():
            tables[name] = copy.deepcopy(self._tables[name])
        tables["policies"] = dict(tables["policies"])
        for name in self._varied_policies:
            tables["policies"][name] = copy.deepcopy(self._tables["policies"][name])
        for key, value in values.items():
            set_value(tables, self._parts[key], copy.deepcopy(value), f"--vary {key}")
        resolve_files(tables, self._cwd)
        tables["policies"] = {name: tables["policies"][name] for name in self._policies}
        return Scenario.read(tables)

    def written(self, scenario: Scenario) -> tuple[str, str]:
        """A point's scenario as resolved, and its key."""
        sections = {name: getattr(scenario, name) for name in SECTIONS}
        found = {name: self._text(name, each) for name, each in sections.items() if each}
        policies = {name: self._text("", each) for name, each in scenario.policies.items()}
        found["policies"] = _together(policies)
        key = _key({name: each for name, each in found.items() if name not in _SHOWN})
        found["title"] = written("title", scenario.title, self._file_hash)
        return _together(found).text, key

    def _text(self, name: str, section: Section) -> Written:
        return self._known.get(id(section)) or self._written(name, section)

    def _written(self, name: str, section: Section) -> Written:
        return written(name, section.mapping(), self._file_hash)


def scenario_key(mapping: dict[str, Any], file_hash: FileHash = sha256) -> str:
    """Hash of a resolved scenario and of the model version; files count by content, not by name."""
    simulated = {name: table for name, table in mapping.items() if name not in _SHOWN}
    return _key({name: written(name, table, file_hash) for name, table in simulated.items()})


def written(name: str, table: Any, file_hash: FileHash) -> Written:
    """A table of that name as JSON."""
    text = to_json(table)
    if not any(_files(name, table)):
        return Written(text, text)
    hashed = copy.deepcopy(table)
    for named, key in _files(name, hashed):
        named[key] = file_hash(named[key])
    return Written(text, to_json(hashed))


def to_json(value: Any) -> str:
    """The same text for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _key(simulated: dict[str, Written]) -> str:
    return hashlib.sha256(f"{MODEL_VERSION} {_together(simulated).keyed}".encode()).hexdigest()


def _together(tables: dict[str, Written]) -> Written:
    """A table of tables."""
    named = [(to_json(name), tables[name]) for name in sorted(tables)]
    texts, keyed = ([f"{name}:{each[i]}" for name, each in named] for i in (0, 1))
    return Written("{" + ",".join(texts) + "}", "{" + ",".join(keyed) + "}")


def _files(name: str, table: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Tables and their keys that name files: a trace, curves of popularity."""
    if name == "failures" and "trace" in table:
        yield table, "trace"
    if name == "model":
        for each in (table, *table.get("tables", ())):
            skew = each.get("skew")
            if isinstance(skew, dict) and "curve" in skew:
                yield skew, "curve"
