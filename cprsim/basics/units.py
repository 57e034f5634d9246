"""Quantities as people write them, and the SI floats that the code works with.

`"28 h"` -> `100800.0` s, `"1.5 GB/s"` -> `1.5e9` B/s, and back. The table of units is closed: an
unknown unit, a missing unit, and what may be two things are errors: a lone `m` (minutes? metres?
months?), a lone `G` (bits? bytes?). Other usual names, `200 days` and `100 Gb/s`, are read and
never written.
"""

import math
import re
from collections.abc import Sequence
from contextlib import suppress

from cprsim.errors import UnitError


class Units(dict[str, float]):
    """Units of one kind, each with how many of the base unit it is; not to be changed.

    `others`: what else people call them. `kind`, `example`: what they measure, and a quantity, as
    faults name them. `suffix`: how names of numbers of the base unit end.
    """

    def __init__(
        self,
        factors: dict[str, float],
        others: dict[str, str] | None = None,
        kind: str = "",
        example: str = "",
        suffix: str = "",
    ) -> None:
        super().__init__(factors)
        self.kind, self.example, self.suffix = kind, example, suffix
        self.others = {name: factors[unit] for name, unit in (others or {}).items()}
        #: The unit whose factor is 1, and all of them, the largest first.
        self.base = next((unit for unit, factor in factors.items() if factor == 1.0), "")
        self.largest_first = sorted(factors.items(), key=lambda item: -item[1])


class AsWritten(float):
    """A number of base units that knows how it was written, `"25 Gbit/s"`.

    What is worked out of it is a plain number.
    """

    __slots__ = ("text",)

    text: str

    def __new__(cls, value: float, text: str) -> "AsWritten":
        """So much, written so."""
        made = super().__new__(cls, value)
        made.text = text
        return made

    def __reduce__(self) -> tuple[type["AsWritten"], tuple[float, str]]:
        return AsWritten, (float(self), self.text)


SECONDS = Units(
    {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0},
    {
        **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
        **dict.fromkeys(("mins", "minute", "minutes"), "min"),
        **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
        **dict.fromkeys(("day", "days"), "d"),
    },
    "duration",
    "28 h",
    "_s",
)
BYTES = Units(
    {
        "B": 1.0,
        "kB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "TB": 1e12,
        "PB": 1e15,
        "KiB": 2.0**10,
        "MiB": 2.0**20,
        "GiB": 2.0**30,
        "TiB": 2.0**40,
    },
    kind="size",
    example="2.16 GB",
    suffix="_bytes",
)
BYTES_PER_SECOND = Units(
    {
        **{f"{unit}/s": factor for unit, factor in BYTES.items()},
        "bit/s": 1 / 8,
        "kbit/s": 1e3 / 8,
        "Mbit/s": 1e6 / 8,
        "Gbit/s": 1e9 / 8,
        "Tbit/s": 1e12 / 8,
    },
    # A small b is a bit, a large one a byte.
    {
        name.format(prefix): f"{prefix}bit/s"
        for prefix in ("", "k", "M", "G", "T")
        for name in ("{}b/s", "{}bps", "{}bits/s")
    },
    "rate",
    "1.5 GB/s",
    "_bytes_per_s",
)
#: What a value of a scenario may be where any quantity goes.
QUANTITIES = (SECONDS, BYTES, BYTES_PER_SECOND)

WATTS = Units({"W": 1.0, "kW": 1e3, "MW": 1e6}, kind="power", example="0.6 kW")
KG_PER_KWH = Units({"g/kWh": 1e-3, "kg/kWh": 1.0}, kind="carbon intensity", example="0.4 kg/kWh")

#: Least and most of a number that is not 0, in SI units: with these, products, ratios and squares
#: of several numbers are numbers that floats hold, neither 0 nor infinite.
LEAST, MOST = 1e-15, 1e24

_PREFIXES = ("k", "K", "M", "G", "T", "P")
_QUANTITY = re.compile(
    r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z/]*)\s*", re.ASCII
)


