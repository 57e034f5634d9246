"""Times as people write them: seconds, epoch seconds and their parts, ISO 8601, digits."""

import math
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
import pandas as pd

from cprsim.basics.tabular import number
from cprsim.errors import LogError
from cprsim.failures.logs.options import UNITS_S
from cprsim.failures.logs.table import parsed, seconds
from cprsim.survival.sample import Floats

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
NUMBER, _ZONED, _LOCAL = "a number", "a date with a zone", "a date without a zone"


class _Unit(NamedTuple):
    """A unit of numbers beyond `beyond`: `a_second` of them make a second."""

    beyond: float
    a_second: float
    name: str


#: The name of dates of digits alone, such as 20260503.
DIGITS = "dates in digits"
_SECONDS = _Unit(0.0, 1.0, "seconds")
_ISO = _Unit(0.0, 1e6, "ISO 8601")
#: 1e8 s are three years of a log that counts from its start, and March 1973 as epoch seconds.
_EPOCHS = (
    _Unit(1e17, 1e9, "epoch nanoseconds"),
    _Unit(1e14, 1e6, "epoch microseconds"),
    _Unit(1e11, 1e3, "epoch milliseconds"),
    _Unit(1e8, 1.0, "epoch seconds"),
)
_FIRST_DATE_S, LAST_DATE_S = 6.3e8, 4_102_444_800.0  # 1990 and 2100, in seconds since 1970
_FIRST_YEAR, _LAST_YEAR = 1990, 2100
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
#: Of dates that are digits alone, by how many there are.
_DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_LONGEST_S = 1e9  # that a log which counts from its start lasts: 32 years


class Times(NamedTuple):
    """Times of a table and their ends in seconds, and what they were.

    Dates count from the first, which is `unix_s` since 1970; None where times are no dates. An end
    that isn't known is nan.
    """

    starts_s: Floats
    ends_s: Floats
    notation: str
    unix_s: float | None


def read_times(
    table: pd.DataFrame,
    start: str,
    end: str | None = None,
    *,
    plain: bool = False,
    unit: str | None = None,
) -> Times:
    """Read a column of times and one of ends, all in one notation.

    `plain`: whether all are seconds, whatever their size, and none is a date. `unit`: that of times
    that are numbers, a key of `UNITS_S`; None where the user gives none. Raises `LogError` if one
    is none, in another notation, or of another unit.
    """
    first_told = ""
    in_digits = not plain and unit is None and all(map(_is_day, table[start]))

    def value(text: str) -> float:
        """A plain number, or whole microseconds since 1970 of a date: nothing is rounded yet."""
        nonlocal first_told
        if plain or (number(text) is not None and not in_digits):
            found, told = seconds(text), NUMBER
        else:
            found, told = microseconds(text)
            if unit is not None:
                raise ValueError(", a date; time_unit goes with times that are numbers")
        first_told = first_told or told
        if told != first_told:
            raise ValueError(f", {told}, but the first time is {first_told}; write all alike")
        return found

    when = parsed(table, start, value)
    until = (
        np.full(len(when), math.nan) if end is None else parsed(table, end, value, may_lack=True)
    )
    first, last = float(when.min()), float(when.max())
    if unit is not None:  # since 1970, or since the log's start
        unit_s, dated = UNITS_S[unit], _FIRST_DATE_S < first * UNITS_S[unit] < LAST_DATE_S
        zero, since_s = (first, first * unit_s) if dated else (0.0, None)
        when, until = (when - zero) * unit_s, (until - zero) * unit_s
        return Times(when, until, f"{unit}, as you say", since_s)
    of_times = _ISO
    if first_told == NUMBER:
        try:
            of_times = _SECONDS if plain else unit_of(first, last)
        except LogError as error:
            raise LogError(f"{table.attrs['path']}: {error}") from None
    if of_times is _SECONDS:
        return Times(when, until, of_times.name, None)
    of_ends = of_times if of_times is _ISO else _of_ends(until) or of_times
    # In the very unit of the ends, where it is the same: nothing is rounded then.
    began = first if of_ends is of_times else first / of_times.a_second * of_ends.a_second
    name = DIGITS if in_digits else of_times.name
    return Times(
        (when - first) / of_times.a_second,
        (until - began) / of_ends.a_second,
        f"{name}, taken for UTC" if first_told == _LOCAL else name,
        first / of_times.a_second,
    )


def unit_of(first: float, last: float) -> _Unit:
    """Return the unit of numbers, by the smallest and the largest."""
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


def _epoch(value: float) -> _Unit | None:
    """Return the unit of a number since 1970, by its size; None where it counts from a start."""
    return next((unit for unit in _EPOCHS if value > unit.beyond), None)


def _of_ends(until: Floats) -> _Unit | None:
    """Return the unit in which some ends are dates; None where none is.

    An end that means none, such as the last second of 9999, is no date in any unit.
    """
    for unit in _EPOCHS:
        since_s = until / unit.a_second
        if np.any((since_s > _FIRST_DATE_S) & (since_s < LAST_DATE_S)):
            return unit
    return None


def microseconds(text: str) -> tuple[float, str]:
    """Return those from 1970 to a date, and whether it has a zone."""
    date = _date(text)
    if date is None:
        raise ValueError(
            ", not a time; write seconds, epoch seconds or milliseconds, or ISO 8601 "
            "such as 2026-05-03T14:00:00Z"
        )
    told = _LOCAL if date.tzinfo is None else _ZONED
    zoned = date.replace(tzinfo=UTC) if date.tzinfo is None else date
    return float((zoned - _EPOCH) // _MICROSECOND), told


def _date(text: str) -> datetime | None:
    """Return the date of a text that leaves no doubt which day it is; None of any other."""
    day = _day(text)
    if day is not None:
        return day
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


def _day(text: str) -> datetime | None:
    """Return the date of digits such as 20260503 or 20260503140000; None of any other text."""
    if len(text) in _DIGITS and text.isascii() and text.isdecimal():
        with suppress(ValueError):
            return datetime.strptime(text, _DIGITS[len(text)])
    return None


def _is_day(text: str) -> bool:
    """Return whether a text is digits that are a date of a log."""
    date = _day(text)
    return date is not None and _FIRST_YEAR <= date.year <= _LAST_YEAR
