"""Prices as people write them, `"2.5 USD/h"` or `"0.02 USD/GB/month"`, and per second and byte.

A currency is any three letters. What a price is for is a unit of a closed table, as all units are.
"""

import math
import re
from functools import partial
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, InstanceOf, PlainSerializer, WithJsonSchema

from cprsim.basics.schema import NUMBER, RANGE, UNIT
from cprsim.basics.units import BYTES, MOST, SECONDS
from cprsim.errors import UnitError

#: Hours in a month, as clouds bill them: 8,760 h of a year / 12.
MONTH_H = 730.0


class Price(NamedTuple):
    """An amount of a currency for one base unit: a second, a byte, or a byte kept for a second."""

    amount: float
    currency: str


class PricedUnits(NamedTuple):
    """Units of a price: each one's share of the price of one base unit, the usual first."""

    kind: str
    example: str
    factors: dict[str, float]


_TIMES_S = {
    **{unit: SECONDS[unit] for unit in ("h", "d")},
    "month": MONTH_H * SECONDS["h"],
    **{unit: SECONDS[unit] for unit in ("min", "s")},
}
_SIZES = {unit: BYTES[unit] for unit in ("GB", "TB", "PB", "MB", "kB", "B")} | BYTES
PER_TIME = PricedUnits(
    "a price per time", "2.5 USD/h", {unit: 1 / time_s for unit, time_s in _TIMES_S.items()}
)
PER_SIZE = PricedUnits(
    "a price per size", "0.01 USD/GB", {unit: 1 / size for unit, size in _SIZES.items()}
)
PER_SIZE_AND_TIME = PricedUnits(
    "a price per size and time",
    "0.02 USD/GB/month",
    {
        f"{unit}/{of_time}": 1 / (size * time_s)
        for of_time, time_s in _TIMES_S.items()
        for unit, size in _SIZES.items()
    },
)

_PRICE = re.compile(
    r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]{3})/([A-Za-z/]+)\s*", re.ASCII
)
_SHORT = 7  # letters of a number that people would write


def parse_price(text: object, units: PricedUnits) -> Price:
    """The price in `text`, e.g. `"2.5 USD/h"`; raise `UnitError` on anything else."""
    match = _PRICE.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[3] not in units.factors:
        raise UnitError(f'{text!r} is not {units.kind}: write one like "{units.example}"')
    amount = float(match[1]) * units.factors[match[3]]
    if not math.isfinite(amount):
        raise UnitError(f'{text!r} is not {units.kind}: write a finite one, e.g. "{units.example}"')
    if amount < 0:
        raise UnitError(f"{text!r} is out of range: it must be >= 0")
    if amount > MOST:  # the least is no fault: an amount for a byte and second is tiny
        raise UnitError(f"{text!r} is out of range: write {units.kind} of at most {MOST:g}")
    return Price(amount, match[2].upper())


def format_price(price: Price, units: PricedUnits) -> str:
    """A text that parses back to the very same price, in the first unit that makes it short."""
    for unit, factor in units.factors.items():
        number = f"{price.amount / factor:.9g}"
        if len(number) <= _SHORT and "e" not in number and float(number) * factor == price.amount:
            return f"{number} {price.currency}/{unit}"
    base = next(unit for unit, factor in units.factors.items() if factor == 1.0)
    return f"{price.amount!r} {price.currency}/{base}"


def _price(of: PricedUnits) -> tuple[BeforeValidator, PlainSerializer, WithJsonSchema]:
    described = {
        "type": "string",
        "pattern": rf"^\s*{NUMBER}\s*[A-Za-z]{{3}}/[A-Za-z/]+\s*$",
        UNIT: f"{of.kind}, in any currency",
        RANGE: ">= 0",
        "examples": [of.example],
    }
    return (
        BeforeValidator(partial(parse_price, units=of)),
        PlainSerializer(lambda price: format_price(price, of), return_type=str),
        WithJsonSchema(described),
    )


PricePerTime = Annotated[InstanceOf[Price], *_price(PER_TIME)]
PricePerSize = Annotated[InstanceOf[Price], *_price(PER_SIZE)]
PricePerSizeAndTime = Annotated[InstanceOf[Price], *_price(PER_SIZE_AND_TIME)]
