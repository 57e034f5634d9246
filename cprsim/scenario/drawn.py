"""Values that are drawn once for each job of a fleet, where a scenario has one for all.

Any single value of a scenario may be a table with a `distribution`: a law, with
units as the value itself has, or a list of values.
"""

import math
import zlib
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import BeforeValidator, Field, InstanceOf, WithJsonSchema, model_validator

from cprsim.basics import units
from cprsim.basics.distributions import Distribution, Name, Positive, check_keys
from cprsim.basics.schema import Section, a_list
from cprsim.basics.streams import COHORT, Cause, stream
from cprsim.errors import UnitError

#: Keys that lead to a value in nested tables; places in lists are numbers as text.
KeyPath = tuple[str, ...]
#: Keys that take a law, which is no single value then.
_LAWS = (
    *(("costs", "reschedule"), ("costs", "restart"), ("costs", "shutdown")),
    ("costs", "regroup"),
    *(("failures", "causes", "detect"), ("failures", "causes", "repair")),
    ("storage", "outages", "lasts"),
    *(("costs", "start", key) for key in ("schedule", "initialise", "compile", "compile_warm")),
)
#: Laws that take no `min` and `max` to cut them.
_BARE = ("deterministic", "empirical", "uniform")
#: Less of a law than that between `min` and `max` takes too long to be drawn.
_LEAST_SHARE = 1e-3


_NUMBER = units.Units({}, kind="number")


class Quantity(NamedTuple):
    """A number in SI units, and what it means: its units, none for a plain number."""

    number: float
    kind: units.Units


def _quantity(value: object) -> Quantity:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return Quantity(float(value), _NUMBER)
    try:
        return Quantity(*units.parse_quantity(value))
    except UnitError:
        fault = f"{value!r} is neither a number nor a quantity"
        raise ValueError(f'{fault}: write e.g. 18 or "28 h"') from None


Limit = Annotated[
    InstanceOf[Quantity],
    BeforeValidator(_quantity),
    WithJsonSchema(
        {"type": ["number", "string"], "x-unit": "that of the value", "examples": ["20 h", 8]}
    ),
]