def parse_duration(text: object) -> float:
    """Seconds in `text`, e.g. `"28 h"`; raise `UnitError` on anything else, as `parse` does."""
    return parse(text, SECONDS)


def parse_quantity(text: object) -> tuple[float, Units]:
    """Base units in a text of one of `QUANTITIES`, and which; `UnitError` on anything else."""
    for table in QUANTITIES:
        with suppress(UnitError):
            return parse(text, table), table
    raise UnitError(f"{text!r} is no duration, size or rate")


def parse_part(value: object) -> object:
    """A number as it is, or that of a percentage: `0.02` of `"2 %"`; anything else as it is."""
    if isinstance(value, str) and value.strip().endswith("%"):
        with suppress(ValueError):
            return float(value.strip()[:-1]) / 100
    return value


def parse_share(text: object) -> float:
    """The share, 0 to 1, in a percentage such as `"25%"`."""
    if isinstance(text, str) and text.strip().endswith("%"):
        try:
            share = float(text.strip()[:-1]) / 100
        except ValueError:
            share = math.nan
        if 0 <= share <= 1:
            return share
    raise UnitError(f'{text!r} is not a share: write a percentage from 0% to 100%, e.g. "25%"')


def format_share(share: float) -> str:
    """A percentage that parses back to the very same share: `"25%"`."""
    percent = share * 100
    near = (round(percent, 9), percent, math.nextafter(percent, 0), math.nextafter(percent, 200))
    texts = [f"{each:.12g}%" if each == round(each, 9) else f"{each:.17g}%" for each in near]
    return next((text for text in texts if parse_share(text) == share), texts[1])


def is_in_range(value: float) -> bool:
    """Return whether a number is 0, or neither too small nor too large to compute with."""
    return value == 0 or LEAST <= abs(value) <= MOST


def parse(text: object, table: Units, limited: bool = False) -> float:
    """Return how many of a table's base unit a text has; raise `UnitError` on anything else.

    `limited`: also on what is not `is_in_range`.
    """
    kind, example = table.kind, table.example
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise UnitError(f'{text!r} is not a {kind}: write a string with a unit, e.g. "{example}"')
    if not isinstance(text, str):
        if not math.isfinite(text):
            raise UnitError(f'{text} is not a {kind}: write a finite one, e.g. "{example}"')
        if 0 < abs(text) < 1000:  # a number that people would write
            example = f"{text:g} {example.split()[1]}"
        raise UnitError(f'{text} has no unit: write a string with one, e.g. "{example}"')
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise UnitError(f'{text!r} is not a {kind}: write a number and a unit, e.g. "{example}"')
    number, unit = match.groups()
    factor = table.get(unit) or table.others.get(unit)
    if factor is None:
        raise UnitError(_unknown_unit(text, number, unit, table))
    value = float(number) * factor
    if not math.isfinite(value):
        raise UnitError(f'{text!r} is not a {kind}: write a finite one, e.g. "{example}"')
    if limited and not is_in_range(value):
        ends = f"from {LEAST:g} to {MOST:g} {table.base}"
        raise UnitError(f'{text!r} is out of range: write a {kind} {ends}, e.g. "{example}"')
    return value


def _unknown_unit(text: str, number: str, unit: str, table: Units) -> str:
    if not unit:
        return f'{text!r} has no unit: write one, e.g. "{number} {table.example.split()[1]}"'
    if unit == "m" and table is SECONDS:
        return f'{text!r}: a lone "m" is ambiguous; write "{number} min" for minutes'
    if unit in _PREFIXES and table is BYTES:
        return f'{text!r}: a lone "{unit}" is a prefix; write "{number} {unit}B" for bytes'
    if unit in _PREFIXES and table is BYTES_PER_SECOND:
        bits, size = f"{number} {unit}bit/s", f"{number} {unit}B/s"
        return f'{text!r}: a lone "{unit}" is ambiguous; write "{bits}" as of a card, or "{size}"'
    units = " ".join(table)
    return f"{text!r} has an unknown unit {unit!r} for a {table.kind}: use one of {units}"


