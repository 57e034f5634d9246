"""The points of a sweep: a grid, values that vary together, a Latin hypercube."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cprsim.errors import UsageError
from cprsim.sweeps.values import expand, parse_range

#: Values of a point: dotted key to a value as a scenario file has it.
Values = dict[str, Any]
#: Values that keys which change together take, one step after the other.
Axis = Sequence[Values]
#: Whether the value at a dotted key is a whole number.
IsWhole = Callable[[str], bool]
#: What a user may give for one key: text as in `--vary`, or the values.
Given = str | Sequence[Any]

#: So many points may a sweep have.
MOST_POINTS = 1_000_000


def check_points(count: int, what: str = "") -> None:
    """Raise `UsageError` where these are too many; to be called before they are made."""
    if count > MOST_POINTS:
        raise UsageError(
            f"{what}{count:,} points are too many; a sweep has at most {MOST_POINTS:,}"
        )


@dataclass(frozen=True)
class Design:
    """Axes; every step of one is combined with every step of the others, the last one fastest."""

    axes: Sequence[Axis]

    def __post_init__(self) -> None:
        if not self.axes:
            raise UsageError("nothing is varied; give --vary KEY=V1,V2 or a block [sweep]")
        keys = list(self.keys)
        for key in keys:
            if keys.count(key) > 1:
                raise UsageError(f"{key}: is varied twice; give all its values at once")
        check_points(math.prod(map(len, self.axes)))  # which `len` can't say if they are immense

    def __len__(self) -> int:
        return math.prod(map(len, self.axes))

    @property
    def keys(self) -> tuple[str, ...]:
        """Dotted keys of all axes, in order."""
        return tuple(key for axis in self.axes for key in axis[0])

    def __iter__(self) -> Iterator[Values]:
        for steps in itertools.product(*self.axes):
            yield {key: value for each in steps for key, value in each.items()}


def grid(given: Mapping[str, Given], is_whole: IsWhole, what: str = "--vary ") -> list[Axis]:
    """Return an axis for each key."""
    axes: list[Axis] = []
    for key, each in given.items():
        axes.append([{key: value} for value in _values(key, each, is_whole, what)])
        check_points(math.prod(map(len, axes)))
    return axes


def zipped(given: Mapping[str, Given], is_whole: IsWhole) -> Axis:
    """Return one axis: first values go together, second values, and so on."""
    columns = {key: _values(key, each, is_whole, "sweep.zip.") for key, each in given.items()}
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise UsageError(f"sweep.zip: as many values for every key: {each}")
    return [dict(zip(columns, step, strict=True)) for step in zip(*columns.values(), strict=True)]


def latin(given: Mapping[str, Any], points: int, seed: int, is_whole: IsWhole) -> Axis:
    """Return one axis of so many points, a Latin hypercube over all ranges."""
    check_points(points, "sweep.latin.points: ")
    from scipy.stats import qmc  # noqa: PLC0415  (slow to import, and few sweeps need it)

    ranges = {key: parse_range(text, f"sweep.latin.{key}") for key, text in given.items()}
    shares = qmc.LatinHypercube(len(ranges), rng=seed).random(points)
    return [
        {
            key: each.at(float(share), is_whole(key))
            for (key, each), share in zip(ranges.items(), row, strict=True)
        }
        for row in shares
    ]


def _values(key: str, given: Given, is_whole: IsWhole, what: str) -> list[Any]:
    if not all(part.strip() for part in key.split(".")):
        raise UsageError(f"{what}{key}: is no key; write e.g. failures.mean")
    if isinstance(given, str):
        values = expand(given, is_whole(key), f"{what}{key}")
    elif isinstance(given, Sequence):
        check_points(len(given), f"{what}{key}: ")
        values = list(given)
    else:
        raise UsageError(
            f'{what}{key}: {given!r} is no list of values; write e.g. ["14 h", "28 h"]'
        )
    if not values:
        raise UsageError(f"{what}{key}: has no values")
    return values
