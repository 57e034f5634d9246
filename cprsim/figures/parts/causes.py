"""Failures by their cause."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from matplotlib.axes import Axes

from cprsim.figures.parts import layout, style, ticks
from cprsim.figures.parts.findings import Finding, Size
from cprsim.figures.parts.style import SMALL_PT

_NAMES: Final = 0.85  # room for causes, inches, and that of an axis of numbers
_NUMBERS: Final = 0.5
_BAR: Final = 0.68  # of a row
_BESIDE_PT: Final = 4.0


class CauseCount(NamedTuple):
    """A cause, how many failures it has, and the median of its repairs, seconds; nan if unknown."""

    name: str
    failures: int
    median_s: float = math.nan


def by_cause(causes: Sequence[CauseCount]) -> Finding:
    """A bar a cause, the commonest first, with its median repair behind it."""
    total = sum(each.failures for each in causes)
    first = causes[0]
    share = f"{100 * first.failures / total:.0f} %"
    repaired = not all(math.isnan(each.median_s) for each in causes)

    def draw(axes: Axes, size_in: Size) -> None:
        axes.set_ylim(len(causes) - 0.5, -0.5)
        texts = [_text(each) for each in causes]
        widest_in = max(layout.text_width_in(text, SMALL_PT) for text in texts)
        room_in = size_in.width - widest_in - _BESIDE_PT / 72
        axes.set_xlim(0, first.failures * size_in.width / room_in)
        names = [_cut(each.name, _NAMES + _NUMBERS) for each in causes]
        axes.set_yticks(range(len(causes)), names)
        axes.tick_params(axis="y", length=0)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.barh(
            range(len(causes)),
            [each.failures for each in causes],
            height=_BAR,
            color=style.LAW_COLOURS["gamma"],
        )
        for i, (each, text) in enumerate(zip(causes, texts, strict=True)):
            layout.beside(axes, (each.failures, i), text, _BESIDE_PT)

    says = f"{_cut(first.name, 1.8)}: {share} of the failures"
    measure = "failures by cause" + ", median repair" * repaired
    return Finding(says, measure, draw, _NAMES)


def _text(cause: CauseCount) -> str:
    median = "" if math.isnan(cause.median_s) else f", {ticks.duration(cause.median_s)}"
    return f"{cause.failures:,}{median}"


def _cut(name: str, room_in: float) -> str:
    """A name that fits, cut short if it doesn't."""
    if layout.text_width_in(name, SMALL_PT) <= room_in:
        return name
    while layout.text_width_in(f"{name}…", SMALL_PT) > room_in:
        name = name[:-1]
    return f"{name.rstrip()}…"