def format_exact(value: float, table: Units) -> str:
    """A text of `value` that parses back to the very same float.

    In the largest unit that gives a short number of at least 1, else in the base unit.
    """
    size = abs(value)
    for unit, factor in table.largest_first:
        if size >= factor:
            number = f"{value / factor:.9g}"
            if len(number) <= _SHORT and float(number) * factor == value:
                short = len(number.strip("-")) < _SHORT and "e" not in number
                if short:
                    return f"{number} {unit}"
    number = f"{value:.12g}"
    return f"{number if float(number) == value else repr(value)} {table.base}"


def format_duration(seconds: float) -> str:
    """`seconds` for people, three significant digits in the unit that fits: `"2.29 h"`.

    No time at all is `"0 s"`, one that doesn't end `"never"`.
    """
    if math.isnan(seconds):
        return "?"
    if math.isinf(seconds):
        return "never"
    size = float(f"{abs(seconds):.3g}")  # 59.96 s are a minute
    for unit, from_s in _DURATIONS:
        if size >= from_s:
            shown = math.copysign(max(abs(seconds), from_s), seconds)
            return f"{_three_digits(shown / SECONDS[unit])} {unit}"
    return f"{_three_digits(seconds / SECONDS['ms'])} ms" if size >= _LEAST_S else "0 s"


def format_durations(low_s: float, high_s: float) -> str:
    """The ends of an interval, the unit once where it is one: `"17.2 to 21.6 h"`."""
    low, high = format_duration(low_s), format_duration(high_s)
    number, _, unit = low.partition(" ")
    return f"{number if unit and high.endswith(f' {unit}') else low} to {high}"


def format_bytes(size: float) -> str:
    """`size` for people, three significant digits in the decimal unit that fits: `"2.16 GB"`."""
    if math.isnan(size):
        return "?"
    for unit in ("PB", "TB", "GB", "MB", "kB"):
        if float(f"{abs(size):.3g}") >= BYTES[unit]:
            return f"{_three_digits(size / BYTES[unit])} {unit}"
    return f"{_three_digits(size)} B"


def percent(share: float) -> str:
    """A share as a number of percent, two decimals, one digit where that would show nothing.

    What is but rounding is nothing.
    """
    if abs(share) < _LEAST_SHARE:
        return "0"
    size = abs(100 * share)
    return f"{100 * share:,.2f}" if size >= 0.01 else f"{100 * share:.1g}"


def format_percent(share: float) -> str:
    """The same with its sign: `"2.29 %"`."""
    return f"{percent(share)} %"


def counted(count: int, noun: str) -> str:
    """`"1 point"`, `"2,400 points"`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def listed(names: Sequence[str]) -> str:
    """`"a"`, `"a and b"`, `"a, b and c"`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def rough_percent(share: float) -> str:
    """A share that is but about so: two digits, whole from 10 on: `"38 %"`."""
    return f"{100 * share:,.0f} %" if abs(share) >= 0.0995 else f"{100 * share:.2g} %"


#: Units of durations, and from how many seconds on people take them.
_DURATIONS = (("d", 4 * 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 0.1))
#: Less is rounding.
_LEAST_S = _LEAST_SHARE = 1e-9
_IMMENSE = 1e9
_SHORT = 7  # letters of a number with its sign that people would write


def _three_digits(value: float) -> str:
    """Three significant digits; whole numbers from 100 on are kept whole, but for immense ones."""
    if abs(value) >= _IMMENSE:
        return f"{value:.2e}"
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


#: Amounts from which on cents are left out, unless the interval is as narrow.
_LARGE_AMOUNT = 1e3


def format_amount(mean: float, half: float) -> str:
    """An amount of money or the like, with half its interval where there is one."""
    if half <= abs(mean) * 1e-9:
        half = 0.0  # it was rounding
    digits = 0 if abs(mean) >= _LARGE_AMOUNT and not 0 < half < 1 else 2
    shown = f"{mean:,.{digits}f}"
    return shown if math.isnan(half) else f"{shown} ±{half:,.{digits}f}"
