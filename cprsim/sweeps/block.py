"""The block `[sweep]` of a scenario file: which points, and how many replications."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema

from cprsim.basics import units
from cprsim.basics.schema import A_SHARE, Section, faults
from cprsim.errors import ScenarioError, UsageError
from cprsim.scenario.mapping import leaves
from cprsim.sweeps.design import Design, IsWhole, grid, latin, zipped

S = TypeVar("S", bound=Section)


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
        return _validated(cls, table, "sweep")

    def design(self, vary: Mapping[str, Any], is_whole: IsWhole) -> Design:
        """Return the points; `vary` replaces what the grid has for the same key."""
        kept = {key: given for key, given in flat(self.grid).items() if key not in vary}
        axes = grid(kept, is_whole, "sweep.grid.") + grid(vary, is_whole)
        if self.zipped:
            axes.append(zipped(flat(self.zipped), is_whole))
        if self.latin:
            head = {key: self.latin[key] for key in Latin.model_fields if key in self.latin}
            ranges = {key: given for key, given in self.latin.items() if key not in head}
            block = _validated(Latin, head, "sweep.latin")
            if not ranges:
                raise ScenarioError(
                    'sweep.latin: has no range; write e.g. failures.mean = "log(1 h, 9 h)"'
                )
            axes.append(latin(flat(ranges), block.points, block.seed, is_whole))
        return Design(axes)


def _validated(of: type[S], table: dict[str, Any], name: str) -> S:
    try:
        return of.model_validate(table)
    except ValidationError as error:
        raise ScenarioError(*faults(error, of, name)) from None


def flat(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return dotted keys for what TOML made tables of: `failures.mean = [...]` has no quotes."""
    return {".".join(parts): value for parts, value in leaves(tables)}
