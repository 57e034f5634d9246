"""How unevenly failures are spread over the nodes, against what chance alone makes."""

from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes

from cprsim.failures.logs.concentration import Concentration
from cprsim.figures.parts import style, ticks
from cprsim.figures.parts.findings import Finding, Size
from cprsim.figures.parts.style import SMALL_PT

_WORST: Final = 0.1
_SEEN: Final[dict[str, Any]] = {"color": style.LAW_COLOURS["weibull"], "linewidth": 1.6}
_CHANCE: Final[dict[str, Any]] = {"color": style.FAINT_INK, "linewidth": 0.9}
_EQUAL: Final[dict[str, Any]] = {
    "color": style.FAINT_INK,
    "linewidth": 0.6,
    "linestyle": (0, (4, 3)),
}


def by_node(nodes: Concentration) -> Finding:
    """Share of failures on the worst share of nodes (a Lorenz curve, from its upper end)."""
    mean, low, high = nodes.by_chance()
    at = np.linspace(0, 1, len(mean))
    seen, chance = nodes.of_worst(_WORST), float(np.interp(_WORST, at, mean))
    says = f"The worst tenth of the nodes has {_whole(seen)} of the failures"
    says += f"; by chance {_whole(chance)}"
    counted = f"{len(nodes.counts):,} nodes"
    if nodes.unseen:
        counted += f", an estimated {nodes.unseen:,} of which never failed"

    def draw(axes: Axes, size_in: Size) -> None:
        axes.grid()
        axes.set(xlim=(0, 1.06), ylim=(0, 1.02))
        ticks.number_ticks(axes, "x", size_in.width, 0.01, " %")
        ticks.number_ticks(axes, "y", size_in.height, 0.01, " %")
        axes.set_xlabel("share of the nodes, those that fail most first")
        axes.fill_between(at, low, high, facecolor=style.RULE, linewidth=0)
        axes.plot(at, mean, **_CHANCE)
        axes.plot((0, 1), (0, 1), **_EQUAL)
        axes.plot(at, nodes.shares, zorder=4, **_SEEN)
        lines = [("the log", _SEEN), ("alike nodes, 95 %", _CHANCE), ("the same on each", _EQUAL)]
        for i, (text, look) in enumerate(lines):
            y = 0.32 - 0.11 * i
            axes.plot((0.5, 0.59), (y, y), transform=axes.transAxes, clip_on=False, **look)
            axes.text(
                *(0.62, y, text), size=SMALL_PT, va="center_baseline", transform=axes.transAxes
            )

    return Finding(says, f"share of the failures on the worst nodes; {counted}", draw)


def _whole(share: float) -> str:
    return f"{100 * share:.0f} %"
