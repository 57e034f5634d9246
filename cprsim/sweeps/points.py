"""Points of a sweep: their scenarios, and the hashes by which sweeps differ."""

import copy
import functools
import hashlib
import inspect
import json
import pickle
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from cprsim.basics.manifest import sha256
from cprsim.errors import CprsimError, ScenarioError, UsageError
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import parts_of, resolve_files, set_value
from cprsim.scenario.sections import validated
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
    """The scenario that points are made of; sections that none of them changes are validated once.

    `mapping`: the tables of a scenario that can be read. `policies`: names of those that are
    compared. `keys`: what is varied; `UsageError` where that is a policy that isn't compared.
    """

    def __init__(
        self, mapping: dict[str, Any], policies: Sequence[str], keys: Sequence[str]
    ) -> None:
        self._folder, self._file_hash = Path.cwd(), functools.cache(sha256)
        self._parts = {key: parts_of(key) for key in keys}
        tables = copy.deepcopy(mapping)
        resolve_files(tables, self._folder)
        tables["policies"] = {name: tables["policies"][name] for name in policies}
        sections = {section for section, *_ in self._parts.values()} - {"policies"}
        varied = {name: tables[name] for name in sections & tables.keys()}
        varied["policies"] = {}
        for key, (section, *rest) in self._parts.items():
            if section == "policies":
                name = rest[0] if rest else ""
                if name not in policies:
                    among = ", ".join(policies)
                    raise UsageError(f"--vary {key}: policy {name!r} is not among {among}")
                varied["policies"][name] = tables["policies"][name]
        self._sound, self._varied = validated(tables), pickle.dumps(varied)

    def at(self, values: Values) -> Scenario:
        """Return the scenario of a point, not planned; raise `ScenarioError` if it can't be."""
        tables = self._sound | pickle.loads(self._varied)  # quicker than a deep copy
        tables["policies"] = self._sound["policies"] | tables["policies"]
        for key, value in values.items():
            set_value(tables, self._parts[key], copy.deepcopy(value), f"--vary {key}")
        resolve_files(tables, self._folder)
        return Scenario.read(tables)

    def key(self, scenario: Scenario) -> str:
        """Return the key of a point with that scenario."""
        return scenario_key(scenario, self._file_hash)


def scenario_key(scenario: Scenario, file_hash: Callable[[str], str] = sha256) -> str:
    """Hash a scenario and the model version; files count by content, not by name."""
    tables = scenario.mapping()
    for name in _SHOWN:
        tables.pop(name, None)
    for table, key in _files(tables):
        table[key] = file_hash(table[key])
    return hashlib.sha256(f"{MODEL_VERSION} {to_json(tables)}".encode()).hexdigest()


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
    """Read all points; return them, and the currency of their costs.

    `tell` is called every few seconds with how many have been read.

    Raises
    ------
    ScenarioError
        If a value can be read at no point, whatever the other values are.
    UsageError
        If prices are varied in several currencies.
    """
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
        if scenario.currency is not None:
            currencies.add(scenario.currency)
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


def _files(mapping: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield tables and their keys that name files: a trace, curves of popularity."""
    if "trace" in mapping.get("failures", {}):
        yield mapping["failures"], "trace"
    model = mapping.get("model") or {}
    for each in (model, *model.get("tables", ())):
        skew = each.get("skew")
        if isinstance(skew, dict) and "curve" in skew:
            yield skew, "curve"


#: Where an object lies in memory, and a set, which each process has in another order.
_PLACE, _SET = re.compile(r" at 0x[0-9a-f]+"), re.compile(r"\{([^{}]*)\}")
_SHIPPED = ("cprsim", "pydantic", "builtins", "abc", "typing")


def own_code(scenario: Scenario, policies: Iterable[str]) -> dict[str, str]:
    """Hash each of these policies that isn't shipped: the source of its class, and its plan.

    Source that can't be had (a class that was typed at a prompt) counts as none, and what the
    source calls elsewhere as far as the plan shows it.
    """
    found = {}
    for name in policies:
        classes = type(scenario.policies[name]).__mro__
        own = [each for each in classes if each.__module__.split(".")[0] not in _SHIPPED]
        texts = []
        for each in own:
            with suppress(OSError, TypeError):
                texts.append(inspect.getsource(each))
        if own:
            texts.append(_SET.sub(_in_order, _PLACE.sub("", _said(scenario, name))))
            found[name] = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    return found


def _said(scenario: Scenario, policy: str) -> str:
    """Return the fields of a plan that have no default: a later cprsim may have more of them."""
    try:
        plan = scenario.plan(policy)
    except CprsimError as error:  # other points may have a plan
        return str(error)
    of = {each.name: (getattr(plan, each.name), each.default) for each in fields(plan)}
    return " ".join(f"{name}={own!r}" for name, (own, default) in of.items() if own != default)


def _in_order(found: re.Match[str]) -> str:
    return f"{{{', '.join(sorted(found[1].split(', ')))}}}"
