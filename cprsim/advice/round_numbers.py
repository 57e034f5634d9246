"""Round durations: those that people write."""

from collections.abc import Iterator
from typing import Final

_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86400.0
#: Durations in seconds, the roundest first.
_ROUND_S: Final = (
    (1, 10, _MINUTE_S, 10 * _MINUTE_S, _HOUR_S, 12 * _HOUR_S, _DAY_S, 10 * _DAY_S),
    (5, 30, 5 * _MINUTE_S, 30 * _MINUTE_S, 2 * _HOUR_S, 6 * _HOUR_S, 2 * _DAY_S, 5 * _DAY_S),
    (2, 20, 2 * _MINUTE_S, 15 * _MINUTE_S, 20 * _MINUTE_S, 3 * _HOUR_S, 4 * _HOUR_S, 8 * _HOUR_S),
    (3, 15, 3 * _MINUTE_S, 40 * _MINUTE_S, 45 * _MINUTE_S, 90 * _MINUTE_S, 3 * _DAY_S, 7 * _DAY_S),
    (4, 40, 4 * _MINUTE_S, 8 * _MINUTE_S, 25 * _MINUTE_S, 50 * _MINUTE_S, 5 * _HOUR_S),
    (6 * _MINUTE_S, 7 * _MINUTE_S, 12 * _MINUTE_S, 35 * _MINUTE_S, 10 * _HOUR_S, 16 * _HOUR_S),
)


def round_durations(least_s: float, most_s: float) -> Iterator[float]:
    """Yield the round durations from `least_s` to `most_s`, the roundest first."""
    for durations in _ROUND_S:
        yield from (each for each in durations if least_s <= each <= most_s)


def inner(least_s: float, most_s: float) -> tuple[float, float] | None:
    """Return the lowest and the highest round duration in a range; None for fewer than two."""
    within = sorted(round_durations(least_s, most_s))
    return (within[0], within[-1]) if len(within) > 1 else None
