"""Values that a sweep varies: as people write them, such as `log(1 h, 100 h, 9)`, and in tables."""

import json
import math
import re
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics import units
from cprsim.basics.toml import parse_toml
from cprsim.basics.units import Units
from cprsim.errors import UnitError, UsageError


def _number(value: object, table: Units) -> float:
    """Return the number of base units; an interval may be none."""
    if table is _SHARE:
        return units.parse_share(value)
    return math.inf if table is units.SECONDS and value == "never" else units.parse(value, table)


_LONGEST = 10  # letters of a value


def si_column(key: str, values: list[Any]) -> tuple[str, NDArray[Any]]:
    """Return name and values of a column: quantities in SI units, numbers, or else texts."""
    for table in (*units.QUANTITIES, _SHARE):
        try:
            return f"{key}{table.suffix}", np.asarray([_number(value, table) for value in values])
        except UnitError:
            continue
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return key, np.asarray(values)
    return key, np.asarray([text_of(value) for value in values], dtype=object)


def text_of(value: Any) -> str:
    """Return a varied value as people write it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def where(values: Sequence[Any], value: Any) -> list[bool]:
    """Return which of the values is that one: `"14 h"` is `"50400 s"` as well."""
    _, (*column, wanted) = si_column("", [*values, value])
    text, texts = text_of(value), map(text_of, values)
    return [each == text or bool(si == wanted) for each, si in zip(texts, column, strict=True)]


def told_apart(values: Sequence[Any]) -> list[str]:
    """Return each in brief, or as given where two would be the same in brief."""
    texts, in_brief = ([each(value) for value in values] for each in (text_of, brief))
    return in_brief if len({*in_brief}) == len({*texts}) else texts


def brief(value: Any) -> str:
    """Return a value as given, but for long durations, such as `log` makes: three digits."""
    text = text_of(value)
    if len(text) > _LONGEST:
        with suppress(UnitError):
            return units.format_duration(units.parse_duration(text))
    return text


_CALL = re.compile(r"(lin|log)\s*\((.*)\)", re.DOTALL)
#: Three parts between colons, in no quotes, the last a whole number.
_COLONS = re.compile(r"^([^:\"']+):([^:\"']+):\s*([0-9]+)$")
_NUMBER = re.compile(r"[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: Text in quotes, a bracket, a comma: what matters for where a list is divided.
_MARKS = re.compile(r"\"[^\"]*\"?|'[^']*'?|[(\[{]|[)\]}]|,")
_SHARE = Units({"%": 1.0}, suffix="_share")
_MOST = 1_000_000


#: The value that is a share of the way along a range, as a scenario file has it; rounded if whole.
ValueAt = Callable[[float, bool], Any]


def expand(text: str, whole: bool, what: str) -> list[Any]:
    """Return the values of a text: parts between commas, each a value or `lin(...)` or `log(...)`.

    `LOW:HIGH:COUNT` is `lin(LOW, HIGH, COUNT)`. Values are TOML where they parse, else strings.
    `whole`: whether those of `lin` and `log` are rounded to whole numbers. `what`: whose values
    they are, for the fault.
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
        spread = [found(i / max(steps - 1, 1), whole) for i in range(steps)]
        values += dict.fromkeys(spread)  # whole numbers only once each
    return values


def parse_range(text: object, what: str) -> ValueAt:
    """Return the range of a text such as `"log(1 h, 100 h)"`."""
    call = _CALL.fullmatch(text.strip()) if isinstance(text, str) else None
    arguments = _parts(call[2]) if call else []
    if call is None or len(arguments) != 2:
        raise UsageError(
            f'{what}: {text!r} is no range; write "lin(LOW, HIGH)" or "log(LOW, HIGH)"'
        )
    return _range(call[0], call[1], arguments, what)


def _range(text: str, kind: str, ends: list[str], what: str) -> ValueAt:
    (low, of_low), (high, of_high) = (_quantity(end, text, what) for end in ends)
    if of_low is not of_high:
        raise UsageError(f"{what}: {text!r}: the ends are no quantities of one kind")
    if kind == "log" and not (low > 0 and high > 0):
        raise UsageError(f"{what}: {text!r}: logarithms need ends above 0; use lin")

    def at(share: float, whole: bool) -> Any:
        value = low * (high / low) ** share if kind == "log" else low + share * (high - low)
        if whole:
            return round(value)
        value = float(f"{value:.12g}")  # 36000.000000000004 s would be a strange thing to read
        if of_low is None:
            return value
        return f"{value:.12g}%" if of_low is _SHARE else units.format_exact(value, of_low)

    return at


def _quantity(text: str, whole: str, what: str) -> tuple[float, Units | None]:
    """Return the number in base units, and the units it is in."""
    number = text.removesuffix("%").strip()
    if _NUMBER.fullmatch(number) and math.isfinite(float(number)):
        return float(number), None if number == text else _SHARE
    try:
        return units.parse_quantity(text)
    except UnitError:
        fault = f'{text!r} is no number or quantity, e.g. 8, "28 h", 25%'
        raise UsageError(f"{what}: {whole!r}: {fault}") from None


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
