"""Times as people write them: seconds, epoch seconds and their parts, ISO 8601."""

import math
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.tabular import number
from cprsim.errors import LogError
from cprsim.failures.logs.log import Epoch
from cprsim.failures.logs.options import UNITS_S
from cprsim.failures.logs.table import LogTable, seconds

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NUMBER, _ZONED, _LOCAL = "a number", "a date with a zone", "a date without a zone"


class _Unit(NamedTuple):
    """A unit of numbers beyond `beyond`: `a_second` of them make a second."""

    beyond: float
    a_second: float
    name: str


_SECONDS = _Unit(0.0, 1.0, "seconds")
_ISO = _Unit(0.0, 1e6, "ISO 8601")
#: 1e8 s are three years of a log that counts from its start, and March 1973 as epoch seconds.
_EPOCHS = (
    _Unit(1e17, 1e9, "epoch nanoseconds"),
    _Unit(1e14, 1e6, "epoch microseconds"),
    _Unit(1e11, 1e3, "epoch milliseconds"),
    _Unit(1e8, 1.0, "epoch seconds"),
)
_FIRST_DATE_S, _LAST_DATE_S = 6.3e8, 4.1e9  # 1990 and 2100, in seconds since 1970
_LATEST_START_S = 1e9  # 2001
_ZONE = re.compile(r"\s*(UTC|GMT|Z)$")
_YEAR_FIRST = re.compile(r"[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}\b")
_DASHED = re.compile(r"[0-9]{1,2}-[A-Za-z]{3}-[0-9]{4}")
_WEEKDAY = re.compile(r"^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+", re.IGNORECASE)
_DAYS = ("%d %b %Y %H:%M", "%b %d %Y %H:%M", "%d %B %Y %H:%M", "%B %d %Y %H:%M")
#: With a month that has a name, or points; no two people read 03/04/2025 alike.
_FORMS = (
    *(f"{day}{rest}" for day in _DAYS for rest in ("", ":%S", ":%S%z", ":%S %z", ":%S.%f")),
    *("%b %d %H:%M:%S %Y", "%d %b %Y", "%b %d %Y"),
    *("%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y"),
)
_LONGEST_S = 1e9  # that a log which counts from its start lasts: 32 years


class Placed(NamedTuple):
    """Times and ends in seconds, what they were, and what instant second 0 is."""

    times_s: NDArray[np.float64]
    ends_s: NDArray[np.float64]
    notation: str
    epoch: Epoch | None


class LogClock:
    """Reads the times of one file, all in one notation.

    Times are plain numbers, or whole microseconds since 1970 where they are dates, until
    they are `placed`, so that nothing is rounded before the first one is taken off. `plain`:
    whether all are seconds, whatever their size, and none is a date. `unit_s`: seconds in the unit
    of times that are numbers; None where the user gives no unit.
    """

    def __init__(self, plain: bool, unit_s: float | None = None) -> None:
        self.plain, self.unit_s = plain, unit_s
        self._notation: str | None = None

    def read(self, table: LogTable, column: str, *, may_lack: bool = False) -> NDArray[np.float64]:
        """The time in each cell, nan where one that isn't known is allowed.

        Raises `LogError` if one is none, or in another notation.
        """
        return table.parsed(column, self._time, may_lack=may_lack)

    def _time(self, text: str) -> float:
        if self.plain or number(text) is not None:
            value, notation = seconds(text), _NUMBER
        else:
            date = _parsed_date(text)
            if date is None:
                raise ValueError(
                    ", not a time; write seconds, epoch seconds or milliseconds, or ISO 8601 "
                    "such as 2026-05-03T14:00:00Z"
                )
            if self.unit_s is not None:
                raise ValueError(", a date; time_unit goes with times that are numbers")
            notation = _LOCAL if date.tzinfo is None else _ZONED
            zoned = date.replace(tzinfo=UTC) if date.tzinfo is None else date
            value = float((zoned - _EPOCH) // _MICROSECOND)
        self._notation = self._notation or notation
        if notation != self._notation:
            raise ValueError(
                f", {notation}, but the first time is {self._notation}; write all alike"
            )
        return value

    def placed(self, when: NDArray[np.float64], until: NDArray[np.float64]) -> Placed:
        """Times and ends in seconds; absolute ones count from the first time.

        Raises `LogError` if numbers are of different units.
        """
        first = float(when.min())
        if self.unit_s is not None:  # which the user gives: since 1970, or since the log's start
            unit_s, zero, epoch = self.unit_s, 0.0, None
            if _FIRST_DATE_S < first * unit_s < _LAST_DATE_S:
                zero, epoch = first, Epoch(first * unit_s, zoned=True)
            told = next(name for name, seconds in UNITS_S.items() if seconds == unit_s)
            return Placed(
                (when - zero) * unit_s, (until - zero) * unit_s, f"{told}, as you say", epoch
            )
        unit = _SECONDS if self.plain else self._unit(first, float(when.max()))
        if unit is _SECONDS:
            return Placed(when, until, unit.name, None)
        latest = float(np.fmax.reduce(until, initial=-math.inf))
        of_ends = unit if unit is _ISO else _epoch(latest) or unit
        # In the very unit of the ends, where it is the same: nothing is rounded then.
        began = first if of_ends is unit else first / unit.a_second * of_ends.a_second
        zoned = self._notation != _LOCAL
        return Placed(
            (when - first) / unit.a_second,
            (until - began) / of_ends.a_second,
            unit.name if zoned else f"{unit.name}, taken for UTC",
            Epoch(first / unit.a_second, zoned),
        )

    def _unit(self, first: float, last: float) -> _Unit:
        if self._notation != _NUMBER:
            return _ISO
        early, late = _epoch(first), _epoch(last)
        if early is late or (early is None and last <= _LONGEST_S):
            return early or _SECONDS
        # No log has dates before 2001: such times more likely count from a start.
        is_start = early is None and late is not None and last / late.a_second < _LATEST_START_S
        way_out = "give their unit with --time-unit" if is_start else "write all alike"
        raise LogError(
            f"mixes units: its times go from {first:.10g} to {last:.10g}, "
            f"{(early or _SECONDS).name} to {(late or _SECONDS).name}; {way_out}"
        )


def _parsed_date(text: str) -> datetime | None:
    """Return the date of a text that leaves no doubt which day it is; None of any other."""
    plain = _ZONE.sub("+00:00", text.strip())
    with suppress(ValueError):
        return datetime.fromisoformat(
            plain.replace("/", "-") if _YEAR_FIRST.match(plain) else plain
        )
    named = (
        _WEEKDAY.sub("", plain).replace(",", " ").replace("-", " ", 2 * bool(_DASHED.match(plain)))
    )
    for form in _FORMS:
        with suppress(ValueError):
            return datetime.strptime(" ".join(named.split()), form)
    return None


def _epoch(value: float) -> _Unit | None:
    """Return the unit of a number since 1970, by its size; None where it counts from a start."""
    return next((unit for unit in _EPOCHS if value > unit.beyond), None)
