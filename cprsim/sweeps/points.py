"""Points of a sweep: their scenarios, and the hashes by which sweeps differ."""

import copy
import functools
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cprsim.basics.manifest import sha256
from cprsim.errors import ScenarioError, UsageError
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import resolve_files, set_value
from cprsim.sim.engine import MODEL_VERSION
from cprsim.sweeps.design import Design, Values

_EVERY_S = 5.0
#: Sections that are shown, and no part of what is simulated.
_SHOWN = ("title", "accuracy")


@dataclass(frozen=True, slots=True)
class Point:
    """One scenario of a sweep, and how far it is; there may be a million, so they are small.

    `number`: in the order of the design, from 0. `values`: what is varied. `useful_time_s`: of its
    job. `replications`: of each policy that has results; None where nothing has been played.
    `error`: why it failed under all policies, else None; `errors`: why policies failed there, by
    name. `key`: hash of the scenario as resolved, the files it names included, and of the model
    version; empty if the scenario can't be read.
    """

    number: int
    values: Values
    useful_time_s: float = 0.0
    replications: int | None = None
    error: str | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    key: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """Return the entries that are stored."""
        return {each: getattr(self, each) for each in ("values", "useful_time_s", "error")}

    @property
    def finished(self) -> bool:
        """Return whether there are results."""
        return self.replications is not None and self.error is None

    @property
    def to_do(self) -> bool:
        """Return whether it is neither finished nor failed."""
        return not (self.finished or self.error)


class VariedScenario:
    """The scenario that points are made of.

    `mapping`: the tables of the scenario file. `policies`: names of those that are compared.
    """

    def __init__(self, mapping: dict[str, Any], policies: Sequence[str]) -> None:
        self._folder, self.policies = Path.cwd(), policies
        self._tables = copy.deepcopy(mapping)
        resolve_files(self._tables, self._folder)
        self._file_hash = functools.cache(sha256)

    def at(self, values: Values) -> Scenario:
        """Return the scenario of a point, not planned; raise `ScenarioError` if it can't be."""
        tables = copy.deepcopy(self._tables)
        for key, value in values.items():
            parts = [part.strip() for part in key.split(".")]
            set_value(tables, parts, copy.deepcopy(value), f"--vary {key}")
        resolve_files(tables, self._folder)
        tables["policies"] = {name: tables["policies"][name] for name in self.policies}
        return Scenario.read(tables)

    def key(self, scenario: Scenario) -> str:
        """Return the key of a point with that scenario."""
        return scenario_key(scenario.mapping(), self._file_hash)


def scenario_key(mapping: dict[str, Any], file_hash: Callable[[str], str] = sha256) -> str:
    """Hash a resolved scenario and the model version; files count by content, not by name."""
    simulated = {name: table for name, table in mapping.items() if name not in _SHOWN}
    simulated = copy.deepcopy(simulated)
    for table, key in _files(simulated):
        table[key] = file_hash(table[key])
    return hashlib.sha256(f"{MODEL_VERSION} {to_json(simulated)}".encode()).hexdigest()


def to_json(value: Any) -> str:
    """Return the same text for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def points_hash(points: Iterable[Point]) -> str:
    """Hash points in their order: of each what is varied, and its key."""
    found = hashlib.sha256()
    for point in points:
        found.update(json.dumps([point.values, point.key], default=str).encode())
    return found.hexdigest()


def read_points(
    varied: VariedScenario, design: Design, tell: Callable[[str], None]
) -> tuple[list[Point], str | None]:
    """Read all points; return them and the currency of their costs, None without prices.

    `tell` is called every few seconds with how many have been read.

    Raises
    ------
    ScenarioError
        If a value can be read at no point, whatever the other values are.
    UsageError
        If a policy is varied that is not compared, or prices are varied in several currencies.
    """
    _check_policies(design, varied.policies)
    points: list[Point] = []
    currencies: set[str] = set()
    told_s = time.monotonic()
    for number, values in enumerate(design):
        if time.monotonic() - told_s > _EVERY_S:
            told_s = time.monotonic()
            tell(f"read {number:,} of {len(design):,} points")
        try:
            scenario = varied.at(values)
        except ScenarioError as error:
            points.append(Point(number, values, error=str(error)))
            continue
        key = varied.key(scenario)
        points.append(Point(number, values, scenario.job.useful_time_s, key=key))
        if scenario.prices is not None and scenario.prices.currency is not None:
            currencies.add(scenario.prices.currency)
    faults = _faults_everywhere(points)
    if faults:
        raise ScenarioError(*faults)
    if len(currencies) > 1:
        raise UsageError(
            f"--vary prices: points are in {' and '.join(sorted(currencies))}; "
            "vary prices in one currency, so that costs compare"
        )
    return points, next(iter(currencies), None)


def _faults_everywhere(points: Sequence[Point]) -> list[str]:
    """Return faults of values that can be read at no point."""
    at: dict[tuple[str, str], list[str]] = defaultdict(list)
    if any(point.error for point in points):
        for point in points:
            for key, value in point.values.items():
                at[key, json.dumps(value, default=str)].append(point.error or "")
    found: dict[str, None] = {}
    for errors in at.values():
        if all(errors):
            shared = set.intersection(*(set(error.splitlines()) for error in errors))
            found |= dict.fromkeys(sorted(shared) or errors[0].splitlines())
    return list(found)


def _check_policies(design: Design, policies: Sequence[str]) -> None:
    for key in design.keys:
        section, _, rest = key.partition(".")
        name = rest.partition(".")[0]
        if section == "policies" and name not in policies:
            raise UsageError(f"--vary {key}: policy {name!r} is not among {', '.join(policies)}")


def _files(mapping: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield tables and their keys that name files: a trace, curves of popularity."""
    if "trace" in mapping.get("failures", {}):
        yield mapping["failures"], "trace"
    model = mapping.get("model") or {}
    for each in (model, *model.get("tables", ())):
        skew = each.get("skew")
        if isinstance(skew, dict) and "curve" in skew:
            yield skew, "curve"
