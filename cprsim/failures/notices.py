"""Notices of failures: how a scenario says that failures are announced."""

import re
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, SerializationInfo, WithJsonSchema, WrapValidator

from cprsim.basics import units
from cprsim.basics.schema import PositiveSeconds, Section, text_of

_RATE_EXAMPLE = "1 / 10 d"
_RATE = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*/(.*)")


def _parse_rate(value: object, checked: Any) -> units.AsWritten:
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f'{value!r} is no number in a time: write e.g. "{_RATE_EXAMPLE}"')
    number, time_s = float(found[1]), units.parse_duration(found[2].strip())
    if not number > 0 or not time_s > 0:
        raise ValueError(f"{value!r} is out of range: both must be > 0; leave it out for none")
    return units.AsWritten(checked(time_s / number), str(value))


def _rate_text(every_s: float, info: SerializationInfo) -> str:
    found = text_of(units.SECONDS, every_s, info)
    return found if "/" in found else f"1 / {found}"


class Notices(Section):
    """Failures that are announced before they come (semantics 38).

    `lead`: how long before. `recall`: share of the failures that a notice comes before.
    `false_alarms`: how often one comes that no failure follows, a number in a time.
    """

    lead_s: PositiveSeconds = Field(alias="lead", examples=["120 s"])
    recall: Annotated[float, Field(ge=0, le=1, examples=[0.9])] = 1.0
    false_alarm_every_s: (
        Annotated[
            float,
            WrapValidator(_parse_rate),
            PlainSerializer(_rate_text, return_type=str),
            WithJsonSchema({"type": "string", "pattern": "/", "x-unit": "number / time"}),
        ]
        | None
    ) = Field(None, alias="false_alarms", examples=[_RATE_EXAMPLE])

    @property
    def false_alarms_per_s(self) -> float:
        """Return the rate of false alarms, 1/s."""
        return 0.0 if self.false_alarm_every_s is None else 1 / self.false_alarm_every_s
