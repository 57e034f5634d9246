"""Delays: the same each time, or by a law."""

from typing import Annotated

from pydantic import Discriminator, Tag, WithJsonSchema

from cprsim.basics import units
from cprsim.basics.distributions import Distribution
from cprsim.basics.schema import VARIANTS, Seconds, written_as

#: A delay: the same each time, s, or a distribution of it.
Delay = Annotated[
    Annotated[
        Seconds,
        WithJsonSchema(written_as(units.SECONDS, "time", "20 min")),
        Tag(VARIANTS[0]),
    ]
    | Annotated[Distribution, Tag(VARIANTS[1])],
    Discriminator(lambda value: VARIANTS[isinstance(value, dict | Distribution)]),
]


def mean_s(delay: float | Distribution) -> float:
    """Return the mean of a delay, s."""
    return delay.expected_s if isinstance(delay, Distribution) else delay
