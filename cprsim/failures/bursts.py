"""Bursts: several nodes of a rack that fail together, as a scenario gives them."""

from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from cprsim.basics.schema import PositiveSeconds, Section
from cprsim.failures.hits import shares_of

_SIZES = "sizes = { 2 = 0.8, 3 = 0.2 }"


def _numbered(value: object) -> object:
    """The table with numbers for keys, which TOML and JSON only have as texts."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not a table; write e.g. {_SIZES}")
    for key in value:
        text = str(key)
        if not (text.isascii() and text.isdecimal() and text == str(int(text)) and text != "0"):
            raise ValueError(
                f"{key!r} is no number of nodes: the keys are whole numbers >= 1, e.g. {_SIZES}"
            )
    return {int(key): weight for key, weight in value.items()}


def _weighty(sizes: dict[int, float]) -> dict[int, float]:
    if not sizes:
        raise ValueError(f"is empty; write e.g. {_SIZES}")
    if not any(sizes.values()):
        raise ValueError("at least one weight must be > 0")
    return dict(sorted(sizes.items()))


Sizes = Annotated[
    dict[int, Annotated[float, Field(ge=0)]],
    BeforeValidator(_numbered),
    AfterValidator(_weighty),
    Field(examples=[{"2": 0.8, "3": 0.2}]),
]


class Bursts(Section):
    """Several nodes of one rack that fail together, in addition to single failures.

    `mean`: time between two bursts of a rack on average; they are a Poisson process in wall-clock
    time. `rack`: nodes of a rack; the servers, then the trainers, fill racks in their
    order, and the last rack may be smaller. `sizes`: weights of the numbers of nodes that a burst
    takes down, of which only the ratios count; where the last rack has fewer nodes, all of them.
    See docs/semantics.md.
    """

    mean_s: PositiveSeconds = Field(alias="mean")
    rack: Annotated[int, Field(ge=1, examples=[16])]
    sizes: Sizes

    @model_validator(mode="after")
    def _fit_a_rack(self) -> Self:
        largest = max(self.sizes)
        if largest > self.rack:
            raise ValueError(
                f"the size {largest} is more than rack = {self.rack}; "
                f"a burst takes down {self.rack} nodes of a rack at most"
            )
        return self

    def racks(self, nodes: int) -> int:
        """Return how many racks that many nodes fill."""
        return -(-nodes // self.rack)

    def gap_s(self, nodes: int) -> float:
        """Mean time between bursts of a cluster of that many nodes, s."""
        return self.mean_s / self.racks(nodes)

    def shares(self) -> dict[int, float]:
        """The share of bursts of each size."""
        return shares_of(self.sizes)
