"""Failures by their cause."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from matplotlib.axes import Axes

from cprsim.figures.parts import bars, style
from cprsim.figures.parts.findings import Finding
from cprsim.figures.parts.texts import duration

_BAR: Final = 0.68  # of a row
_LETTERS: Final = (22, 12)  # of a name, and in a narrow figure


class CauseCount(NamedTuple):
    """A cause, its failures, and the median of its repairs, seconds; nan if unknown."""

    name: str
    failures: int
    median_s: float = math.nan


def by_cause(causes: Sequence[CauseCount]) -> Finding:
    """Draw a bar a cause, the commonest first, with its median repair behind it."""
    total = sum(each.failures for each in causes)
    first = causes[0]
    share = f"{100 * first.failures / total:.0f} %"
    repaired = not all(math.isnan(each.median_s) for each in causes)

    def draw(axes: Axes) -> None:
        rows, counts = range(len(causes)), [each.failures for each in causes]
        axes.set(ylim=(len(causes) - 0.5, -0.5), xlim=(0, first.failures), xticks=[])
        letters = _LETTERS[style.is_narrow()]
        axes.set_yticks(rows, [_cut(each.name, letters) for each in causes])
        axes.tick_params(axis="y", length=0)
        axes.spines["bottom"].set_visible(False)
        axes.barh(rows, counts, _BAR, color=style.LAW_COLOURS["gamma"])
        for row, each in zip(rows, causes, strict=True):
            bars.beyond(axes, (each.failures, row), _text(each))
        axes.set_xlabel("failures by cause" + ", median repair" * repaired)

    return Finding(f"{_cut(first.name, 24)}: {share} of the failures", draw)


def _text(cause: CauseCount) -> str:
    median = "" if math.isnan(cause.median_s) else f", {duration(cause.median_s)}"
    return f"{cause.failures:,}{median}"


def _cut(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1].rstrip()}…"
