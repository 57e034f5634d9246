"""Points of a sweep: their scenarios as resolved, and the keys that results are stored under."""

import copy
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cprsim.errors import ScenarioError, UsageError
from cprsim.report.outputs import sha256
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import resolve_files, set_value
from cprsim.sim.engine import MODEL_VERSION
from cprsim.sweeps.design import Design, Values
from cprsim.sweeps.layout import Row
from cprsim.sweeps.packed_text import PackedText

_NONE = PackedText()


@dataclass(frozen=True, slots=True)
class Point:
    """One scenario of a sweep; there may be a million, so they are kept small.

    Parameters
    ----------
    number
        In the order of the design, from 0.
    values
        What is varied.
    key
        Hash of the scenario as resolved, the files it names included, and of the model version;
        empty if the scenario can't be read.
    scenario
        As resolved; of the policies those that are compared.
    useful_time_s
        Of its job.
    error
        Why the scenario can't be read; empty if it can.
    """

    number: int
    values: Values
    key: str = ""
    scenario: PackedText = _NONE
    useful_time_s: float = 0.0
    error: str = ""

    @property
    def row(self) -> Row:
        """As it is stored."""
        given = json.dumps(self.values, default=str)
        return self.number, given, self.key or None, self.useful_time_s or None, self.error or None


class PointsHash:
    """Hash of points in their order: what is varied, and what came of it."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, given: str, key: str) -> None:
        """The next point."""
        self._hash.update(f"{len(given)} {given} {key}\n".encode())

    @property
    def text(self) -> str:
        """In hexadecimal digits."""
        return self._hash.hexdigest()


def points_hash(points: Iterable[Point]) -> str:
    """That of all of them."""
    found = PointsHash()
    for point in points:
        found.add(point.row[1], point.key)
    return found.text


def read_points(base: dict[str, Any], design: Design, policies: Sequence[str]) -> list[Point]:
    """All points, read but not planned.

    Raises
    ------
    ScenarioError
        If there is a value that can be read at no point, whatever stands beside it.
    UsageError
        If a policy is varied that is not compared.
    """
    _check_policies(design, policies)
    file_hash = lru_cache(maxsize=None)(sha256)
    points: list[Point] = []
    like = b""  # the first that can be read
    for number, each in enumerate(design.steps()):
        point = _read(number, base, design.values(each), policies, file_hash, like)
        like = like or point.scenario.content
        points.append(point)
    faults = _hopeless(points, design.steps())
    if faults:
        raise ScenarioError(*faults)
    return points


def _hopeless(points: Sequence[Point], steps: Iterable[tuple[int, ...]]) -> list[str]:
    """Faults of steps that can be read at no point."""
    at: dict[tuple[int, int], list[Point]] = defaultdict(list)
    for point, each in zip(points, steps, strict=True):
        for step in enumerate(each):
            at[step].append(point)
    found: dict[str, None] = {}
    for same in at.values():
        shared = set(same[0].error.splitlines()).intersection(
            *(point.error.splitlines() for point in same)
        )
        if all(point.error for point in same):
            found |= dict.fromkeys(sorted(shared) or same[0].error.splitlines())
    return list(found)


def scenario_key(mapping: dict[str, Any], file_hash: Callable[[str], str] = sha256) -> str:
    """Hash of a resolved scenario and of the model version; files count by content, not by name."""
    mapping = copy.deepcopy(mapping)
    for shown in ("title", "accuracy"):
        mapping.pop(shown, None)
    for table, name in _files(mapping):
        table[name] = file_hash(table[name])
    text = f"{MODEL_VERSION} {_json(mapping)}"
    return hashlib.sha256(text.encode()).hexdigest()


def _read(
    number: int,
    base: dict[str, Any],
    values: Values,
    policies: Sequence[str],
    file_hash: Callable[[str], str],
    like: bytes,
) -> Point:
    try:
        mapping = copy.deepcopy(base)
        for key, value in values.items():
            parts = [part.strip() for part in key.split(".")]
            set_value(mapping, parts, copy.deepcopy(value), f"--vary {key}")
        resolve_files(mapping, Path.cwd())
        mapping["policies"] = {name: mapping["policies"][name] for name in policies}
        scenario = Scenario.read(mapping)
    except ScenarioError as error:
        return Point(number, values, error=str(error))
    resolved = scenario.mapping()
    key = scenario_key(resolved, file_hash)
    text = PackedText.of(_json(resolved), like)
    return Point(number, values, key, text, scenario.job.useful_time_s)


def _check_policies(design: Design, policies: Sequence[str]) -> None:
    for key in design.keys:
        section, _, rest = key.partition(".")
        name = rest.partition(".")[0]
        if section == "policies" and name not in policies:
            raise UsageError(f"--vary {key}: policy {name!r} is not among {', '.join(policies)}")


def _files(mapping: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Tables and their keys that name files: a trace, curves of popularity."""
    model = mapping.get("model", {})
    tables = [model, *model.get("tables", ())]
    named = [(mapping["failures"], "trace"), *((table.get("skew"), "curve") for table in tables)]
    for table, name in named:
        if isinstance(table, dict) and name in table:
            yield table, name


def _json(mapping: dict[str, Any]) -> str:
    return json.dumps(mapping, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
