"""Published numbers with measured ones, as docs/reproduction.md shows them."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tools.tables import markdown

HEADS = ("quantity", "published", "source", "role", "measured", "difference", "note")

#: Intervals of values that differ by the rounding of sums alone, as a share of them.
_ROUNDING = 1e-9


class Measured(NamedTuple):
    """A number or a word, and half of its 95 % interval where it is simulated."""

    value: float | str
    half: float = 0.0


class Line(NamedTuple):
    """A published value of a quantity and the measured one, in `unit`.

    `source` also says how certain the published value is; `role`: whether it is an input, was
    calibrated to, or is predicted.
    """

    quantity: str
    published: float | str
    source: str
    role: str
    measured: Measured
    unit: str = ""
    note: str = ""


def printed(measured: Measured) -> str:
    """Return the cell of a table: `"8.61 ± 0.17"`, both to the second digit of the latter."""
    value, half = measured
    if isinstance(value, str):
        return value
    if half <= _ROUNDING * abs(value):
        return f"{value:.4g}"
    places = max(0, 1 - math.floor(math.log10(half)))
    return f"{value:.{places}f} ± {half:.{places}f}"


def parsed(cell: str) -> Measured:
    """The inverse of `printed`, to the digits that are there."""
    value, _, half = cell.partition(" ± ")
    try:
        return Measured(float(value), float(half or 0))
    except ValueError:
        return Measured(cell)


def agree(shown: Measured, again: Measured) -> bool:
    """Return whether a value on a page may be the same as one that is measured again.

    Without an interval to the last digit shown; with one, within twice the two half widths, which
    are about four standard errors: with a hundred rows, one false alarm in more than a hundred
    changes of the random numbers.
    """
    if isinstance(shown.value, str) or isinstance(again.value, str) or not shown.half:
        return printed(shown) == printed(again)
    rounding = 10.0 ** math.floor(math.log10(shown.half)) / 10
    return abs(shown.value - again.value) <= 2 * math.hypot(shown.half, again.half) + rounding


def row(line: Line, cell: str) -> tuple[str, ...]:
    """Return the cells of a line, under `HEADS`, with `cell` as what is measured."""
    quantity = f"{line.quantity}, {line.unit}" if line.unit else line.quantity
    cells = quantity, _text(line.published), line.source, line.role, cell, difference(line, cell)
    return *cells, line.note


def difference(line: Line, cell: str) -> str:
    """Return the distance of the shown value from the published one."""
    value = parsed(cell).value
    if isinstance(value, str) or isinstance(line.published, str):
        return "none" if value == line.published else "differs"
    distance = value - line.published
    return f"{distance:+.2g}" if abs(distance) > 1e-9 * abs(value) else "0"


def table(lines: Sequence[Line], cells: Sequence[str]) -> str:
    """Return all lines as a table of a page, which has neither sources nor notes."""
    shown = [place for place, head in enumerate(HEADS) if head not in ("source", "note")]
    found = (row(line, cell) for line, cell in zip(lines, cells, strict=True))
    rows = ([cells[place] for place in shown] for cells in found)
    return markdown([HEADS[place] for place in shown], rows)


def summary(lines: Sequence[Line], cells: Sequence[str]) -> str:
    """Return a sentence on how many numbers have which role, and which is farthest off."""
    roles = Counter(line.role for line in lines)
    listed = ", ".join(f"{count} {role}" for role, count in roles.items())
    pairs = [(line, cell) for line, cell in zip(lines, cells, strict=True) if _is_evidence(line)]
    if not pairs:
        return f"{len(lines)} numbers: {listed}."
    words = [line.quantity for line, cell in pairs if difference(line, cell) == "differs"]
    line, cell = max(pairs, key=lambda pair: _relative(*pair))
    role = "prediction" if line.role == "prediction" else "one"
    quantity, published, *_ = row(line, cell)
    said = f"{len(lines)} numbers: {listed}. The {role} farthest off: {quantity}, published "
    said += f"{published}, measured {cell}."
    return " ".join([said, *(f"Not reproduced: {each}." for each in words)])


def _is_evidence(line: Line) -> bool:
    return line.role in ("prediction", "check")


def _relative(line: Line, cell: str) -> float:
    """Return the distance as a share of the published number; -1 if one of them is a word."""
    value = parsed(cell).value
    if isinstance(value, str) or isinstance(line.published, str):
        return -1.0
    return abs(value - line.published) / abs(line.published)


def _text(published: float | str) -> str:
    if isinstance(published, str):
        return published
    return f"{published:.0f}" if published >= 10_000 else f"{published:.4g}"
