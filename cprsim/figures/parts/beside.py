"""Columns beside bars: small panels with a point a row, and what it is below it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from cprsim.figures.parts import layout, style, ticks
from cprsim.figures.parts.value_axis import ValueAxis

_NOTHING: Final = 1e-9
_WIDE: Final = 1.2  # inches
_NARROW: Final = 0.85
#: How the points of the first and second measure of a column look.
_LOOKS: Final[tuple[dict[str, Any], ...]] = (
    {"marker": "o", "markersize": 4.2},
    {"marker": "D", "markersize": 3.8, "markerfacecolor": "white"},
)
_SYMBOLS: Final = ("●", "◇")
_WORDS: Final = {"pls": "PLS", "updates_lost": "updates"}


@dataclass(frozen=True)
class Column:
    """What it shows, how that is measured, of which columns of the table, and how wide it is.

    `currency`: of a cost; empty for shares.
    """

    what: str
    measure: str
    measures: tuple[str, ...]
    width_in: float
    currency: str = ""

    def span(self, table: pd.DataFrame, bounds: Sequence[float]) -> ValueAxis:
        """Its axis, which holds the bounds too."""
        names = [f"{name}{end}" for name in self.measures for end in ("_low", "", "_high")]
        values = np.append(table[names].to_numpy(dtype=np.float64).ravel(), [*bounds])
        return ValueAxis.around(values) if self.currency else ValueAxis.of(values)

    def draw(self, axes: Axes, table: pd.DataFrame, y: Sequence[float], below: float) -> None:
        """Points with their intervals, and `below` them what they are."""
        span = ValueAxis(*axes.get_xlim(), axes.get_xscale() == "log")
        for (_, row), at in zip(table.iterrows(), y, strict=True):
            over = row["standing"] == "over"
            ink = style.LEARNING_COLOUR if over else style.INK
            for measure, look in zip(self.measures, _LOOKS, strict=False):
                mean = row[measure]
                if mean > _NOTHING:
                    ends = (row[f"{measure}{end}"] for end in ("_low", "_high"))
                    span.whisker(axes, at, *ends, color=ink, linewidth=0.8)
                    axes.plot([mean], [at], color=ink, zorder=6, linestyle="none", **look)
            text = self._text([float(row[measure]) for measure in self.measures])
            write_below(axes, text, at + below, style.FAINT_INK if over else style.INK)

    def _text(self, means: Sequence[float]) -> str:
        if self.currency:
            return ticks.number(means[0])
        texts = [layout.percent(mean) if mean > _NOTHING else "0" for mean in means]
        if set(texts) == {"0"}:
            return "none"
        # One sign for both.
        return ", ".join([*(text.removesuffix(" %") for text in texts[:-1]), texts[-1]])


def write_below(axes: Axes, text: str, at: float, ink: str) -> None:
    """Write at the left end of a panel, below a bar or a point."""
    coords = ("axes fraction", "data")
    layout.beside(axes, (0, at), text, 1, 0.5, xycoords=coords, color=ink, zorder=7)


def columns_of(table: pd.DataFrame, currency: str, least: str) -> list[Column]:
    """Those that there is something to say in; `least`: the measure that was to be least."""
    columns = []
    lost = tuple(name for name in _WORDS if (table[name] > _NOTHING).any())
    if lost:
        words = (f"{symbol} {_WORDS[name]}" for name, symbol in zip(lost, _SYMBOLS, strict=False))
        columns.append(Column("Learning lost", f"% {', '.join(words)}", lost, _WIDE))
    machine = table["machine_overhead"].to_numpy(dtype=np.float64)
    if not np.allclose(machine, table["overhead"], rtol=1e-6, atol=_NOTHING):
        columns.append(Column("Machine time", "% overhead", ("machine_overhead",), _NARROW))
    if least == "overhead_retrained":
        columns.append(Column("Retrained", "% overhead", (least,), _NARROW))
    if "cost" in table and table["cost"].notna().any():
        columns.append(Column("Cost", currency, ("cost",), _NARROW, currency))
    return columns
