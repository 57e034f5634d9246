"""Options of a log: its columns, which records are failures, and which part to take."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import Field, ValidationError, model_validator

from cprsim.basics.schema import Section
from cprsim.errors import UsageError
from cprsim.errors import shown as in_quotes
from cprsim.failures.logs.words import WORDS, known_by

#: By what names a column goes, the likeliest first, of which the first is cprsim's own.
SYNONYMS: Final[dict[str, list[str]]] = WORDS["columns"]
_WHAT = {"time": "times", "node": "nodes"}
_Column = Annotated[str | None, Field(min_length=1, examples=["hostname"])]


class Columns(Section):
    """Names of the columns of a CSV log that are none of the known ones.

    `time`: the column that says when a node failed. `node`: that says which node. `end`: that says
    when the outage was over. `kind`: parameter server or trainer. `rack`: the rack
    of the node. `cause`: that says why it failed.
    """

    time: _Column = None
    node: _Column = None
    end: _Column = None
    kind: _Column = None
    rack: _Column = None
    cause: _Column = None

    @classmethod
    def of(cls, names: Mapping[str, object]) -> Self:
        """From a mapping, as a caller has it; raise `UsageError` if it makes no sense."""
        _check_keys(cls, "columns", names)
        for key, name in names.items():
            if not isinstance(name, str) or not name:
                raise UsageError(f"columns: {key} is {in_quotes(str(name))}; it is a column's name")
        return cls.model_validate(dict(names))

    def found(self, header: Sequence[str]) -> dict[str, str]:
        """The name in the header of each column that is given or, by `SYNONYMS`, known."""
        given = self.mapping()
        free = [name for name in header if name not in given.values()]
        return known_by(free, SYNONYMS) | given

    def needed(self, header: Sequence[str], *columns: str) -> dict[str, str]:
        """Return `found`; raise `LookupError` with the way out if one of `columns` isn't."""
        found = self.found(header)
        for column in columns:
            if column not in found:
                examples = " or ".join(SYNONYMS[column][:3:2])
                raise LookupError(
                    f"has no column of {_WHAT[column]}, such as {examples}; the header is "
                    f"{in_quotes(','.join(header))}; name it with --{column}-column "
                    "(in a scenario: failures.columns)"
                )
        return found


def _check_keys(options: type[Section], name: str, given: Mapping[str, object]) -> None:
    """Raise `UsageError` for a key that the options don't have."""
    for key in given:
        if key not in options.model_fields:
            known = ", ".join(options.model_fields)
            raise UsageError(f"{name} names {in_quotes(key)}; known: {known}")


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

    @classmethod
    def of(cls, key: str, text: str) -> Self:
        """Return that of COLUMN=VALUE, as the rule `key` has it; raise `ValueError` if it isn't."""
        column, mark, value = (part.strip() for part in text.partition("="))
        if not (column and mark and value):
            raise ValueError(f"{key} is {in_quotes(text)}; write COLUMN=VALUE, e.g. failure=1")
        return cls(column, value)

    def __str__(self) -> str:
        return f"{self.column}={self.value}"

    def holds(self, text: str) -> bool:
        """Return whether a cell has the value: the same text or number, or any if that is `*`."""
        if self.value == "*" or text.lower() == self.value.lower():
            return True
        try:
            return float(text) == float(self.value)
        except ValueError:
            return False


class Rules(Section):
    """Rules by which records of a log are failures, and the unit of its times.

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
        _check_keys(cls, "rules", named)
        unit = named.get("time_unit")
        if unit is not None and unit not in UNITS_S:
            known = ", ".join(UNITS_S)
            raise UsageError(f"time_unit is {in_quotes(str(unit))}; known units: {known}")
        try:
            return cls.model_validate(named)
        except ValidationError as error:
            raise UsageError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None

    @model_validator(mode="after")
    def _usable(self) -> Self:
        for key in ("failure_when", "left_when"):
            text = getattr(self, key)
            if text is not None and (key, text) != ("left_when", NEVER):
                Cell.of(key, text)
        for key in ("planned", "not_planned"):
            text = getattr(self, key)
            try:
                re.compile(text or "")
            except re.error as error:
                raise ValueError(
                    f"{key} is {in_quotes(text)}, not a regular expression: {error}"
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
        """The cell of rows that are failures; None where that is not said."""
        return None if self.failure_when is None else Cell.of("failure_when", self.failure_when)

    @property
    def leaving(self) -> Cell | None:
        """The cell of rows by which a node has left; None where that is not said."""
        never = self.left_when is None or self.left_when == NEVER
        return None if never else Cell.of("left_when", str(self.left_when))

    @property
    def unit_s(self) -> float | None:
        """Seconds in a unit of the log's times; None where that is not said."""
        return None if self.time_unit is None else UNITS_S[self.time_unit]


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EXAMPLES = (
    'write two shares of the log, e.g. "0.5:1", or two dates, e.g. "2025-03-01:2025-06-01", of '
    "which either may be left out"
)


class Dates(NamedTuple):
    """From the beginning of the day `first` to the beginning of the day `last`.

    So windows that meet share no failure. None: from where the log begins, until it ends.
    """

    first: date | None
    last: date | None

    @property
    def unix_s(self) -> tuple[float, float]:
        """The ends, seconds since 1970 on the log's own clock; infinite where it is open."""
        first, last = (
            end if day is None else datetime.combine(day, time(), UTC).timestamp()
            for day, end in zip(self, (-math.inf, math.inf), strict=True)
        )
        return first, last


#: Two shares of the time from the first failure to the last, or dates.
Window = tuple[float, float] | Dates


def parse_window(text: object) -> Window:
    """Parse e.g. `"0.5:1"` or `"2025-03-01:"`; raise `UsageError` on anything else."""
    parts = str(text).split(":")
    try:
        if len(parts) == 2 and any(map(_DATE.fullmatch, parts)):
            first, last = (date.fromisoformat(part) if part else None for part in parts)
            if first is None or last is None or first < last:
                return Dates(first, last)
        else:
            low, high = map(float, parts)
            if 0 <= low < high <= 1:
                return low, high
    except ValueError:
        pass
    raise UsageError(f"{text!r} is not a window: {_EXAMPLES}")


def written(window: Window, form: str = "{!r}") -> str:
    """Return the text that `parse_window` takes; shares in that form, by default all digits."""
    if isinstance(window, Dates):
        return ":".join(str(each or "") for each in window)
    return ":".join(form.format(share) for share in window)


def shown(window: Window) -> str:
    """The same for people."""
    return written(window, "{:g}")


def as_json(window: Window | None) -> list[Any] | None:
    """Its two ends: shares, or dates of which one may be None."""
    if window is None:
        return None
    return [each.isoformat() if isinstance(each, date) else each for each in window]


def day_of(unix_s: float) -> date:
    """The day of an instant, on a clock that knows no zones."""
    return datetime.fromtimestamp(unix_s, UTC).date()
