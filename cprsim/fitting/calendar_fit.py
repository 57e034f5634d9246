"""What a log says of failures by the clock and the days of the week."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from cprsim.failures.logs.log import FailureLog
from cprsim.survival.calendar_rates import CalendarRates, Cycle, calendar_rates

DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, eq=False)
class CalendarFit:
    """Rates of failures by hour and weekday; `zoned`: in UTC, else by a clock without a zone."""

    rates: CalendarRates
    zoned: bool

    @property
    def zone(self) -> str:
        """Whose hours these are."""
        return "UTC" if self.zoned else "the log's own clock"

    @property
    def notes(self) -> list[str]:
        """What patterns are beyond chance, a sentence each."""
        hours, days = self.rates.hours, self.rates.weekdays
        said = []
        if hours.is_sure and np.count_nonzero(hours.counts) > 1:  # else dates have no hours
            said.append(f"Failures follow the clock: {hours_told(hours)} ({self.zone}).")
        if days.is_sure:
            said.append(f"Failures follow the week: {days_told(days)} ({self.zone}).")
        return said

    def document(self) -> dict[str, Any]:
        """As one JSON object; times in seconds."""
        return {
            "zone": "UTC" if self.zoned else None,
            "hours": _document(self.rates.hours),
            "weekdays": _document(self.rates.weekdays),
        }


def calendar_fit(log: FailureLog) -> CalendarFit | None:
    """That of a log; None where it doesn't tell the date of its times, or lasts no time."""
    if log.epoch is None:
        return None
    zero_s = log.epoch.unix_s
    start_s = zero_s + log.start_s
    rates = calendar_rates(zero_s + log.times_s, start_s, start_s + log.span_s)
    return None if rates is None else CalendarFit(rates, log.epoch.zoned)


def hours_told(hours: Cycle) -> str:
    """The hours that stand out, and by how much."""
    first, last, ratio = hours.busiest
    return f"{first:02}:00-{last + 1:02}:00 has {ratio:.2g} times the rate of the other hours"


def days_told(days: Cycle) -> str:
    """The days that stand out, and by how much."""
    first, last, ratio = days.busiest
    which = DAYS[first] if first == last else f"{DAYS[first]} to {DAYS[last]}"
    return f"{which} {'has' if first == last else 'have'} {ratio:.2g} times the rate of other days"


def _document(cycle: Cycle) -> dict[str, Any]:
    first, last, ratio = cycle.busiest if cycle.is_sure else (0, 0, math.inf)
    busiest = {"first": first, "last": last, "ratio": ratio if math.isfinite(ratio) else None}
    return {
        "failures": cycle.counts.tolist(),
        "watched_s": cycle.watched_s.tolist(),
        "p": cycle.p,
        "follows": cycle.is_sure,
        "busiest": busiest if cycle.is_sure else None,
    }
