"""Further measures of candidates, a small panel each: points, intervals and values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from cprsim.figures.parts import bars, curves, style, ticks
from cprsim.figures.parts.texts import NOTHING, number, percent

_SPREAD: Final = 8.0  # times the least from which on a linear axis would show the least as nothing
_ROOM: Final = 1.25
_APART: Final = 0.3  # in rows, the points of two measures
#: How the points of the first and second measure of a column look.
_LOOKS: Final[tuple[dict[str, Any], ...]] = (
    {"marker": "o", "markersize": 4.2},
    {"marker": "D", "markersize": 3.8, "markerfacecolor": "white"},
)
_SYMBOLS: Final = ("●", "◇")
_WORDS: Final = {"pls": "PLS", "updates_lost": "updates"}


@dataclass(frozen=True)
class Column:
    """A panel: its title, how that is measured, and the columns of the table that it shows.

    `currency`: of a cost; empty for shares.
    """

    title: str
    measure: str
    measures: tuple[str, ...]
    currency: str = ""

    def draw(self, axes: Axes, table: pd.DataFrame, limits: Sequence[float]) -> None:
        """Draw points with their intervals and values, a row a candidate, and dashed limits."""
        self._scale(axes, table, limits)
        middle = (len(self.measures) - 1) / 2
        for at, (_, row) in enumerate(table.iterrows()):
            over = row["standing"] == "over"
            ink = style.LEARNING_COLOUR if over else style.INK
            some = [name for name in self.measures if row[name] > NOTHING]
            for i, (name, look) in enumerate(zip(self.measures, _LOOKS, strict=False)):
                if name not in some:
                    continue
                y = at + _APART * (i - middle)
                low, mean, high = (float(row[f"{name}{end}"]) for end in ("_low", "", "_high"))
                low = max(low, axes.get_xlim()[0])
                axes.plot([low, high], [y, y], color=ink, linewidth=0.8)
                axes.plot([mean], [y], color=ink, zorder=6, linestyle="none", **look)
                text = number(mean) if self.currency else percent(mean)
                bars.beyond(axes, (high, y), text, 5, color=ink)
            if not some:
                bars.beyond(axes, (axes.get_xlim()[0], at), "none", color=ink)
        for limit in limits:
            dashed(axes, max(limit, axes.get_xlim()[0]))
        axes.set(title=self.title, xlabel=self.measure)

    def _scale(self, axes: Axes, table: pd.DataFrame, limits: Sequence[float]) -> None:
        names = [f"{name}{end}" for name in self.measures for end in ("_low", "", "_high")]
        values = np.append(table[names].to_numpy(dtype=np.float64).ravel(), [*limits])
        there = values[np.isfinite(values) & (values > NOTHING)]
        if self.currency:
            room = 0.12 * (there.max() - there.min() or there.max())
            axes.set_xlim(there.min() - room, there.max() + room)
            ticks.numbers(axes.xaxis)
        elif len(there) and there.max() > _SPREAD * there.min():
            axes.set_xscale("log")
            axes.set_xlim(*curves.log_limits(there, 2, _ROOM))
            ticks.shares(axes.xaxis)
        else:
            bars.reach(axes, float(max(there, default=0)))


def dashed(axes: Axes, at: float) -> None:
    """Draw the limit of a measure along x."""
    axes.axvline(at, color=style.INK, linewidth=1.0, linestyle=(0, (3, 2)), zorder=1.5)


def columns_of(table: pd.DataFrame, currency: str, least: str) -> list[Column]:
    """Return those that have something to show; `least`: the measure that was to be least."""
    columns = []
    lost = tuple(name for name in _WORDS if (table[name] > NOTHING).any())
    if lost:
        words = (f"{symbol} {_WORDS[name]}" for name, symbol in zip(lost, _SYMBOLS, strict=False))
        columns.append(Column("Learning lost", f"% of {', '.join(words)}", lost))
    machine = table["machine_overhead"].to_numpy(dtype=np.float64)
    if not np.allclose(machine, table["overhead"], rtol=1e-6, atol=NOTHING):
        columns.append(Column("Machine time", "% overhead", ("machine_overhead",)))
    if least == "overhead_retrained":
        columns.append(Column("Retrained", "% overhead", (least,)))
    if "cost" in table and table["cost"].notna().any():
        columns.append(Column("Cost", currency, ("cost",), currency))
    return columns
