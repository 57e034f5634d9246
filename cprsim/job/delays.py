"""Delays: the same each time, or by a law."""

from typing import Annotated

from pydantic import BeforeValidator, Discriminator, PlainSerializer, Tag, WithJsonSchema

from cprsim.basics import units
from cprsim.basics.distributions import Distribution
from cprsim.basics.schema import VARIANTS, written_as


def _parse_duration(value: object) -> float:
    delay_s = units.parse_duration(value)
    if delay_s < 0:
        raise ValueError(f"{value!r} is out of range: it must be >= 0")
    return delay_s


#: A delay: the same each time, s, or a distribution of it.
Delay = Annotated[
    Annotated[
        float,
        BeforeValidator(_parse_duration),
        PlainSerializer(lambda v: units.format_exact(v, units.SECONDS)),
        WithJsonSchema(written_as(units.SECONDS, "time", "20 min")),
        Tag(VARIANTS[0]),
    ]
    | Annotated[Distribution, PlainSerializer(Distribution.mapping), Tag(VARIANTS[1])],
    Discriminator(lambda value: VARIANTS[isinstance(value, dict | Distribution)]),
]
