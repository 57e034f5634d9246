"""Values as people write them for a sweep: `1 h,2 h`, `1 h:5 h:5`, `log(1 h, 100 h, 9)`."""

import math
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from cprsim.basics import units
from cprsim.basics.toml import parse_toml
from cprsim.basics.units import Units
from cprsim.errors import UnitError, UsageError

_CALL = re.compile(r"(lin|log)\s*\((.*)\)", re.DOTALL)
#: Three parts between colons, in no quotes, the last a whole number.
_COLONS = re.compile(r"^([^:\"']+):([^:\"']+):\s*([0-9]+)$")
_NUMBER = re.compile(r"[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: Text in quotes, a bracket, a comma: what matters for where a list is divided.
_MARKS = re.compile(r"\"[^\"]*\"?|'[^']*'?|[(\[{]|[)\]}]|,")
_SHARE = Units({"%": 1.0})
_MOST = 1_000_000


@dataclass(frozen=True)
class Range:
    """All values from `low` to `high`, evenly spread or evenly spread over their logarithms.

    Parameters
    ----------
    low, high
        Ends, in the base unit of `units`, or bare numbers.
    logarithmic
        Whether the spread is even over the logarithms.
    units
        Unit to its factor, for quantities; None for bare numbers.
    """

    low: float
    high: float
    logarithmic: bool
    units: Units | None

    def at(self, share: float, whole: bool) -> Any:
        """Return the value that is this share of the way, as a scenario file has it."""
        if self.logarithmic:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + share * (self.high - self.low)
        if whole:
            return round(value)
        value = float(f"{value:.12g}")  # 36000.000000000004 s would be a strange thing to read
        if self.units is None:
            return value
        return f"{value:.12g}%" if self.units is _SHARE else units.format_exact(value, self.units)


def expand(text: str, whole: bool, what: str) -> list[Any]:
    """Return the values of a text: parts between commas, each a value or `lin(...)` or `log(...)`.

    `LOW:HIGH:COUNT` is `lin(LOW, HIGH, COUNT)`.

    Parameters
    ----------
    text
        E.g. `"14 h,28 h"`. Values are TOML where they parse, else strings.
    whole
        Whether values of `lin` and `log` are rounded to whole numbers.
    what
        Whose values they are, for the fault.
    """
    values: list[Any] = []
    for part in _parts(text):
        call = _CALL.fullmatch(_COLONS.sub(r"lin(\1, \2, \3)", part))
        if call is None:
            values.append(_value(part, what))
            continue
        arguments = _parts(call[2])
        if len(arguments) != 3:
            raise UsageError(f"{what}: {part!r}: write {call[1]}(FIRST, LAST, HOW MANY)")
        found, count = _range(part, call[1], arguments[:2], what), arguments[2]
        if not re.fullmatch("[0-9]{1,9}", count) or not 1 <= int(count) <= _MOST:
            fault = f"{count!r} is not a number of values, 1 to {_MOST:,}"
            raise UsageError(f"{what}: {part!r}: {fault}")
        steps = int(count)
        if len(values) + steps > _MOST:
            raise UsageError(f"{what}: has {len(values) + steps:,} values, {_MOST:,} are the most")
        spread = [found.at(i / max(steps - 1, 1), whole) for i in range(steps)]
        values += dict.fromkeys(spread)  # whole numbers only once each
    return values


def parse_range(text: object, what: str) -> Range:
    """Return the range of a text such as `"log(1 h, 100 h)"`."""
    call = _CALL.fullmatch(text.strip()) if isinstance(text, str) else None
    arguments = _parts(call[2]) if call else []
    if call is None or len(arguments) != 2:
        raise UsageError(
            f'{what}: {text!r} is no range; write "lin(LOW, HIGH)" or "log(LOW, HIGH)"'
        )
    return _range(call[0], call[1], arguments, what)


def _range(text: str, kind: str, ends: list[str], what: str) -> Range:
    (low, low_units), (high, high_units) = (_quantity(end, text, what) for end in ends)
    if low_units is not high_units:
        raise UsageError(f"{what}: {text!r}: the ends are no quantities of one kind")
    if kind == "log" and not (low > 0 and high > 0):
        raise UsageError(f"{what}: {text!r}: logarithms need ends above 0; use lin")
    return Range(low, high, kind == "log", low_units)


def _quantity(text: str, whole: str, what: str) -> tuple[float, Units | None]:
    """Return the number in base units, and the units it is in."""
    number = text.removesuffix("%").strip()
    if _NUMBER.fullmatch(number) and math.isfinite(float(number)):
        return float(number), None if number == text else _SHARE
    for parse, table in (
        (units.parse_duration, units.SECONDS),
        (units.parse_bytes, units.BYTES),
        (units.parse_rate, units.BYTES_PER_SECOND),
    ):
        try:
            return parse(text), table
        except UnitError:
            continue
    raise UsageError(f'{what}: {whole!r}: {text!r} is no number or quantity, e.g. 8, "28 h", 25%')


def _value(text: str, what: str) -> Any:
    if not text:
        raise UsageError(f"{what}: a value is missing between commas")
    try:
        parsed = parse_toml(f"value = {text}", what)
    except tomllib.TOMLDecodeError:
        return text
    if len(parsed) != 1:
        raise UsageError(f"{what}: {text!r} is not one value")
    return parsed["value"]


def _parts(text: str) -> list[str]:
    """Divide a text at commas that are in no brackets and no quotes."""
    parts, depth, start = [], 0, 0
    for mark in _MARKS.finditer(text):
        depth += (mark[0] in "([{") - (mark[0] in ")]}")
        if mark[0] == "," and depth == 0:
            parts.append(text[start : mark.start()].strip())
            start = mark.end()
    return [*parts, text[start:].strip()]
