"""The points of a sweep, and the block `[sweep]` of a scenario file that says which."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from cprsim.basics import units
from cprsim.basics.schema import A_SHARE, Section
from cprsim.errors import ScenarioError, UsageError
from cprsim.scenario.mapping import leaves, parts_of
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
        for key in self.keys:
            if self.keys.count(key) > 1:
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
    if len(set(map(len, columns.values()))) > 1:
        each = ", ".join(f"{key} has {len(values)}" for key, values in columns.items())
        raise UsageError(f"sweep.zip: as many values for every key: {each}")
    return [dict(zip(columns, step, strict=True)) for step in zip(*columns.values(), strict=True)]


def latin(given: Mapping[str, Any], points: int, seed: int, is_whole: IsWhole) -> Axis:
    """Return one axis of so many points, a Latin hypercube over all ranges."""
    check_points(points, "sweep.latin.points: ")
    from scipy.stats import qmc  # noqa: PLC0415  (slow to import, and few sweeps need it)

    ranges = {key: parse_range(text, f"sweep.latin.{key}") for key, text in given.items()}
    shares = qmc.LatinHypercube(len(ranges), rng=seed).random(points).tolist()
    return [
        {
            key: at(share, is_whole(key))
            for (key, at), share in zip(ranges.items(), row, strict=True)
        }
        for row in shares
    ]


def _values(key: str, given: Given, is_whole: IsWhole, what: str) -> list[Any]:
    if not all(parts_of(key)):
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


def parse_half_width(text: object) -> float:
    """Return the share, above 0, in a percentage such as `"2%"`."""
    share = units.parse_share(text)
    if share == 0:
        raise UsageError(f"{text!r} is never met; write a percentage above 0%, e.g. 2%")
    return share


class Latin(Section):
    """A Latin hypercube; its ranges are other keys of the same table.

    `points`: how many it has. `seed`: random seed of their places.
    """

    points: int = Field(ge=1)
    seed: int = Field(default=0, ge=0)


class SweepBlock(Section):
    """The block `[sweep]`; the command line wins over it.

    `replications`: how many at each point; where `half_width` is given, at most. `half_width`:
    replications go on until the 95 % interval of the mean overhead of every policy reaches at most
    this share of the mean to either side. `grid`: dotted keys to values, in every combination.
    `zip`: dotted keys to values that go together, the first with the first. `latin`: dotted keys to
    ranges that points are spread over, with how many of them, `points`, and a `seed`.
    """

    replications: int | None = Field(default=None, ge=1, examples=[1000])
    half_width: (
        Annotated[float, BeforeValidator(parse_half_width), WithJsonSchema(A_SHARE)] | None
    ) = None
    grid: dict[str, Any] = Field(default_factory=dict)
    zipped: dict[str, Any] = Field(default_factory=dict, alias="zip")
    latin: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def from_table(cls, table: object) -> "SweepBlock":
        """Read the table of a file; `ScenarioError` has every fault."""
        if not isinstance(table, dict):
            raise ScenarioError(f"sweep: {table!r} is not a table; write [sweep]")
        return cls.checked(table, "sweep")

    def design(self, vary: Mapping[str, Any], is_whole: IsWhole) -> Design:
        """Return the points; `vary` replaces what the grid has for the same key."""
        kept = {key: given for key, given in flat(self.grid).items() if key not in vary}
        axes = grid(kept, is_whole, "sweep.grid.") + grid(vary, is_whole)
        if self.zipped:
            axes.append(zipped(flat(self.zipped), is_whole))
        if self.latin:
            head = {key: self.latin[key] for key in Latin.model_fields if key in self.latin}
            ranges = {key: given for key, given in self.latin.items() if key not in head}
            block = Latin.checked(head, "sweep.latin")
            if not ranges:
                raise ScenarioError(
                    'sweep.latin: has no range; write e.g. failures.mean = "log(1 h, 9 h)"'
                )
            axes.append(latin(flat(ranges), block.points, block.seed, is_whole))
        return Design(axes)


def flat(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return dotted keys for what TOML made tables of: `failures.mean = [...]` has no quotes."""
    return {".".join(parts): value for parts, value in leaves(tables)}
