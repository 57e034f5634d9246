"""Which records of a log are failures, as its owner says it."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import Field, ValidationError, model_validator

from cprsim.basics.schema import Section
from cprsim.basics.tabular import shown
from cprsim.errors import UsageError

#: Seconds in a unit of time, by the name that `time_unit` takes.
UNITS_S: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
}
NEVER: Final = "never"
_HIGHEST_XID = 9999
_Pair = Annotated[str | None, Field(examples=["failure=1"])]


class Cell(NamedTuple):
    """A column and the value that its cells are compared with, in any case."""

    column: str
    value: str

    def __str__(self) -> str:
        return f"{self.column}={self.value}"

    def holds(self, text: str) -> bool:
        """Return whether a cell has the value: the same text or number, or any if that is `*`."""
        if self.value == "*":
            return True
        return text.lower() == self.value.lower() or _as_number(text) == _as_number(self.value, "")


def _as_number(text: str, none: str | None = None) -> float | str | None:
    try:
        return float(text)
    except ValueError:
        return none


class Rules(Section):
    """Which records of a log are failures, and what its times are.

    `failure_when`: COLUMN=VALUE, the rows of a table that are failures. `left_when`: COLUMN=VALUE,
    the rows by which a node has left; of a Prometheus log, `never`: a node that vanishes has
    failed. `planned`, `not_planned`: regular expressions of the reasons of planned outages, and of
    those that are failures whatever else they say. `time_unit`: the unit of times that are numbers.
    `xids`: codes of Xids that are failures too.
    """

    failure_when: _Pair = None
    left_when: _Pair = None
    planned: Annotated[str | None, Field(examples=["firmware|lab move"])] = None
    not_planned: Annotated[str | None, Field(examples=["nvlink"])] = None
    time_unit: Literal["ns", "us", "ms", "s", "min", "h", "d"] | None = None
    xids: Annotated[tuple[int, ...], Field(strict=False, examples=[[31]])] | None = None

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """Return the rules that a caller gives; raise `UsageError` for one that is not usable."""
        named: dict[str, Any] = {key: each for key, each in given.items() if each not in (None, ())}
        for key in named:
            if key not in cls.model_fields:
                known = ", ".join(cls.model_fields)
                raise UsageError(f"rules names {shown(key)}; known: {known}")
        unit = named.get("time_unit")
        if unit is not None and unit not in UNITS_S:
            known = ", ".join(UNITS_S)
            raise UsageError(f"time_unit is {shown(str(unit))}; known units: {known}")
        try:
            return cls.model_validate(named)
        except ValidationError as error:
            raise UsageError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if self.failure_when is not None:
            _cell("failure_when", self.failure_when)
        if self.left_when not in (None, NEVER):
            _cell("left_when", str(self.left_when))
        for key in ("planned", "not_planned"):
            text = getattr(self, key)
            try:
                re.compile(text or "", re.IGNORECASE)
            except re.error as error:
                raise ValueError(
                    f"{key} is {shown(text)}, not a regular expression: {error}"
                ) from None
        for code in self.xids or ():
            if not 0 < code <= _HIGHEST_XID:
                raise ValueError(f"xids has {code}; a code is from 1 to {_HIGHEST_XID:,}")
        return self

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the rules that are given."""
        return tuple(name for name in type(self).model_fields if getattr(self, name))

    @property
    def failing(self) -> Cell | None:
        """What the rows of failures have; None where that is not said."""
        return None if self.failure_when is None else _cell("failure_when", self.failure_when)

    @property
    def leaving(self) -> Cell | None:
        """What the rows have by which a node has left; None where that is not said."""
        if self.left_when in (None, NEVER):
            return None
        return _cell("left_when", str(self.left_when))

    @property
    def unit_s(self) -> float | None:
        """Seconds in a unit of the log's times; None where that is not said."""
        return None if self.time_unit is None else UNITS_S[self.time_unit]


def _cell(key: str, text: str) -> Cell:
    column, mark, value = (part.strip() for part in text.partition("="))
    if not (column and mark and value):
        raise ValueError(f"{key} is {shown(text)}; write COLUMN=VALUE, e.g. failure=1")
    return Cell(column, value)
