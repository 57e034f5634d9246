"""Columns of a table for what a sweep varies."""

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics import units
from cprsim.errors import UnitError


def _seconds(value: object) -> float:
    """Return seconds of a duration, or of an interval that is none."""
    return math.inf if value == "never" else units.parse_duration(value)


# What parses all values of a column, and how its name then ends.
_KINDS = (
    (_seconds, "_s"),
    (units.parse_bytes, "_bytes"),
    (units.parse_rate, "_bytes_per_s"),
    (units.parse_share, "_share"),
)

_LONGEST = 10  # letters of a value


def si_column(key: str, values: list[Any]) -> tuple[str, NDArray[Any]]:
    """Return name and values of a column: quantities in SI units, numbers, or else texts."""
    for parse, suffix in _KINDS:
        try:
            return f"{key}{suffix}", np.asarray([parse(value) for value in values])
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
