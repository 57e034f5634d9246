"""Means with their intervals, as tables and sentences of an answer write them."""

import math
from typing import TYPE_CHECKING

from cprsim.basics.units import percent
from cprsim.runs.selection.intervals import ROUNDING

if TYPE_CHECKING:
    from cprsim.runs.summaries import Mean


def amount(money: float) -> str:
    """An amount of money in three digits, or all before the point."""
    return f"{money:,.0f}" if money >= 100 else f"{money:.3g}"


def half_width(mean: "Mean") -> str:
    """Half the interval; with a plus where it reaches farther up, for a loss that wasn't met."""
    up, down = mean.high - mean.mean, mean.mean - mean.low
    return f"+{percent(up)}" if up > down + ROUNDING else percent(up)


def share_and_half(mean: "Mean") -> str:
    """A share in percent, with half its interval and its sign where that is known."""
    if math.isnan(mean.high):
        return percent(mean.mean)
    half = half_width(mean)
    return f"{percent(mean.mean)} {half if half.startswith('+') else f'±{half}'}"


def money_between(mean: "Mean") -> str:
    """An amount of money with its interval."""
    cost, low, high = map(amount, mean)
    return f"{cost} ({low} to {high})"


def share_between(mean: "Mean") -> str:
    """A share in percent, with its interval."""
    return f"{percent(mean.mean)} % ({percent(mean.low)} to {percent(mean.high)})"
