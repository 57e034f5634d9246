"""Durations as people and tools write them: seconds, with a unit, or as days and a clock."""

import math
import re
from typing import Final

from cprsim.basics.tabular import number, shown
from cprsim.basics.units import parse_duration
from cprsim.errors import UnitError

_LONGEST = 80  # characters that an error shows whole
#: Slurm's 1-15:25:01, pandas' 1 days 15:25:01, Python's 1 day, 15:25:01, and 39:25:01.
CLOCK: Final = re.compile(
    r"(?:([0-9]{1,6})(?:-|\s*days?,?\s+))?([0-9]{1,6}):([0-5][0-9]):([0-5][0-9](?:\.[0-9]{1,9})?)"
)
_DAYS = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(?:d|days?)", re.IGNORECASE)
_DAY_S = 86_400.0


def seconds_of(text: str, unit_s: float = 1.0) -> float:
    """Return a duration in seconds; raise `UnitError` if it is none.

    Parameters
    ----------
    text
        A number, a number with a unit, or days and a clock.
    unit_s
        Seconds in a unit of a number that has none.
    """
    value, clock, days = number(text), CLOCK.fullmatch(text), _DAYS.fullmatch(text)
    if value is not None:
        value *= unit_s
    elif clock is not None:
        value = _DAY_S * int(clock[1] or 0) + 3600 * int(clock[2]) + 60 * int(clock[3])
        value += float(clock[4])
    elif days is not None:
        value = _DAY_S * float(days[1])
    elif len(text) > _LONGEST:
        raise UnitError(f"duration is {shown(text)}, not a duration")
    else:
        value = parse_duration(text)
    if not 0 <= value < math.inf:
        raise UnitError(f"duration is {shown(text)}; durations are finite and 0 s or longer")
    return value


def is_duration(text: str) -> bool:
    """Return whether a text is a duration."""
    try:
        seconds_of(text)
    except UnitError:
        return False
    return True
