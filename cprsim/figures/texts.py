"""Numbers, shares, durations and names as people read them."""

import math
import re
from collections.abc import Sequence
from textwrap import fill
from typing import Final

from cprsim.basics import units
from cprsim.basics.units import SECONDS

#: Below this a share is rounding: ledgers add up to no more than that.
NOTHING: Final = 1e-9
YEAR_S: Final = 365.25 * SECONDS["d"]
#: Units of durations, and from how many on each is used.
_UNITS: Final = {
    "years": (YEAR_S, 2),
    "d": (SECONDS["d"], 4),
    "h": (SECONDS["h"], 1),
    "min": (SECONDS["min"], 1),
    "s": (1.0, 0),
}
#: Width of a letter, as a share of its size.
LETTER: Final = 0.62
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def unit_of(seconds: float) -> tuple[str, float]:
    """Return the unit in which people give such a duration, and its seconds."""
    return next((u, factor) for u, (factor, least) in _UNITS.items() if seconds >= least * factor)


def duration(seconds: float) -> str:
    """Return a duration for people, with three significant digits; also years, and any size."""
    unit, factor = unit_of(seconds)
    return f"{number(seconds / factor)} {unit}"


def number(value: float) -> str:
    """Return three significant digits, all from 1,000 to a million; powers of ten beyond."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return power if mantissa == "1" else f"{mantissa}×{power}"


def percent(share: float, half_width: float = math.nan) -> str:
    """Return a share for people: `"8.38 % ± 0.10"`; the half width of its interval if finite."""
    value = 100 * share
    places = 0
    if value:  # three significant digits, or two below 0.1; four places at most
        magnitude = math.floor(math.log10(value))
        places = min(max(2 - max(magnitude, 0), 1 - magnitude, 0), 4) if magnitude < 2 else 0
    least = 10.0**-places
    text = f"{value:.{places}f} %" if value >= least or value == 0 else f"<{least:.{places}f} %"
    if not math.isfinite(half_width):
        return text
    half = f"{100 * half_width:.{places}f}"
    if half_width > 0 and float(half) == 0:
        half = f"<{least:.{places}f}"
    return f"{text} ± {half}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return names in words, `"a, b and c"`; beyond `most` the others are counted."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return units.listed(names) if names else ""


def wrapped(text: str, letters: int) -> str:
    """Return the text in lines of so many letters; a number stays with its unit."""
    text = re.sub(r"(?<=\d) (?=%|(?:years|[smhd]|min|GB|TB|of)\b)", "\u00a0", text)
    return fill(text, letters)


def short(text: str, letters: int) -> str:
    """Return the first letters of a text that is longer."""
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"
