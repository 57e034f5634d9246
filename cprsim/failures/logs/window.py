"""Parts of a log: by shares of its time, or by dates."""

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from cprsim.errors import UsageError

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EXAMPLES = (
    'write two shares of the log, e.g. "0.5:1", or two dates, e.g. "2025-03-01:2025-06-01", of '
    "which either may be left out"
)


@dataclass(frozen=True)
class Dates:
    """From the beginning of the day `first` to the beginning of the day `last`.

    So windows that meet share no failure. None: from where the log begins, until it ends.
    """

    first: date | None
    last: date | None

    def __str__(self) -> str:
        """As `parse_window` takes it."""
        return f"{self.first or ''}:{self.last or ''}"

    @property
    def unix_s(self) -> tuple[float, float]:
        """When it begins and ends, seconds since 1970 on the log's own clock; infinite if open."""
        return (
            -math.inf if self.first is None else midnight(self.first),
            math.inf if self.last is None else midnight(self.last),
        )


#: Two shares of the time from the first failure to the last, or dates.
Window = tuple[float, float] | Dates


def parse_window(text: object) -> Window:
    """What e.g. `"0.5:1"` or `"2025-03-01:"` says; raise `UsageError` on anything else."""
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


def written(window: Window) -> str:
    """As `parse_window` takes it, with all digits."""
    return str(window) if isinstance(window, Dates) else "{!r}:{!r}".format(*window)


def shown(window: Window) -> str:
    """The same for people."""
    return str(window) if isinstance(window, Dates) else "{:g}:{:g}".format(*window)


def as_json(window: Window | None) -> list[float | str | None] | None:
    """Its two ends: shares, or dates of which one may be None."""
    if not isinstance(window, Dates):
        return None if window is None else [*window]
    return [None if each is None else each.isoformat() for each in (window.first, window.last)]


def midnight(day: date) -> float:
    """When a day begins, seconds since 1970 on a clock that knows no zones."""
    return datetime.combine(day, time(), UTC).timestamp()


def day_of(unix_s: float) -> date:
    """The day of an instant, on a clock that knows no zones."""
    return datetime.fromtimestamp(unix_s, UTC).date()