class Drawn(Section):
    """The law of a value that is drawn once per job: of durations, sizes, rates or plain numbers.

    `distribution`: the name of the law; `"uniform"` lies between `min` and `max`, and takes no
    mean. `mean`: that of the law before it is cut. `shape`, `cv`: as in `Distribution`. `min`,
    `max`: where the law is cut: what falls outside is drawn again. `values`: what `"empirical"`
    takes one of, each with equal chance. `per`: says that it is drawn once for each
    job, where a law may be drawn again and again.
    """

    distribution: Name
    mean: Limit | None = None
    shape: Positive | None = None
    cv: Positive | None = None
    min: Limit | None = None
    max: Limit | None = None
    values: (
        Annotated[
            tuple[Any, ...],
            a_list('write e.g. values = ["3 h", "17 h"]'),
            Field(examples=[[8, 18]]),
        ]
        | None
    ) = None
    per: Literal["job"] = "job"

    @model_validator(mode="after")
    def _is_a_law(self) -> Self:
        limits = self._limits
        self._check_keys(set(limits))
        kinds = {key: f"a {limit.kind.kind}" for key, limit in limits.items()}
        if len(set(kinds.values())) > 1:
            found = ", ".join(f"{key} is {name}" for key, name in kinds.items())
            raise ValueError(f"{found}; give them all in units of one kind")
        if "mean" in limits and limits["mean"].number <= 0:
            raise ValueError("mean is out of range: it must be > 0")
        if self._low < 0:
            raise ValueError("min is out of range: it must be >= 0")
        if self._low >= self._high:
            raise ValueError("min must be less than max")
        if self.distribution not in ("empirical", "uniform"):
            check_keys(self._law)
            self._check_share()
        return self

    def _check_keys(self, limits: set[str]) -> None:
        name = self.distribution
        has = limits | ({"values"} if self.values is not None else set())
        needs = {"empirical": {"values"}, "uniform": {"min", "max"}}.get(name, {"mean"})
        takes = needs if name in _BARE else needs | {"min", "max"}
        for key in sorted(needs - has):
            raise ValueError(f"distribution {name!r} needs {key!r}")
        for key in sorted(has - takes):
            raise ValueError(f"distribution {name!r} takes no {key!r} here; leave it out")
        if name in ("empirical", "uniform"):
            for key in ("shape", "cv"):
                if getattr(self, key) is not None:
                    raise ValueError(f"distribution {name!r} takes no {key!r}; leave it out")

    def _check_share(self) -> None:
        share = 1.0
        if self.min is not None or self.max is not None:
            above = self._law.survival(np.array([self._low, self._high]))
            share = float(above[0] - above[1])
        if share < _LEAST_SHARE:
            raise ValueError(
                f"min and max leave {share:.1g} of the law, too little to draw from; widen them, "
                "or move the mean"
            )

    @property
    def _limits(self) -> dict[str, Quantity]:
        named = {"mean": self.mean, "min": self.min, "max": self.max}
        return {key: limit for key, limit in named.items() if limit is not None}

    @property
    def _low(self) -> float:
        return 0.0 if self.min is None else self.min.number

    @property
    def _high(self) -> float:
        return math.inf if self.max is None else self.max.number

    @property
    def _law(self) -> Distribution:
        """The law of the numbers; they are seconds only if the value is a duration."""
        return Distribution.model_construct(
            distribution=self.distribution,
            mean_s=None if self.mean is None else self.mean.number,
            shape=self.shape,
            cv=self.cv,
        )

    @cached_property
    def kind(self) -> units.Units:
        """Return the meaning of the values; plain numbers, too, where they have no one kind."""
        if self.values is None:
            return next(iter(self._limits.values())).kind
        try:
            kinds = [_quantity(value).kind for value in self.values]
        except ValueError:
            return _NUMBER
        return kinds[0] if all(kind == kinds[0] for kind in kinds) else _NUMBER

    @property
    def middle(self) -> Any:
        """Return a value to represent all: the mean, or the nearest to it; the first listed."""
        if self.values is not None:
            return self.values[0]
        if self.mean is None:
            return (self._low + self._high) / 2
        return min(max(self.mean.number, self._low), self._high)

    @property
    def ends(self) -> dict[str, Any]:
        """The outermost values that there can be, by the key that says so; all that are listed."""
        if self.values is not None:
            return {f"values.{i}": value for i, value in enumerate(self.values)}
        limits = self._limits
        return {key: limits[key].number for key in ("min", "max") if key in limits}

    def cohort(self, seed: int, number: int, key: str) -> list[Any]:
        """The values of the jobs of a cohort: numbers in SI units, or of those listed.

        They depend on the seed, the number of the cohort and their `key` alone.
        """
        rng = stream(seed, number, Cause.JOB_VALUE, zlib.crc32(key.encode()))
        if self.values is not None:
            return [self.values[i] for i in rng.integers(len(self.values), size=COHORT)]
        if self.distribution == "uniform":
            return list(map(float, rng.uniform(self._low, self._high, COHORT)))
        drawn = self._law.sample(rng, COHORT)
        while (outside := (drawn < self._low) | (drawn > self._high)).any():
            drawn[outside] = self._law.sample(rng, int(outside.sum()))
        return list(map(float, drawn))

    def written(self, value: Any, whole: bool = False) -> Any:
        """A value as a scenario file has it; a number that must be `whole` is rounded."""
        if self.values is not None:
            return value
        if self.kind:
            return units.format_exact(value, self.kind)
        return math.floor(value + 0.5) if whole else value

    def number(self, written: Any) -> Any:
        """A value of a scenario file in SI units; unchanged where it is no quantity."""
        return _quantity(written).number if self.kind else written


def tables(mapping: Any, path: KeyPath = ()) -> list[tuple[KeyPath, dict[str, Any]]]:
    """Tables of a scenario's mapping in place of a value, with the keys that lead to them.

    `[failures]` and `[failures.silent]` are laws themselves, and a delay in `costs.reschedule` is
    drawn at each failure, as are `costs.restart`, detections and repairs of causes, one in
    `storage.outages.lasts` at each outage, those of `costs.start` and `costs.shutdown` at each
    start and end, unless it says `per = "job"`.
    """
    if isinstance(mapping, dict):
        if "distribution" in mapping and _stands_for_a_value(mapping, path):
            return [(path, mapping)]
        inside: Iterable[tuple[object, Any]] = mapping.items()
    else:
        inside = enumerate(mapping)
    return [
        found
        for key, inner in inside
        if isinstance(inner, _NESTED)
        for found in tables(inner, (*path, str(key)))
    ]


_NESTED = (dict, list, tuple)


def _stands_for_a_value(table: dict[str, Any], path: KeyPath) -> bool:
    if path in ((), ("failures",), ("failures", "silent")):
        return False
    keys = tuple(key for key in path if not key.isdecimal())
    return keys not in _LAWS or table.get("per") == "job"
