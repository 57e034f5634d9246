"""Points of a sweep: their scenarios as resolved, and the keys that results are stored under."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cprsim.errors import ScenarioError, UsageError
from cprsim.job.prices import Prices
from cprsim.sweeps.base import Base
from cprsim.sweeps.design import Design, Values
from cprsim.sweeps.layout import Row
from cprsim.sweeps.packed_text import PackedText

_NONE = PackedText()
_EVERY_S = 5.0


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


def currency_of(points: Sequence[Point], keys: Iterable[str]) -> str | None:
    """That the costs of all points are in; None where nothing has a price.

    Raises
    ------
    UsageError
        If prices are varied, and not all points have them in one currency.
    """
    readable = (point for point in points if point.key)
    varied = any(key.split(".")[0].strip() == "prices" for key in keys)
    asked = readable if varied else islice(readable, 1)
    tables = (json.loads(str(point.scenario)).get("prices", {}) for point in asked)
    found = {Prices.model_validate(table).currency for table in tables} - {None}
    if len(found) > 1:
        raise UsageError(
            f"--vary prices: points are in {' and '.join(sorted(filter(None, found)))}; "
            "vary prices in one currency, so that costs compare"
        )
    return next(iter(found), None)


def read_points(
    mapping: dict[str, Any],
    design: Design,
    policies: Sequence[str],
    tell: Callable[[str], None] = lambda _: None,
) -> list[Point]:
    """All points, read but not planned; `tell` is called every few seconds with how far that is.

    Raises
    ------
    ScenarioError
        If there is a value that can be read at no point, whatever stands beside it.
    UsageError
        If a policy is varied that is not compared.
    """
    _check_policies(design, policies)
    base = Base(mapping, design.keys, policies)
    points: list[Point] = []
    like = b""  # the first that can be read
    told_s = time.monotonic()
    for number, each in enumerate(design.steps()):
        if time.monotonic() - told_s > _EVERY_S:
            told_s = time.monotonic()
            tell(f"read {number:,} of {len(design):,} points")
        point = _read(number, base, design.values(each), like)
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


def _read(number: int, base: Base, values: Values, like: bytes) -> Point:
    try:
        scenario = base.scenario(values)
    except ScenarioError as error:
        return Point(number, values, error=str(error))
    text, key = base.written(scenario)
    return Point(number, values, key, PackedText.of(text, like), scenario.job.useful_time_s)


def _check_policies(design: Design, policies: Sequence[str]) -> None:
    for key in design.keys:
        section, _, rest = key.partition(".")
        name = rest.partition(".")[0]
        if section == "policies" and name not in policies:
            raise UsageError(f"--vary {key}: policy {name!r} is not among {', '.join(policies)}")
